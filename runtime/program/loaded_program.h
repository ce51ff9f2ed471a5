#pragma once

/// A Program whose kernels are loaded on a GPU, ready to launch.

#include "attnc/result.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/tensor_map_cache.h"
#include "runtime/program/bind.h"
#include "runtime/program/launch.h"
#include "runtime/program/program.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace attnc {

/// Makes images that a program lacks, by name: for each a cubin, a PTX or both. Called when a
/// launch first needs them, from the thread that prepares it.
using ImageSource = std::function<Result<std::vector<Image>>(const std::vector<std::string> &)>;

class LoadedProgram {
public:
  /// Loads every kernel whose image the program has: its cubin where that fits the GPU, else its
  /// PTX. Opts in to shared memory where a kernel's amount is constant; other amounts are opted in
  /// to at launch. Kernels without an image are loaded with the first launch of their variant,
  /// from `missing`; without that they are an error here.
  static Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const CudaDevice> device,
                                                     const Program &program,
                                                     ImageSource missing = nullptr);

  const Manifest &manifest() const { return plan; }
  const CudaDevice &device() const { return *gpu; }

  /// Registers, spills and shared memory of kernel `name`, as loaded. Errors: (InvalidArgument) no
  /// such kernel, or one that no launch has needed so far.
  Result<CudaFunction::Attributes> attributes(const std::string &name) const;

  /// A binding made ready to be launched again and again, by this program only. Immutable.
  class Prepared;

  /// Does once what does not depend on the stream: checks pointers, chooses the variant that fits,
  /// plans the workspace and, where no intermediate lies there, evaluates and encodes all
  /// arguments. Thread-safe, as the launches are. Makes and loads the kernels of the variant that
  /// wait for it, which can take seconds and fail with the compiler's error; it is tried again by
  /// the next launch.
  Result<std::shared_ptr<const Prepared>> prepare(const Binding &binding) const;
  /// The bytes of workspace that a launch needs.
  static std::int64_t workspaceBytes(const Prepared &prepared);

  /// Launches asynchronously on `stream` (a CUstream of this device; null for the default stream).
  /// The tensors must stay valid until the stream has done the work. `workspace` is device memory
  /// of workspaceBytes, aligned to 256, that nothing else uses meanwhile; null: it is allocated and
  /// freed in the stream's order, so calls on several streams and threads may overlap.
  Status launch(const Prepared &prepared, CuHandle stream, void *workspace = nullptr) const;

  /// prepare and launch. Tensor maps are encoded on first use and remembered.
  Status launch(const Binding &binding, CuHandle stream) const;

private:
  LoadedProgram() = default;
  Status loadKernel(const std::vector<Image> &images, const KernelDecl &kernel) const;
  Status loadWaiting(const VariantDecl &variant) const;
  Status checkClusters(const KernelDecl &kernel, const CudaFunction &function) const;
  Status makeZeros();
  Status checkPointers(const Binding &binding) const;
  struct Calls;
  struct Arguments;
  Result<Arguments> argumentsOf(KernelCall &call) const;
  Result<Calls> callsOf(const Prepared &prepared, void *base) const;
  Status launchCalls(const Calls &calls, CuHandle stream, void *counters) const;
  Status launchCall(const KernelCall &call, const Arguments &arguments, CuHandle stream,
                    void *counters) const;
  Status launchKernel(const KernelCall &call, void *const *values, CuHandle stream) const;

  std::shared_ptr<const CudaDevice> gpu;
  Manifest plan;
  /// By kernel. Which there are never changes; one that waits is set once, under the lock, before
  /// the first launch that uses it is prepared.
  mutable std::map<std::string, std::optional<CudaFunction>> functions;
  mutable std::map<std::string, CudaModule> modules; ///< by image
  ImageSource missing;
  mutable std::mutex loading;
  mutable TensorMapCache maps;
  DeviceBuffer zeros; ///< what maps of tensors without elements point at
};

} // namespace attnc
