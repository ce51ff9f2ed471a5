#include "runtime/program/loaded_program.h"

#include "runtime/program/disjoint.h"
#include "runtime/program/memory_budget.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace attnc {

namespace {

constexpr std::int64_t sharedWithoutOptIn = 48 * 1024;

const Image *findImage(const std::vector<Image> &images, const std::string &name, ImageKind kind) {
  for (const Image &image : images)
    if (image.name == name && image.kind == kind)
      return &image;
  return nullptr;
}

bool hasImage(const std::vector<Image> &images, const std::string &name) {
  return findImage(images, name, ImageKind::Cubin) || findImage(images, name, ImageKind::Ptx);
}

Result<CudaModule> loadImage(const CudaDevice &device, const std::vector<Image> &images,
                             const KernelDecl &kernel) {
  const Image *cubin = findImage(images, kernel.image, ImageKind::Cubin);
  const Image *ptx = findImage(images, kernel.image, ImageKind::Ptx);
  if (cubin && ptx) {
    Result<std::optional<CudaModule>> module = device.loadModuleIfFits(cubin->bytes);
    if (!module)
      return module.error();
    if (*module)
      return **std::move(module);
    return device.loadModule(ptx->bytes);
  }
  if (const Image *image = cubin ? cubin : ptx)
    return device.loadModule(image->bytes);
  return invalidArgument(
      fmt::format("kernel {}: the program has no GPU code for it", kernel.name),
      fmt::format("compile it with --target {}", device.properties().architecture()));
}

bool hasArgument(const Manifest &manifest, ArgKind kind) {
  for (const VariantDecl &variant : manifest.variants)
    for (const LaunchDecl &launch : variant.launches)
      for (const ArgDecl &arg : launch.args)
        if (arg.kind == kind)
          return true;
  return false;
}

/// True if a launch of the kernel may share multiprocessors with another one all the time.
bool runsBeside(const Manifest &manifest, const std::string &kernel) {
  for (const VariantDecl &variant : manifest.variants)
    for (std::size_t i = 1; i < variant.launches.size(); ++i)
      if (variant.launches[i].beside &&
          (variant.launches[i].kernel == kernel || variant.launches[i - 1].kernel == kernel))
        return true;
  return false;
}

Status checkShared(const CudaDevice &device, const std::string &kernel, std::int64_t bytes) {
  if (bytes <= device.properties().sharedBytesPerBlock)
    return {};
  return environmentError(fmt::format("kernel {} needs {} bytes of shared memory, {} has {}",
                                      kernel, bytes, device.properties().name,
                                      device.properties().sharedBytesPerBlock),
                          "compile with a schedule of smaller tiles or fewer stages");
}

} // namespace

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::load(std::shared_ptr<const CudaDevice> device,
                                                           const Program &program,
                                                           ImageSource missing) {
  std::unique_ptr<LoadedProgram> loaded(new LoadedProgram());
  loaded->gpu = std::move(device);
  loaded->plan = program.manifest;
  loaded->missing = std::move(missing);
  const char *checks = std::getenv("ATTNC_CHECK_POINTERS");
  loaded->checksPointers = checks && std::string_view(checks) == "1";
  for (const KernelDecl &kernel : program.manifest.kernels) {
    loaded->functions.emplace(kernel.name, std::nullopt);
    if (loaded->missing && !hasImage(program.images, kernel.image))
      continue;
    if (Status status = loaded->loadKernel(program.images, kernel); !status)
      return status.error();
  }
  if (hasArgument(program.manifest, ArgKind::TensorMap))
    if (Status status = loaded->makeZeros(); !status)
      return status.error();
  if (hasArgument(program.manifest, ArgKind::Counter))
    if (Status status = loaded->counters.make(*loaded->gpu); !status)
      return status.error();
  return loaded;
}

Status LoadedProgram::makeZeros() {
  // One element is inside each such map; this is more than any access to it touches.
  constexpr std::size_t bytes = 256;
  Result<DeviceBuffer> buffer = gpu->allocate(bytes);
  if (!buffer)
    return buffer.error();
  zeros = *std::move(buffer);
  if (Status status = zeros.fill(0); !status)
    return status;
  return gpu->synchronize(); // launches may be on streams that do not wait for the fill
}

Status LoadedProgram::loadKernel(const std::vector<Image> &images, const KernelDecl &kernel) const {
  auto found = modules.find(kernel.image);
  if (found == modules.end()) {
    Result<CudaModule> module = loadImage(*gpu, images, kernel);
    if (!module)
      return module.error();
    found = modules.emplace(kernel.image, *std::move(module)).first;
  }
  Result<CudaFunction> function = found->second.function(kernel.symbol);
  if (!function)
    return function.error();
  if (Status status = checkClusters(kernel, *function); !status)
    return status;
  bool hasShared = kernel.sharedBytes.op != ExprOp::Integer || kernel.sharedBytes.integer > 0;
  if (hasShared && runsBeside(plan, kernel.name))
    if (Status status = function->preferSharedMemory(); !status)
      return status;
  functions.at(kernel.name) = *std::move(function);
  return kernel.sharedBytes.op == ExprOp::Integer ? allowShared(kernel, kernel.sharedBytes.integer)
                                                  : Status();
}

/// Opts in to shared memory. What a kernel was allowed before it stays allowed: a layout that needs
/// less is no reason to take it from one that needs more.
Status LoadedProgram::allowShared(const KernelDecl &kernel, std::int64_t bytes) const {
  if (Status status = checkShared(*gpu, kernel.name, bytes); !status)
    return status;
  std::int64_t &most = allowed.try_emplace(kernel.name, sharedWithoutOptIn).first->second;
  if (bytes <= most)
    return {};
  Status status = functions.at(kernel.name)->allowSharedBytes(static_cast<int>(bytes));
  if (status)
    most = bytes;
  return status;
}

/// Loads the kernels of the variant that have not been loaded with the program.
Status LoadedProgram::loadWaiting(const VariantDecl &variant) const {
  if (!missing)
    return {};
  std::lock_guard<std::mutex> lock(loading);
  std::vector<const KernelDecl *> kernels;
  std::vector<std::string> names; // of images
  for (const LaunchDecl &launch : variant.launches) {
    const KernelDecl *kernel = plan.findKernel(launch.kernel);
    if (functions.at(launch.kernel))
      continue;
    kernels.push_back(kernel);
    if (!modules.count(kernel->image) &&
        std::find(names.begin(), names.end(), kernel->image) == names.end())
      names.push_back(kernel->image);
  }
  if (kernels.empty())
    return {};
  Result<std::vector<Image>> images = missing(names);
  if (!images)
    return images.error();
  for (const KernelDecl *kernel : kernels)
    if (Status status = loadKernel(*images, *kernel); !status)
      return status;
  return {};
}

Status LoadedProgram::loadAll() const {
  for (const VariantDecl &variant : plan.variants)
    if (Status status = loadWaiting(variant); !status)
      return status;
  return {};
}

Status LoadedProgram::checkClusters(const KernelDecl &kernel, const CudaFunction &function) const {
  constexpr int portableCluster = 8;
  if (kernel.cluster == 1)
    return {};
  if (gpu->properties().major < 9)
    return environmentError(
        fmt::format("kernel {} runs in clusters of {} blocks, {} has none", kernel.name,
                    kernel.cluster, gpu->properties().name),
        fmt::format("compile the program with --target {}", gpu->properties().architecture()));
  return kernel.cluster > portableCluster ? function.allowLargeClusters() : Status();
}

Result<CudaFunction::Attributes> LoadedProgram::attributes(const std::string &name) const {
  std::lock_guard<std::mutex> lock(loading);
  auto found = functions.find(name);
  if (found == functions.end())
    return invalidArgument(fmt::format("the program has no kernel {}", name));
  if (!found->second)
    return invalidArgument(fmt::format("kernel {} is not loaded: no launch has needed it", name));
  return found->second->attributes();
}

class LoadedProgram::Layout {
public:
  CallLayout plan;
  std::vector<const CudaFunction *> functions; ///< of each call
  std::vector<EncodedTensorMap> maps;          ///< `plan.maps`, at addresses that mean nothing
};

/// The arguments of all calls of a layout. `values` points into the other two.
struct LoadedProgram::Frame {
  explicit Frame(const Layout &layout) : words(layout.plan.words), maps(layout.maps) {
    pointAt(layout.plan);
  }
  Frame(const Frame &other, const Layout &layout) : words(other.words), maps(other.maps) {
    pointAt(layout.plan);
  }
  Frame(const Frame &) = delete;
  Frame(Frame &&) = default;
  Frame &operator=(const Frame &) = delete;
  Frame &operator=(Frame &&) = default;
  ~Frame() = default;

  std::vector<std::uint64_t> words;
  std::vector<EncodedTensorMap> maps;
  std::vector<void *> values;

private:
  void pointAt(const CallLayout &plan) {
    values.reserve(plan.arguments.size());
    for (const CallLayout::Argument &argument : plan.arguments)
      values.push_back(argument.isMap ? static_cast<void *>(&maps[argument.index])
                                      : static_cast<void *>(&words[argument.index]));
  }
};

class LoadedProgram::Prepared {
public:
  Prepared(std::shared_ptr<const Layout> layout, Frame frame)
      : layout(std::move(layout)), frame(std::move(frame)) {}

  std::shared_ptr<const Layout> layout;
  Frame frame; ///< without the addresses of what lies in a workspace
};

const CallLayout &LoadedProgram::planOf(const Layout &layout) { return layout.plan; }

const LoadedProgram::Layout &LoadedProgram::layoutOf(const Prepared &prepared) {
  return *prepared.layout;
}

std::int64_t LoadedProgram::workspaceBytes(const Prepared &prepared) {
  return prepared.layout->plan.workspace.bytes;
}

Status LoadedProgram::checkPointers(const CallLayout &layout,
                                    std::span<void *const> tensors) const {
  for (std::size_t slot = 0; slot < tensors.size(); ++slot) {
    if (layout.slots[slot].span == 0)
      continue;
    if (Status status = gpu->checkPointer(tensors[slot]); !status) {
      std::size_t inputs = plan.inputs.size();
      const TensorDecl &decl = slot < inputs ? plan.inputs[slot] : plan.outputs[slot - inputs];
      return invalidArgument(fmt::format("{}: {}", decl.name, status.error().message),
                             status.error().remedy);
    }
  }
  return {};
}

Status LoadedProgram::checkTensors(const Layout &layout, std::span<void *const> tensors) const {
  Status status = checkAddresses(layout.plan, tensors);
  return status && checksPointers ? checkPointers(layout.plan, tensors) : status;
}

Status LoadedProgram::bindKernels(Layout &layout) const {
  std::lock_guard<std::mutex> lock(loading);
  for (const CallLayout::Call &call : layout.plan.calls) {
    const KernelDecl &kernel = plan.kernels[call.kernel];
    if (Status status = checkCudaGrid(kernel.name, call.grid); !status)
      return status;
    if (Status status = allowShared(kernel, call.sharedBytes); !status)
      return status;
    layout.functions.push_back(&*functions.at(kernel.name));
  }
  return {};
}

Status LoadedProgram::encodeMaps(Layout &layout) const {
  for (TensorMapArg map : layout.plan.maps) {
    map.base = zeros.data();
    Result<EncodedTensorMap> encoded = gpu->encodeTensorMap(map);
    if (!encoded)
      return environmentError(
          fmt::format("a tensor map of {}: {}", plan.name, encoded.error().message),
          encoded.error().remedy);
    layout.maps.push_back(*encoded);
  }
  return {};
}

Result<std::shared_ptr<const LoadedProgram::Layout>>
LoadedProgram::layoutOf(const Binding &given, const LayoutKey *key) const {
  Binding binding = given;
  if (Status status = addMachineSizes(plan, binding.scope, gpu->properties().multiprocessors);
      !status)
    return status.error();
  Result<CallLayout> planned = planLayout(plan, binding);
  if (!planned)
    return planned.error();
  auto layout = std::make_shared<Layout>();
  layout->plan = *std::move(planned);
  if (Status status = checkPointers(layout->plan, addressesOf(plan, binding)); !status)
    return status.error();
  if (Status status = loadWaiting(*layout->plan.variant); !status)
    return status.error();
  if (Status status = bindKernels(*layout); !status)
    return status.error();
  if (Status status = encodeMaps(*layout); !status)
    return status.error();
  if (key)
    layouts.remember(*key, layout);
  return std::shared_ptr<const Layout>(std::move(layout));
}

/// Puts addresses into a frame.
Status LoadedProgram::patch(Frame &frame, std::span<const CallLayout::Patch> patches,
                            std::span<void *const> tensors, void *workspace) const {
  patchWords(patches, tensors, workspace, frame.words);
  for (const CallLayout::Patch &patch : patches)
    if (patch.isMap)
      if (Status status = gpu->replaceAddress(frame.maps[patch.index],
                                              addressOf(patch.place, tensors, workspace));
          !status)
        return status;
  return {};
}

Result<LoadedProgram::Frame> LoadedProgram::frameAt(const Layout &layout,
                                                    std::span<void *const> tensors) const {
  Frame frame(layout);
  if (Status status = patch(frame, layout.plan.ofTensors, tensors, nullptr); !status)
    return status.error();
  return frame;
}

Result<std::shared_ptr<const LoadedProgram::Prepared>>
LoadedProgram::prepare(std::shared_ptr<const Layout> layout, std::span<void *const> tensors) const {
  Result<Frame> frame = frameAt(*layout, tensors);
  if (!frame)
    return frame.error();
  return std::make_shared<const Prepared>(std::move(layout), *std::move(frame));
}

Result<std::shared_ptr<const LoadedProgram::Prepared>>
LoadedProgram::prepare(const Binding &binding) const {
  Result<std::shared_ptr<const Layout>> layout = layoutOf(binding);
  return layout ? prepare(*layout, addressesOf(plan, binding)) : layout.error();
}

/// Launches what `makeFrame` returns, with the addresses of the workspace and of counters: those
/// that are kept for the stream, or else those of the workspace, which are set to 0. A workspace
/// that the caller has not is taken in the order of the stream.
template <typename MakeFrame>
Status LoadedProgram::launchIn(const Layout &layout, CuHandle stream, void *workspace,
                               const MakeFrame &makeFrame) const {
  const CallLayout &calls = layout.plan;
  const std::size_t count = calls.ofCounters.empty() ? 0 : calls.workspace.counters.size();
  void *kept = count && !calls.hasBeside ? counters.on(*gpu, stream, count) : nullptr;
  bool needsWorkspace = !calls.ofWorkspace.empty() || (count && !kept);
  void *own = nullptr;
  if (needsWorkspace && !workspace) {
    Result<void *> taken = gpu->allocateOn(stream, static_cast<std::size_t>(calls.workspace.bytes));
    if (!taken)
      return noMemoryFor(plan, calls.workspace, calls.scope, taken.error());
    workspace = own = *taken;
  }
  auto launch = [&]() -> Status {
    Result<Frame> frame = makeFrame();
    if (!frame)
      return frame.error();
    if (Status status = patch(*frame, calls.ofWorkspace, {}, workspace); !status)
      return status;
    if (count) {
      void *used = kept;
      if (!kept) { // side by side, and each launch has its own
        used = addressOf({Place::workspace, calls.workspace.counters.front()}, {}, workspace);
        if (Status status = gpu->clearOn(stream, used, count); !status)
          return status;
      }
      if (Status status = patch(*frame, calls.ofCounters, {}, used); !status)
        return status;
    }
    return launchFrame(layout, *frame, stream);
  };
  Status launched = launch();
  Status released = own ? gpu->releaseOn(stream, own) : Status();
  return launched ? released : launched;
}

Status LoadedProgram::launch(const Prepared &prepared, CuHandle stream, void *workspace) const {
  const Layout &layout = *prepared.layout;
  if (layout.plan.ofWorkspace.empty() && layout.plan.ofCounters.empty())
    return launchFrame(layout, prepared.frame, stream);
  return launchIn(layout, stream, workspace,
                  [&]() -> Result<Frame> { return Frame(prepared.frame, layout); });
}

Status LoadedProgram::launch(const Layout &layout, std::span<void *const> tensors, CuHandle stream,
                             void *workspace) const {
  return launchIn(layout, stream, workspace, [&] { return frameAt(layout, tensors); });
}

Status LoadedProgram::launch(const Binding &binding, CuHandle stream) const {
  Result<std::shared_ptr<const Layout>> layout = layoutOf(binding);
  return layout ? launch(**layout, addressesOf(plan, binding), stream) : layout.error();
}

Status LoadedProgram::launchFrame(const Layout &layout, const Frame &frame, CuHandle stream) const {
  // Streams that are captured take such launches since graphs have edges with data, CUDA 12.3.
  bool mayStartEarly = gpu->properties().driverVersion >= 12030;
  for (std::size_t number = 0; number < layout.plan.calls.size(); ++number) {
    const CallLayout::Call &call = layout.plan.calls[number];
    const KernelDecl &kernel = plan.kernels[call.kernel];
    const unsigned grid[3] = {static_cast<unsigned>(call.grid[0]),
                              static_cast<unsigned>(call.grid[1]),
                              static_cast<unsigned>(call.grid[2])};
    Status status = layout.functions[number]->launch(
        grid, static_cast<unsigned>(kernel.threads), static_cast<unsigned>(call.sharedBytes),
        stream, const_cast<void **>(frame.values.data() + call.first),
        static_cast<unsigned>(kernel.cluster),
        (kernel.startsEarly || call.beside) && mayStartEarly && number > 0);
    if (!status)
      return environmentError(fmt::format("kernel {}: {}", kernel.name, status.error().message),
                              status.error().remedy);
  }
  return {};
}

} // namespace attnc
