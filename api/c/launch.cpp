#include "api/c/arguments.h"
#include "api/c/handles.h"
#include "api/c/host_launch.h"
#include "compiler/driver/execution/cuda_executor.h"

#include <fmt/format.h>
#include <span>

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

/// Where a call goes: `gpu` or `host` is there.
struct Layout {
  std::shared_ptr<const LoadedProgram::Layout> gpu;
  std::shared_ptr<const CallLayout> host;
};

/// The layout of a call that has been made before, if its addresses are fit: nothing is evaluated,
/// and no text is made. Without one the call is checked as if it were the first.
Layout findLayout(const attnc_loaded &loaded, const SlottedCall &call) {
  if (loaded.gpu) {
    std::shared_ptr<const LoadedProgram::Layout> layout = loaded.gpu->find(call.key);
    return {layout && loaded.gpu->checkTensors(*layout, call.tensors) ? layout : nullptr, nullptr};
  }
  std::shared_ptr<const CallLayout> layout = loaded.host->find(call.key);
  return {nullptr, layout && checkAddresses(*layout, call.tensors) ? layout : nullptr};
}

/// Checks everything, and remembers the layout.
Result<Layout> makeLayout(const attnc_loaded &loaded, const attnc_arguments *arguments,
                          const LayoutKey *key, std::vector<void *> &tensors) {
  const Manifest &manifest = loaded.compiled->manifest();
  Result<BindRequest> request = readArguments(manifest, arguments, deviceOf(loaded));
  if (!request)
    return request.error();
  Result<Binding> binding = bind(manifest, *request);
  if (!binding)
    return binding.error();
  tensors = addressesOf(manifest, *binding);
  Layout made;
  if (loaded.gpu) {
    Result<std::shared_ptr<const LoadedProgram::Layout>> layout =
        loaded.gpu->layoutOf(*binding, key);
    if (!layout)
      return layout.error();
    made.gpu = *std::move(layout);
  } else {
    Result<std::shared_ptr<const CallLayout>> layout = loaded.host->layoutOf(*binding, key);
    if (!layout)
      return layout.error();
    made.host = *std::move(layout);
  }
  return made;
}

/// The layout of a call and, in `tensors`, its addresses by slot.
Result<Layout> layoutFor(const attnc_loaded &loaded, const attnc_arguments *arguments,
                         std::vector<void *> &tensors) {
  SlottedCall call;
  bool readable = readSlots(loaded.compiled->manifest(), arguments, call);
  if (readable) {
    Layout known = findLayout(loaded, call);
    if (known.gpu || known.host) {
      tensors = std::move(call.tensors);
      return known;
    }
  }
  return makeLayout(loaded, arguments, readable ? &call.key : nullptr, tensors);
}

Result<attnc_plan> bindPlan(const attnc_loaded &loaded, const attnc_arguments *arguments) {
  attnc_plan plan = {loaded, nullptr, nullptr, {}};
  Result<Layout> layout = layoutFor(loaded, arguments, plan.tensors);
  if (!layout)
    return layout.error();
  plan.host = layout->host;
  if (!loaded.gpu)
    return plan;
  Result<std::shared_ptr<const LoadedProgram::Prepared>> prepared =
      loaded.gpu->prepare(layout->gpu, plan.tensors);
  if (!prepared)
    return prepared.error();
  plan.gpu = *std::move(prepared);
  return plan;
}

Status launchPlan(const attnc_plan &plan, void *stream, void *workspace) {
  if (plan.host)
    return plan.loaded.host->launch(*plan.host, plan.tensors, workspace);
  return plan.loaded.gpu->launch(*plan.gpu, stream, workspace);
}

Status launchPlanAt(const attnc_plan &plan, void *const *data, void *stream, void *workspace) {
  std::span<void *const> tensors(data, plan.layout().slots.size());
  if (!data && !tensors.empty())
    return invalidArgument("the array of addresses is NULL");
  if (plan.host) {
    Status fit = checkAddresses(*plan.host, tensors);
    return fit ? plan.loaded.host->launch(*plan.host, tensors, workspace) : fit;
  }
  const LoadedProgram::Layout &layout = LoadedProgram::layoutOf(*plan.gpu);
  Status fit = plan.loaded.gpu->checkTensors(layout, tensors);
  return fit ? plan.loaded.gpu->launch(layout, tensors, stream, workspace) : fit;
}

Status launchArguments(const attnc_loaded &loaded, const attnc_arguments *arguments, void *stream) {
  std::vector<void *> tensors;
  Result<Layout> layout = layoutFor(loaded, arguments, tensors);
  if (!layout)
    return layout.error();
  return layout->gpu ? loaded.gpu->launch(*layout->gpu, tensors, stream)
                     : loaded.host->launch(*layout->host, tensors, nullptr);
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
    auto made = std::make_unique<attnc_loaded>(program->compiled, nullptr, nullptr);
    Status status;
    if (made->compiled->onCpu())
      made->host = std::make_shared<const HostProgram>(program->compiled);
    else
      status = loadOnGpu(device, *made);
    if (status)
      *loaded = made.release();
    return toC(status);
  });
}

attnc_error *attnc_warm_up(const attnc_loaded *loaded) {
  return atBorder([&] { return toC(loaded->gpu ? loaded->gpu->loadAll() : Status()); });
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
  return plan->layout().workspace.bytes;
}

attnc_error *attnc_plan_launch(const attnc_plan *plan, void *stream, void *workspace) {
  return atBorder([&] { return toC(launchPlan(*plan, stream, workspace)); });
}

attnc_error *attnc_plan_launch_at(const attnc_plan *plan, void *const *data, void *stream,
                                  void *workspace) {
  return atBorder([&] { return toC(launchPlanAt(*plan, data, stream, workspace)); });
}

void attnc_plan_destroy(attnc_plan *plan) { delete plan; }

attnc_error *attnc_launch(const attnc_loaded *loaded, const attnc_arguments *arguments,
                          void *stream) {
  return atBorder([&] { return toC(launchArguments(*loaded, arguments, stream)); });
}
