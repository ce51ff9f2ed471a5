#include "compiler/driver/cuda_executor.h"
#include "api/c/arguments.h"
#include "api/c/handles.h"
#include "api/c/host_launch.h"

#include <fmt/format.h>

namespace attnc::api {

namespace {

Device deviceOf(const attnc_loaded &loaded) {
  if (!loaded.gpu)
    return {};
  return {DeviceKind::Cuda, loaded.gpu->device().properties().ordinal};
}

Status loadOnGpu(int32_t ordinal, attnc_loaded &loaded) {
  if (ordinal < ATTNC_CURRENT_DEVICE)
    return invalidArgument(fmt::format("there is no GPU {}", ordinal),
                           "count from 0, or use ATTNC_CURRENT_DEVICE");
  Result<int> chosen = ordinal == ATTNC_CURRENT_DEVICE ? currentCudaDevice() : Result<int>(ordinal);
  if (!chosen)
    return chosen.error();
  Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(*chosen);
  if (!device)
    return device.error();
  Result<std::unique_ptr<LoadedProgram>> program =
      driver::loadCompiled(loaded.compiled->compilation, *std::move(device));
  if (!program)
    return program.error();
  loaded.gpu = *std::move(program);
  return {};
}

Result<attnc_plan> bindPlan(const attnc_loaded &loaded, const attnc_arguments *arguments) {
  const Manifest &manifest = loaded.compiled->manifest();
  Result<BindRequest> request = readArguments(manifest, arguments, deviceOf(loaded));
  if (!request)
    return request.error();
  Result<Binding> binding = bind(manifest, *request);
  if (!binding)
    return binding.error();
  attnc_plan plan = {loaded, nullptr, nullptr};
  if (loaded.gpu) {
    Result<std::shared_ptr<const LoadedProgram::Prepared>> prepared = loaded.gpu->prepare(*binding);
    if (!prepared)
      return prepared.error();
    plan.gpu = *std::move(prepared);
  } else {
    Result<HostPlan> planned = planOnHost(manifest, *std::move(binding));
    if (!planned)
      return planned.error();
    plan.host = std::make_shared<const HostPlan>(*std::move(planned));
  }
  return plan;
}

Status launchPlan(const attnc_plan &plan, void *stream, void *workspace) {
  if (plan.host)
    return launchOnHost(*plan.loaded.compiled, *plan.host, workspace);
  return plan.loaded.gpu->launch(*plan.gpu, stream, workspace);
}

Status inferShape(const CompiledProgram &compiled, const attnc_arguments *arguments,
                  std::size_t index, std::int64_t *shape) {
  const TensorDecl *tensor = compiled.tensor(index);
  if (!tensor)
    return invalidArgument(
        fmt::format("tensor {} is asked for, but there are {}", index, compiled.dims.size()));
  Result<BindRequest> request = readArguments(compiled.manifest(), arguments, {});
  if (!request)
    return request.error();
  Result<Scope> scope = resolveSizes(compiled.manifest(), request->inputs, request->extraSizes);
  if (!scope)
    return scope.error();
  Result<std::vector<std::int64_t>> extents = shapeOf(*tensor, *scope);
  if (!extents)
    return extents.error();
  std::copy(extents->begin(), extents->end(), shape);
  return {};
}

} // namespace

} // namespace attnc::api

using namespace attnc;
using namespace attnc::api;

attnc_error *attnc_load(const attnc_program *program, int32_t device, attnc_loaded **loaded) {
  return atBorder([&] {
    *loaded = nullptr;
    auto made = std::make_unique<attnc_loaded>(program->compiled, nullptr);
    Status status = made->compiled->onCpu() ? Status() : loadOnGpu(device, *made);
    if (status)
      *loaded = made.release();
    return toC(status);
  });
}

int32_t attnc_loaded_device(const attnc_loaded *loaded) {
  return loaded->gpu ? loaded->gpu->device().properties().ordinal : -1;
}

void attnc_loaded_destroy(attnc_loaded *loaded) { delete loaded; }

attnc_error *attnc_program_shape(const attnc_program *program, const attnc_arguments *arguments,
                                 size_t index, int64_t *shape) {
  return atBorder([&] { return toC(inferShape(*program->compiled, arguments, index, shape)); });
}

attnc_error *attnc_bind(const attnc_loaded *loaded, const attnc_arguments *arguments,
                        attnc_plan **plan) {
  return atBorder([&]() -> ErrorPtr {
    *plan = nullptr;
    Result<attnc_plan> bound = bindPlan(*loaded, arguments);
    if (!bound)
      return toC(bound.error());
    *plan = new attnc_plan(*std::move(bound));
    return nullptr;
  });
}

int64_t attnc_plan_workspace_bytes(const attnc_plan *plan) {
  return plan->host ? plan->host->workspace.bytes : LoadedProgram::workspaceBytes(*plan->gpu);
}

attnc_error *attnc_plan_launch(const attnc_plan *plan, void *stream, void *workspace) {
  return atBorder([&] { return toC(launchPlan(*plan, stream, workspace)); });
}

void attnc_plan_destroy(attnc_plan *plan) { delete plan; }

attnc_error *attnc_launch(const attnc_loaded *loaded, const attnc_arguments *arguments,
                          void *stream) {
  return atBorder([&]() -> ErrorPtr {
    Result<attnc_plan> plan = bindPlan(*loaded, arguments);
    return plan ? toC(launchPlan(*plan, stream, nullptr)) : toC(plan.error());
  });
}
