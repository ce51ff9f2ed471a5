#include "runtime/program/launch.h"

#include <fmt/format.h>

namespace attnc {

namespace {

constexpr std::int64_t workspaceAlign = 256;

Error inContext(std::string_view where, const Error &error) {
  return {error.kind, fmt::format("{}: {}", where, error.message), error.remedy};
}

Result<ArgValue> convert(const Scalar &value, DType type) {
  if (type == DType::F32)
    return ArgValue(static_cast<float>(toReal(value)));
  if (type == DType::F64)
    return ArgValue(toReal(value));
  const auto *integer = std::get_if<std::int64_t>(&value);
  if (!integer)
    return invalidArgument(
        fmt::format("{} is not an integer, but is passed as {}", toText(value), dtypeName(type)));
  if (type == DType::I64)
    return ArgValue(*integer);
  auto narrow = static_cast<std::int32_t>(*integer);
  if (narrow != *integer)
    return invalidArgument(fmt::format("{} does not fit in i32", *integer));
  return ArgValue(narrow);
}

/// Evaluates the arguments of one variant's launches.
class Evaluator {
public:
  Evaluator(const Manifest &manifest, const Binding &binding, const Workspace &workspace,
            void *base)
      : manifest(manifest), binding(binding), workspace(workspace), base(base) {}

  Result<KernelCall> call(const LaunchDecl &launch) {
    KernelCall result{launch.kernel, {1, 1, 1}, 0, {}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Result<std::int64_t> extent = evaluateInteger(launch.grid[axis], binding.scope);
      if (!extent)
        return inContext("grid of kernel " + launch.kernel, extent.error());
      if (*extent < 0)
        return internalError(
            fmt::format("kernel {}: grid extent {} is {}", launch.kernel, axis, *extent));
      result.grid[axis] = *extent;
    }
    const KernelDecl *kernel = manifest.findKernel(launch.kernel);
    if (result.grid[0] % kernel->cluster != 0)
      return internalError(
          fmt::format("kernel {}: {} blocks in x are no multiple of its cluster of {}",
                      launch.kernel, result.grid[0], kernel->cluster));
    Result<std::int64_t> shared = evaluateInteger(kernel->sharedBytes, binding.scope);
    if (!shared)
      return inContext("shared memory of kernel " + launch.kernel, shared.error());
    if (*shared < 0 || *shared > INT32_MAX)
      return internalError(
          fmt::format("kernel {}: {} bytes of shared memory", launch.kernel, *shared));
    result.sharedBytes = *shared;
    for (std::size_t index = 0; index < launch.args.size(); ++index) {
      Result<ArgValue> value = argument(launch.args[index]);
      if (!value)
        return inContext(fmt::format("argument {} of kernel {}", index, launch.kernel),
                         value.error());
      result.args.push_back(*value);
    }
    return result;
  }

private:
  Result<ArgValue> argument(const ArgDecl &arg) {
    switch (arg.kind) {
    case ArgKind::Pointer: {
      if (auto bound = binding.tensors.find(arg.name); bound != binding.tensors.end())
        return ArgValue(bound->second.data);
      Result<void *> address = inWorkspace(arg.name);
      return address ? Result<ArgValue>(*address) : address.error();
    }
    case ArgKind::Stride: {
      auto axis = static_cast<std::size_t>(arg.axis);
      if (auto bound = binding.tensors.find(arg.name); bound != binding.tensors.end())
        return ArgValue(bound->second.strides[axis]);
      Result<std::vector<std::int64_t>> shape =
          shapeOf(*manifest.findTensor(arg.name), binding.scope);
      if (!shape)
        return shape.error();
      return ArgValue(contiguousStrides(*shape)[axis]);
    }
    case ArgKind::Size:
      return ArgValue(binding.scope.sizes.at(arg.name));
    case ArgKind::Param:
      return convert(binding.scope.params.at(arg.name), manifest.findParam(arg.name)->dtype);
    case ArgKind::Expr: {
      Result<Scalar> value = attnc::evaluate(arg.expr, binding.scope);
      return value ? convert(*value, arg.type) : value.error();
    }
    case ArgKind::TensorMap:
      return tensorMap(arg);
    }
    return internalError("an argument of unknown kind");
  }

  Result<void *> inWorkspace(const std::string &tensor) {
    auto planned = workspace.offsets.find(tensor);
    if (planned == workspace.offsets.end())
      return internalError(tensor + " has no place in the workspace");
    return static_cast<void *>(static_cast<char *>(base) + planned->second);
  }

  Result<ArgValue> tensorMap(const ArgDecl &arg) {
    const TensorDecl &decl = *manifest.findTensor(arg.name);
    auto describe = [&](const TensorRef &tensor) -> Result<ArgValue> {
      Result<TensorMapArg> map = describeTensorMap(decl, tensor, arg.box, arg.swizzle);
      return map ? Result<ArgValue>(*std::move(map)) : map.error();
    };
    if (auto bound = binding.tensors.find(arg.name); bound != binding.tensors.end())
      return describe(bound->second);
    Result<void *> address = inWorkspace(arg.name);
    if (!address)
      return address.error();
    Result<std::vector<std::int64_t>> shape = shapeOf(decl, binding.scope);
    if (!shape)
      return shape.error();
    return describe(TensorRef::contiguous(*address, decl.dtype, *std::move(shape)));
  }

  const Manifest &manifest;
  const Binding &binding;
  const Workspace &workspace;
  void *base;
};

} // namespace

/// Intermediates start at multiples of workspaceAlign, wherever the workspace will be.
static Status checkAligned(const Manifest &manifest, const VariantDecl &variant,
                           const Binding &binding) {
  for (const auto &[name, bytes] : variant.aligned) {
    const TensorDecl &decl = *manifest.findTensor(name);
    Status status;
    if (auto bound = binding.tensors.find(name); bound != binding.tensors.end()) {
      status = checkAlignment(decl, bound->second, bytes);
    } else {
      Result<std::vector<std::int64_t>> shape = shapeOf(decl, binding.scope);
      status = shape
                   ? checkAlignment(decl, TensorRef::contiguous(nullptr, decl.dtype, *shape), bytes)
                   : shape.error();
    }
    if (!status)
      return status;
  }
  return {};
}

Result<const VariantDecl *> chooseVariant(const Manifest &manifest, const Binding &binding) {
  std::optional<Error> misaligned;
  for (std::size_t index = 0; index < manifest.variants.size(); ++index) {
    const VariantDecl &variant = manifest.variants[index];
    if (variant.when) {
      Result<Scalar> holds = evaluate(*variant.when, binding.scope);
      if (!holds)
        return inContext(fmt::format("'when' of variant {}", index), holds.error());
      if (!isTrue(*holds))
        continue;
    }
    Status aligned = checkAligned(manifest, variant, binding);
    if (aligned)
      return &variant;
    misaligned = aligned.error();
  }
  if (misaligned)
    return *misaligned;
  return invalidArgument(
      fmt::format("no variant of {} serves these sizes and params", manifest.name));
}

Result<Workspace> planWorkspace(const Manifest &manifest, const VariantDecl &variant,
                                const Binding &binding) {
  Workspace workspace;
  for (const TensorDecl &tensor : manifest.intermediates) {
    bool used = false;
    for (const LaunchDecl &launch : variant.launches)
      for (const ArgDecl &arg : launch.args)
        used |= (arg.kind == ArgKind::Pointer || arg.kind == ArgKind::TensorMap) &&
                arg.name == tensor.name;
    if (!used)
      continue;
    Result<std::vector<std::int64_t>> shape = shapeOf(tensor, binding.scope);
    if (!shape)
      return shape.error();
    auto bytes = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
    for (std::int64_t extent : *shape)
      bytes *= extent;
    workspace.offsets[tensor.name] = workspace.bytes;
    if (__builtin_add_overflow(workspace.bytes, bytes, &workspace.bytes) ||
        __builtin_add_overflow(workspace.bytes, workspaceAlign - 1, &workspace.bytes))
      return invalidArgument(
          fmt::format("the workspace of {} has more than 2^63 bytes", manifest.name));
    workspace.bytes -= workspace.bytes % workspaceAlign;
  }
  return workspace;
}

Result<std::vector<KernelCall>> evaluate(const Manifest &manifest, const VariantDecl &variant,
                                         const Binding &binding, const Workspace &workspace,
                                         void *base) {
  Evaluator evaluator(manifest, binding, workspace, base);
  std::vector<KernelCall> calls;
  for (const LaunchDecl &launch : variant.launches) {
    Result<KernelCall> call = evaluator.call(launch);
    if (!call)
      return call.error();
    if (call->grid[0] != 0 && call->grid[1] != 0 && call->grid[2] != 0)
      calls.push_back(*std::move(call));
  }
  return calls;
}

Status checkCudaGrid(const KernelCall &call) {
  constexpr std::array<std::int64_t, 3> limits = {INT32_MAX, 65535, 65535};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (call.grid[axis] > limits[axis])
      return invalidArgument(fmt::format("kernel {}: the grid has {} blocks in {}, CUDA allows {}",
                                         call.kernel, call.grid[axis], "xyz"[axis], limits[axis]),
                             "split the batch into several calls");
  return {};
}

} // namespace attnc
