#pragma once

/// A GPU through the CUDA driver: device, modules, memory, streams, events. Every object owns what
/// it made and keeps the device's context alive, so objects may be destroyed in any order. All are
/// safe to use from several threads, except that one object must not be destroyed while it is in
/// use. Errors (Environment) name the CUDA call and the driver's own error, with a remedy where one
/// is known.

#include "attnc/result.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/program/tensor_map.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

struct DeviceProperties {
  std::string name;
  int ordinal = 0;
  int major = 0; ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  int sharedBytesPerBlock = 0; ///< the most that a kernel may opt in to
  std::size_t memoryBytes = 0;
  int driverVersion = 0; ///< 1000 * major + 10 * minor of the CUDA version that the driver supports

  /// "sm_90"
  std::string architecture() const;
};

/// A retained primary context, the one that PyTorch and the CUDA runtime use as well.
class CudaContext;
using ContextPtr = std::shared_ptr<const CudaContext>;

class CudaStream {
public:
  /// Waits until everything on the stream is done; reports errors of kernels that ran on it.
  Status synchronize() const;
  /// CUstream; null is the default stream.
  CuHandle handle() const { return stream.get(); }

private:
  friend class CudaDevice;
  ContextPtr context;
  std::shared_ptr<void> stream;
};

class CudaEvent {
public:
  Status record(CuHandle stream) const;
  /// Milliseconds from `start` to this event, both recorded; waits for this event.
  Result<float> elapsedSince(const CudaEvent &start) const;

private:
  friend class CudaDevice;
  ContextPtr context;
  std::shared_ptr<void> event;
};

/// Device memory, freed with the object.
class DeviceBuffer {
public:
  void *data() const { return reinterpret_cast<void *>(address); }
  std::size_t bytes() const { return size; }
  /// Copies between host and device, done when they return. `count` bytes must lie within the
  /// buffer.
  Status upload(const void *source, std::size_t count, std::size_t offset = 0) const;
  Status download(void *destination, std::size_t count, std::size_t offset = 0) const;
  /// Sets every byte.
  Status fill(unsigned char value) const;

  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer &&other) noexcept;
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;

private:
  friend class CudaDevice;
  ContextPtr context;
  CuDevicePointer address = 0;
  std::size_t size = 0;
};

class CudaFunction {
public:
  /// Registers a thread, static shared bytes a block.
  struct Attributes {
    int registers = 0;
    int staticSharedBytes = 0;
  };
  Result<Attributes> attributes() const;
  /// Opts in to `bytes` of dynamic shared memory; needed above 48 KiB.
  Status allowSharedBytes(int bytes) const;
  /// Asks for as much shared memory on each multiprocessor as there can be, which leaves less for
  /// the L1 cache. Blocks of two kernels that use it are on one at a time only if both ask for the
  /// same split of its memory.
  Status preferSharedMemory() const;
  /// Allows clusters of more than 8 blocks, where the GPU has them.
  Status allowLargeClusters() const;
  /// Launches asynchronously. `args` points to the arguments' values, as cuLaunchKernel takes them.
  /// `cluster` blocks, consecutive in x, form a cluster; grid[0] is a multiple of it. With
  /// `startsEarly` blocks may start while the launch before in the stream still runs, and wait for
  /// it themselves (programmatic dependent launch); drivers before 11.8 start them after it.
  Status launch(const unsigned (&grid)[3], unsigned threads, unsigned sharedBytes, CuHandle stream,
                void **args, unsigned cluster = 1, bool startsEarly = false) const;

private:
  friend class CudaModule;
  ContextPtr context;
  std::shared_ptr<void> module; ///< keeps the code loaded
  CuHandle function = nullptr;
};

class CudaModule {
public:
  Result<CudaFunction> function(const std::string &symbol) const;

private:
  friend class CudaDevice;
  ContextPtr context;
  std::shared_ptr<void> module;
};

/// A CUtensorMap: what a kernel takes by value, as a __grid_constant__ parameter.
struct alignas(64) EncodedTensorMap {
  std::byte bytes[128];
};

class CudaDevice {
public:
  /// Opens GPU `ordinal` (in the order of CUDA_VISIBLE_DEVICES).
  static Result<std::unique_ptr<CudaDevice>> open(int ordinal = 0);

  const DeviceProperties &properties() const { return props; }

  /// Loads a cubin, or PTX which the driver compiles (its log is in the error).
  Result<CudaModule> loadModule(std::string_view image) const;
  /// As loadModule, or nothing where the image is for another architecture.
  Result<std::optional<CudaModule>> loadModuleIfFits(std::string_view image) const;

  /// Bytes that nobody has taken; nothing where the driver does not say. What a pool of this
  /// process keeps for later counts as taken.
  std::optional<std::uint64_t> freeMemory() const;

  Result<DeviceBuffer> allocate(std::size_t bytes) const;
  Result<CudaStream> createStream() const;
  Result<CudaEvent> createEvent() const;

  /// A number that no other stream of the process has or will have. Nothing if the stream is being
  /// captured into a graph, or may be, of the handle that stands for a stream of each thread, and
  /// if the driver is too old (before CUDA 12.0). Another thread must not begin a capture
  /// meanwhile.
  std::optional<std::uint64_t> streamNumber(CuHandle stream) const;

  /// Memory that belongs to `stream`'s order: valid for work queued between the two calls.
  Result<void *> allocateOn(CuHandle stream, std::size_t bytes) const;
  Status releaseOn(CuHandle stream, void *memory) const;
  /// Sets `count` i32s in device memory to 0 in the stream's order.
  Status clearOn(CuHandle stream, void *numbers, std::size_t count) const;

  /// Whether kernels on this device can use `pointer` as device memory of this device. The error
  /// says where it belongs instead.
  Status checkPointer(const void *pointer) const;

  /// Encodes a map for kernels on this device. `map.base` must not be null; it is not read.
  Result<EncodedTensorMap> encodeTensorMap(const TensorMapArg &map) const;

  /// Gives a map that encodeTensorMap has made another base, aligned to 16 bytes.
  Status replaceAddress(EncodedTensorMap &map, void *base) const;

  /// Waits for all work of the context.
  Status synchronize() const;

private:
  CudaDevice(ContextPtr context, DeviceProperties props)
      : context(std::move(context)), props(std::move(props)) {}

  ContextPtr context;
  DeviceProperties props;
};

/// How many GPUs there are; 0 is no error, a missing driver is.
Result<int> cudaDeviceCount();

/// The number of the GPU whose context is current in the calling thread; 0 if none is.
Result<int> currentCudaDevice();

} // namespace attnc
