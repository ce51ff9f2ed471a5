#include "runtime/program/loaded_program.h"

#include "runtime/program/disjoint.h"

#include <fmt/format.h>

namespace attnc {

namespace {

constexpr std::int64_t sharedWithoutOptIn = 48 * 1024;

Result<CudaModule> loadImage(const CudaDevice &device, const Program &program,
                             const KernelDecl &kernel) {
  const Image *cubin = program.findImage(kernel.image, ImageKind::Cubin);
  const Image *ptx = program.findImage(kernel.image, ImageKind::Ptx);
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
                                                           const Program &program) {
  std::unique_ptr<LoadedProgram> loaded(new LoadedProgram());
  loaded->gpu = std::move(device);
  loaded->plan = program.manifest;
  std::map<std::string, CudaModule> modules;
  for (const KernelDecl &kernel : program.manifest.kernels)
    if (Status status = loaded->loadKernel(program, kernel, modules); !status)
      return status.error();
  return loaded;
}

Status LoadedProgram::loadKernel(const Program &program, const KernelDecl &kernel,
                                 std::map<std::string, CudaModule> &modules) {
  auto found = modules.find(kernel.image);
  if (found == modules.end()) {
    Result<CudaModule> module = loadImage(*gpu, program, kernel);
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
  functions.emplace(kernel.name, *std::move(function));
  return {};
}

Result<CudaFunction::Attributes> LoadedProgram::attributes(const std::string &name) const {
  auto found = functions.find(name);
  if (found == functions.end())
    return invalidArgument(fmt::format("the program has no kernel {}", name));
  return found->second.attributes();
}

Status LoadedProgram::launch(const Binding &binding, CuHandle stream) const {
  for (const auto &[name, tensor] : binding.tensors) {
    if (spanBytes(tensor) == 0)
      continue;
    if (Status status = gpu->checkPointer(tensor.data); !status)
      return invalidArgument(fmt::format("{}: {}", name, status.error().message),
                             status.error().remedy);
  }
  Result<const VariantDecl *> variant = chooseVariant(plan, binding);
  if (!variant)
    return variant.error();
  Result<Workspace> workspace = planWorkspace(plan, **variant, binding);
  if (!workspace)
    return workspace.error();
  if (workspace->bytes == 0)
    return launchCalls(**variant, binding, *workspace, nullptr, stream);
  Result<void *> base = gpu->allocateOn(stream, static_cast<std::size_t>(workspace->bytes));
  if (!base)
    return base.error();
  Status launched = launchCalls(**variant, binding, *workspace, *base, stream);
  Status released = gpu->releaseOn(stream, *base);
  return launched ? released : launched;
}

Status LoadedProgram::launchCalls(const VariantDecl &variant, const Binding &binding,
                                  const Workspace &workspace, void *base, CuHandle stream) const {
  Result<std::vector<KernelCall>> calls = evaluate(plan, variant, binding, workspace, base);
  if (!calls)
    return calls.error();
  for (const KernelCall &call : *calls) // nothing is launched unless everything can be
    if (Status status = checkCudaGrid(call); !status)
      return status;
  for (KernelCall &call : *calls) {
    const CudaFunction &function = functions.at(call.kernel);
    const KernelDecl &kernel = *plan.findKernel(call.kernel);
    if (kernel.sharedBytes.op != ExprOp::Integer && call.sharedBytes > sharedWithoutOptIn) {
      if (Status status = checkShared(*gpu, call.kernel, call.sharedBytes); !status)
        return status;
      if (Status status = function.allowSharedBytes(static_cast<int>(call.sharedBytes)); !status)
        return status;
    }
    std::vector<void *> args;
    for (ArgValue &arg : call.args)
      args.push_back(std::visit([](auto &value) { return static_cast<void *>(&value); }, arg));
    const unsigned grid[3] = {static_cast<unsigned>(call.grid[0]),
                              static_cast<unsigned>(call.grid[1]),
                              static_cast<unsigned>(call.grid[2])};
    if (Status status =
            function.launch(grid, static_cast<unsigned>(kernel.threads),
                            static_cast<unsigned>(call.sharedBytes), stream, args.data());
        !status)
      return environmentError(fmt::format("kernel {}: {}", call.kernel, status.error().message),
                              status.error().remedy);
  }
  return {};
}

} // namespace attnc
