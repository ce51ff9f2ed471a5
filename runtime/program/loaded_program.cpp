#include "runtime/program/loaded_program.h"

#include "runtime/program/disjoint.h"
#include "runtime/program/memory_budget.h"

#include <algorithm>
#include <fmt/format.h>

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

bool hasTensorMaps(const Manifest &manifest) {
  for (const VariantDecl &variant : manifest.variants)
    for (const LaunchDecl &launch : variant.launches)
      for (const ArgDecl &arg : launch.args)
        if (arg.kind == ArgKind::TensorMap)
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
  for (const KernelDecl &kernel : program.manifest.kernels) {
    loaded->functions.emplace(kernel.name, std::nullopt);
    if (loaded->missing && !hasImage(program.images, kernel.image))
      continue;
    if (Status status = loaded->loadKernel(program.images, kernel); !status)
      return status.error();
  }
  if (hasTensorMaps(program.manifest))
    if (Status status = loaded->makeZeros(); !status)
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
  if (kernel.sharedBytes.op == ExprOp::Integer) {
    if (Status status = checkShared(*gpu, kernel.name, kernel.sharedBytes.integer); !status)
      return status;
    if (kernel.sharedBytes.integer > sharedWithoutOptIn)
      if (Status status = function->allowSharedBytes(static_cast<int>(kernel.sharedBytes.integer));
          !status)
        return status;
  }
  if (Status status = checkClusters(kernel, *function); !status)
    return status;
  functions.at(kernel.name) = *std::move(function);
  return {};
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

/// The arguments of a call as cuLaunchKernel takes them. Not copied: `values` points into the call
/// and into `maps`.
struct LoadedProgram::Arguments {
  std::vector<EncodedTensorMap> maps;
  std::vector<void *> values;
};

/// The calls of a launch with their arguments, which point into them.
struct LoadedProgram::Calls {
  std::vector<KernelCall> calls;
  std::vector<Arguments> arguments;

  Calls() = default;
  Calls(Calls &&) = default;
  Calls &operator=(Calls &&) = default;
};

class LoadedProgram::Prepared {
public:
  Binding binding;
  const VariantDecl *variant = nullptr;
  Workspace workspace;
  /// Where no intermediate lies in the workspace, whose address they would hold. Counters are
  /// offsets there.
  std::optional<Calls> ready;
};

Result<LoadedProgram::Arguments> LoadedProgram::argumentsOf(KernelCall &call) const {
  Arguments arguments;
  arguments.maps.reserve(call.args.size()); // so that they stay where they are
  for (std::size_t index = 0; index < call.args.size(); ++index) {
    auto *map = std::get_if<TensorMapArg>(&call.args[index]);
    if (!map) {
      arguments.values.push_back(
          std::visit([](auto &value) { return static_cast<void *>(&value); }, call.args[index]));
      continue;
    }
    if (!map->base)
      map->base = zeros.data();
    Result<EncodedTensorMap> encoded =
        maps.get(*map, [&](const TensorMapArg &wanted) { return gpu->encodeTensorMap(wanted); });
    if (!encoded)
      return environmentError(
          fmt::format("argument {} of kernel {}: {}", index, call.kernel, encoded.error().message),
          encoded.error().remedy);
    arguments.maps.push_back(*encoded);
    arguments.values.push_back(&arguments.maps.back());
  }
  return arguments;
}

Status LoadedProgram::checkPointers(const Binding &binding) const {
  for (const auto &[name, tensor] : binding.tensors) {
    if (spanBytes(tensor) == 0)
      continue;
    if (Status status = gpu->checkPointer(tensor.data); !status)
      return invalidArgument(fmt::format("{}: {}", name, status.error().message),
                             status.error().remedy);
  }
  return {};
}

Result<std::shared_ptr<const LoadedProgram::Prepared>>
LoadedProgram::prepare(const Binding &binding) const {
  auto prepared = std::make_shared<Prepared>();
  prepared->binding = binding;
  if (Status status =
          addMachineSizes(plan, prepared->binding.scope, gpu->properties().multiprocessors);
      !status)
    return status.error();
  if (Status status = checkPointers(binding); !status)
    return status.error();
  Result<const VariantDecl *> variant = chooseVariant(plan, prepared->binding);
  if (!variant)
    return variant.error();
  prepared->variant = *variant;
  if (Status status = loadWaiting(**variant); !status)
    return status.error();
  Result<Workspace> workspace = planWorkspace(plan, **variant, prepared->binding);
  if (!workspace)
    return workspace.error();
  prepared->workspace = *std::move(workspace);
  if (prepared->workspace.offsets.empty()) {
    Result<Calls> calls = callsOf(*prepared, nullptr);
    if (!calls)
      return calls.error();
    prepared->ready = *std::move(calls);
  }
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

std::int64_t LoadedProgram::workspaceBytes(const Prepared &prepared) {
  return prepared.workspace.bytes;
}

Status LoadedProgram::launch(const Prepared &prepared, CuHandle stream, void *workspace) const {
  bool takesOwn = !workspace && prepared.workspace.bytes != 0;
  if (takesOwn) {
    Result<void *> own =
        gpu->allocateOn(stream, static_cast<std::size_t>(prepared.workspace.bytes));
    if (!own)
      return noMemoryFor(plan, prepared.workspace, prepared.binding.scope, own.error());
    workspace = *own;
  }
  Status launched;
  if (prepared.ready) {
    launched = launchCalls(*prepared.ready, stream, workspace);
  } else {
    Result<Calls> calls = callsOf(prepared, workspace);
    launched = calls ? launchCalls(*calls, stream, nullptr) : calls.error();
  }
  Status released = takesOwn ? gpu->releaseOn(stream, workspace) : Status();
  return launched ? released : launched;
}

Status LoadedProgram::launch(const Binding &binding, CuHandle stream) const {
  Result<std::shared_ptr<const Prepared>> prepared = prepare(binding);
  return prepared ? launch(**prepared, stream) : prepared.error();
}

Result<LoadedProgram::Calls> LoadedProgram::callsOf(const Prepared &prepared, void *base) const {
  Result<std::vector<KernelCall>> evaluated =
      evaluate(plan, *prepared.variant, prepared.binding, prepared.workspace, base);
  if (!evaluated)
    return evaluated.error();
  Calls result;
  result.calls = *std::move(evaluated);
  for (KernelCall &call : result.calls) { // nothing is launched unless everything can be
    if (Status status = checkCudaGrid(call); !status)
      return status.error();
    Result<Arguments> ready = argumentsOf(call);
    if (!ready)
      return ready.error();
    result.arguments.push_back(*std::move(ready));
  }
  return result;
}

/// The sum of an address and an offset.
static void *shifted(void *address, void *by) {
  return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(address) +
                                  reinterpret_cast<std::uintptr_t>(by));
}

/// `counters` is what is added to the addresses of counters.
Status LoadedProgram::launchCalls(const Calls &calls, CuHandle stream, void *counters) const {
  for (std::size_t index = 0; index < calls.calls.size(); ++index)
    if (Status status = launchCall(calls.calls[index], calls.arguments[index], stream, counters);
        !status)
      return status;
  return {};
}

Status LoadedProgram::launchCall(const KernelCall &call, const Arguments &arguments,
                                 CuHandle stream, void *counters) const {
  if (call.counters.empty())
    return launchKernel(call, arguments.values.data(), stream);
  std::vector<void *> values = arguments.values, addresses(call.counters.size());
  for (std::size_t number = 0; number < addresses.size(); ++number) {
    std::size_t index = call.counters[number];
    addresses[number] = shifted(std::get<void *>(call.args[index]), counters);
    values[index] = &addresses[number];
    if (Status status = gpu->clearOn(stream, addresses[number]); !status)
      return status;
  }
  return launchKernel(call, values.data(), stream);
}

Status LoadedProgram::launchKernel(const KernelCall &call, void *const *values,
                                   CuHandle stream) const {
  const CudaFunction &function = *functions.at(call.kernel);
  const KernelDecl &kernel = *plan.findKernel(call.kernel);
  if (kernel.sharedBytes.op != ExprOp::Integer && call.sharedBytes > sharedWithoutOptIn) {
    if (Status status = checkShared(*gpu, call.kernel, call.sharedBytes); !status)
      return status;
    if (Status status = function.allowSharedBytes(static_cast<int>(call.sharedBytes)); !status)
      return status;
  }
  const unsigned grid[3] = {static_cast<unsigned>(call.grid[0]),
                            static_cast<unsigned>(call.grid[1]),
                            static_cast<unsigned>(call.grid[2])};
  Status status = function.launch(
      grid, static_cast<unsigned>(kernel.threads), static_cast<unsigned>(call.sharedBytes), stream,
      const_cast<void **>(values), static_cast<unsigned>(kernel.cluster));
  return status ? status
                : Status(environmentError(
                      fmt::format("kernel {}: {}", call.kernel, status.error().message),
                      status.error().remedy));
}

} // namespace attnc
