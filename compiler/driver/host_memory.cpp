#include "compiler/driver/host_memory.h"

#include <cstring>
#include <numeric>

namespace attnc::driver {

Result<BindRequest> HostMemory::allocate(const Manifest &manifest, const RunRequest &request) {
  Result<Scope> sizes = sizesOf(manifest, request);
  if (!sizes)
    return sizes.error();
  BindRequest bound;
  bound.params = request.params;
  bound.extraSizes = extraSizes(manifest, request);
  for (const auto &[name, tensor] : request.inputs) {
    auto block = GuardedHostMemory::allocate(name, tensor.data.size());
    if (!block)
      return block.error();
    std::memcpy(block->data(), tensor.data.data(), tensor.data.size());
    bound.inputs[name] = TensorRef::contiguous(block->data(), tensor.dtype, tensor.shape);
    inputs.emplace(name, std::move(*block));
  }
  for (const TensorDecl &output : manifest.outputs) {
    Result<std::vector<int64_t>> shape = shapeOf(output, *sizes);
    if (!shape)
      return shape.error();
    size_t bytes =
        std::accumulate(shape->begin(), shape->end(), dtypeSize(output.dtype), std::multiplies<>());
    auto block = GuardedHostMemory::allocate(output.name, bytes);
    if (!block)
      return block.error();
    bound.outputs[output.name] = TensorRef::contiguous(block->data(), output.dtype, *shape);
    outputs.emplace(output.name, std::move(*block));
  }
  return bound;
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

Status HostMemory::checkGuards() const {
  for (const auto *group : {&inputs, &outputs})
    for (const auto &[name, memory] : *group)
      if (Status intact = memory.checkGuards(); !intact)
        return intact;
  return workspace.checkGuards();
}

std::map<std::string, HostTensor> HostMemory::readOutputs(const BindRequest &bound) const {
  std::map<std::string, HostTensor> tensors;
  for (const auto &[name, ref] : bound.outputs) {
    const GuardedHostMemory &block = outputs.at(name);
    tensors[name] = {ref.dtype, ref.shape, {block.data(), block.data() + block.bytes()}};
  }
  return tensors;
}

} // namespace attnc::driver
