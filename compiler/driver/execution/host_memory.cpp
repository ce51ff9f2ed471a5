#include "compiler/driver/execution/host_memory.h"

namespace attnc::driver {

Result<BindRequest> HostMemory::allocate(const Manifest &manifest, const RunRequest &request) {
  Result<Scope> sizes = sizesOf(manifest, request);
  if (!sizes)
    return sizes.error();
  BindRequest bound;
  bound.params = request.params;
  bound.extraSizes = extraSizes(manifest, request);
  layout = request.layout;
  for (const auto &[name, tensor] : request.inputs) {
    auto block = GuardedHostMemory::allocate(name, layout.blockBytes(tensor.dtype, tensor.shape));
    if (!block)
      return block.error();
    layout.scatter(tensor.data.data(), tensor.dtype, tensor.shape, block->data());
    bound.inputs[name] = layout.at(block->data(), tensor.dtype, tensor.shape);
    inputs.emplace(name, std::move(*block));
  }
  for (const TensorDecl &output : manifest.outputs) {
    Result<std::vector<int64_t>> shape = shapeOf(output, *sizes);
    if (!shape)
      return shape.error();
    auto block = GuardedHostMemory::allocate(output.name, layout.blockBytes(output.dtype, *shape));
    if (!block)
      return block.error();
    bound.outputs[output.name] = layout.at(block->data(), output.dtype, *shape);
    outputs.emplace(output.name, std::move(*block));
  }
  return bound;
}

Result<HostMemory::Plan> HostMemory::plan(const Manifest &manifest, const Binding &binding) {
  Result<const VariantDecl *> variant = chooseVariant(manifest, binding);
  if (!variant)
    return variant.error();
  Result<Workspace> workspace = planWorkspace(manifest, **variant, binding);
  if (!workspace)
    return workspace.error();
  Result<void *> base = allocateWorkspace(workspace->bytes);
  if (!base)
    return base.error();
  Result<std::vector<KernelCall>> calls =
      attnc::evaluate(manifest, **variant, binding, *workspace, *base);
  if (!calls)
    return calls.error();
  return Plan{std::move(*calls), std::move(*workspace), static_cast<std::byte *>(*base)};
}

Result<void *> HostMemory::allocateWorkspace(size_t bytes) {
  auto block = GuardedHostMemory::allocate("workspace", bytes);
  if (!block)
    return block.error();
  workspace = std::move(*block);
  return static_cast<void *>(workspace.data());
}

void HostMemory::poison() const {
  for (const auto &[name, memory] : outputs)
    memory.poison();
  workspace.poison();
}

Status HostMemory::checkGuards(const BindRequest &bound) const {
  for (const auto *group : {&inputs, &outputs})
    for (const auto &[name, memory] : *group)
      if (Status intact = memory.checkGuards(); !intact)
        return intact;
  for (const auto &[name, ref] : bound.outputs)
    if (Status intact = layout.checkGaps(name, outputs.at(name).data(), ref.dtype, ref.shape);
        !intact)
      return intact;
  return workspace.checkGuards();
}

std::map<std::string, HostTensor> HostMemory::readOutputs(const BindRequest &bound) const {
  std::map<std::string, HostTensor> tensors;
  for (const auto &[name, ref] : bound.outputs)
    tensors[name] = {ref.dtype, ref.shape,
                     layout.gather(outputs.at(name).data(), ref.dtype, ref.shape)};
  return tensors;
}

} // namespace attnc::driver
