#pragma once

/// A Program whose kernels are loaded on a GPU, ready to launch.

#include "attnc/result.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/kept_counters.h"
#include "runtime/program/bind.h"
#include "runtime/program/call_layout.h"
#include "runtime/program/layout_cache.h"
#include "runtime/program/program.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace attnc {

/// Makes images that a program lacks, by name: for each a cubin, a PTX or both. Called when a
/// launch first needs them, from the thread that prepares it.
using ImageSource = std::function<Result<std::vector<Image>>(const std::vector<std::string> &)>;

class LoadedProgram {
public:
  /// Loads every kernel whose image the program has: its cubin where that fits the GPU, else its
  /// PTX. Opts in to shared memory where a kernel's amount is constant; other amounts are opted in
  /// to with the layout that needs them. Kernels without an image are loaded with the first launch
  /// of their variant, from `missing`; without that they are an error here.
  static Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const CudaDevice> device,
                                                     const Program &program,
                                                     ImageSource missing = nullptr);

  const Manifest &manifest() const { return plan; }
  const CudaDevice &device() const { return *gpu; }

  /// Registers, spills and shared memory of kernel `name`, as loaded. Errors: (InvalidArgument) no
  /// such kernel, or one that no launch has needed so far.
  Result<CudaFunction::Attributes> attributes(const std::string &name) const;

  /// Makes and loads the kernels that wait for their first launch: after it no layout waits for a
  /// compiler. Errors: those of making and loading them.
  Status loadAll() const;

  /// What a call needs but addresses, for this program only: evaluated, encoded, its kernels
  /// loaded. Immutable.
  class Layout;

  /// The layout remembered under `key`, or null. Thread-safe, as all that follows.
  std::shared_ptr<const Layout> find(const LayoutKey &key) const { return layouts.find(key); }

  /// The layout of a binding: the variant that fits, the workspace, all arguments and tensor maps.
  /// It is remembered under `key`, if there is one. Checks that pointers belong to this GPU. Makes
  /// and loads the kernels of the variant that wait for it, which can take seconds and fail with
  /// the compiler's error; it is tried again by the next call.
  Result<std::shared_ptr<const Layout>> layoutOf(const Binding &binding,
                                                 const LayoutKey *key = nullptr) const;

  /// What `layout` says that does not depend on the GPU.
  static const CallLayout &planOf(const Layout &layout);

  /// As checkAddresses. Where ATTNC_CHECK_POINTERS=1 is in the environment when the program is
  /// loaded, also asks the driver whether the pointers belong to this GPU, which takes longer than
  /// a launch.
  Status checkTensors(const Layout &layout, std::span<void *const> tensors) const;

  /// A layout with addresses, ready to be launched again and again. Immutable.
  class Prepared;

  /// `tensors` are by slot and have passed checkTensors.
  Result<std::shared_ptr<const Prepared>> prepare(std::shared_ptr<const Layout> layout,
                                                  std::span<void *const> tensors) const;
  /// layoutOf and prepare.
  Result<std::shared_ptr<const Prepared>> prepare(const Binding &binding) const;
  static const Layout &layoutOf(const Prepared &prepared);
  /// The bytes of workspace that a launch needs.
  static std::int64_t workspaceBytes(const Prepared &prepared);

  /// Launches asynchronously on `stream` (a CUstream of this device; null for the default stream).
  /// The tensors must stay valid until the stream has done the work. `workspace` is device memory
  /// of workspaceBytes, aligned to 256, that nothing else uses meanwhile; null: it is allocated and
  /// freed in the stream's order, so calls on several streams and threads may overlap.
  Status launch(const Prepared &prepared, CuHandle stream, void *workspace = nullptr) const;

  /// The same at other addresses, which have passed checkTensors.
  Status launch(const Layout &layout, std::span<void *const> tensors, CuHandle stream,
                void *workspace = nullptr) const;

  /// prepare and launch.
  Status launch(const Binding &binding, CuHandle stream) const;

private:
  LoadedProgram() = default;
  Status loadKernel(const std::vector<Image> &images, const KernelDecl &kernel) const;
  Status loadWaiting(const VariantDecl &variant) const;
  Status checkClusters(const KernelDecl &kernel, const CudaFunction &function) const;
  Status makeZeros();
  Status checkPointers(const CallLayout &plan, std::span<void *const> tensors) const;
  Status allowShared(const KernelDecl &kernel, std::int64_t bytes) const;
  Status bindKernels(Layout &layout) const;
  Status encodeMaps(Layout &layout) const;
  struct Frame;
  Result<Frame> frameAt(const Layout &layout, std::span<void *const> tensors) const;
  Status patch(Frame &frame, std::span<const CallLayout::Patch> patches,
               std::span<void *const> tensors, void *workspace) const;
  template <typename MakeFrame>
  Status launchIn(const Layout &layout, CuHandle stream, void *workspace,
                  const MakeFrame &makeFrame) const;
  Status launchFrame(const Layout &layout, const Frame &frame, CuHandle stream) const;

  std::shared_ptr<const CudaDevice> gpu;
  Manifest plan;
  /// By kernel. Which there are never changes; one that waits is set once, under the lock, before
  /// the first launch that uses it is prepared.
  mutable std::map<std::string, std::optional<CudaFunction>> functions;
  mutable std::map<std::string, CudaModule> modules; ///< by image
  ImageSource missing;
  mutable std::mutex loading;
  /// By kernel, the most dynamic shared memory that it was opted in to; under the lock.
  mutable std::map<std::string, std::int64_t> allowed;
  mutable LayoutCache<Layout> layouts;
  bool checksPointers = false; ///< at each call
  DeviceBuffer zeros;          ///< what maps of tensors without elements point at
  mutable KeptCounters counters;
};

} // namespace attnc
