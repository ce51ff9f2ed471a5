// Memory of a tensor between two guard zones.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_GUARDED_MEMORY_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_GUARDED_MEMORY_H

#include "attnc/result.h"
#include "runtime/cuda/driver.h"
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

namespace attnc::driver {

/// Bytes of a guard zone: more than a tile of rows of most tensors, and a multiple of any
/// alignment.
inline constexpr size_t guardBytes = 16384;
/// Every byte of poisoned memory: a NaN in f16, bf16, f32 and f64, -1 in integers.
inline constexpr unsigned char poisonByte = 0xFF;

/// `bytes` bytes of host memory, aligned to 256.
class GuardedHostMemory {
public:
  /// Poisoned. Error (Environment): there is not enough memory; `name` says for what.
  static Result<GuardedHostMemory> allocate(const std::string &name, size_t bytes);

  std::byte *data() const { return memory.get() + guardBytes; }
  size_t bytes() const { return size; }
  void poison() const;
  /// Error (Internal): a guard zone has been written.
  Status checkGuards() const;

private:
  struct Free {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  std::string name;
  std::unique_ptr<std::byte, Free> memory;
  size_t size = 0;
};

/// `bytes` bytes of device memory, aligned to 256.
class GuardedDeviceMemory {
public:
  /// Poisoned.
  static Result<GuardedDeviceMemory> allocate(const CudaDevice &device, const std::string &name,
                                              size_t bytes);

  void *data() const { return static_cast<std::byte *>(memory.data()) + guardBytes; }
  Status upload(const void *source) const { return memory.upload(source, size, guardBytes); }
  Status download(void *target) const { return memory.download(target, size, guardBytes); }
  /// Error (Internal): a guard zone has been written.
  Status checkGuards() const;

private:
  std::string name;
  DeviceBuffer memory;
  size_t size = 0;
};

} // namespace attnc::driver

#endif
