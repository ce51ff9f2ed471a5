#include "runtime/program/launch.h"

#include "runtime/program/disjoint.h"
#include "runtime/program/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>

namespace attnc {

namespace {

constexpr std::int64_t workspaceAlign = 256;
/// Of a call, with all passes of its loops.
constexpr std::int64_t maxCallLaunches = 1 << 20;

Error inContext(std::string_view where, const Error &error) {
  return {error.kind, fmt::format("{}: {}", where, error.message), error.remedy};
}

Result<PlannedArg> convert(const Scalar &value, DType type) {
  if (type == DType::F32)
    return PlannedArg(static_cast<float>(toReal(value)));
  if (type == DType::F64)
    return PlannedArg(toReal(value));
  const auto *integer = std::get_if<std::int64_t>(&value);
  if (!integer)
    return invalidArgument(
        fmt::format("{} is not an integer, but is passed as {}", toText(value), dtypeName(type)));
  if (type == DType::I64)
    return PlannedArg(*integer);
  auto narrow = static_cast<std::int32_t>(*integer);
  if (narrow != *integer)
    return invalidArgument(fmt::format("{} does not fit in i32", *integer));
  return PlannedArg(narrow);
}

/// How often a launch runs, with the error's context.
Result<std::int64_t> passesOf(const LoopDecl &loop, const Scope &scope) {
  std::string where = "loop over " + loop.index;
  Result<std::int64_t> count = evaluateInteger(loop.count, scope);
  if (!count)
    return inContext(where, count.error());
  if (*count < 0)
    return internalError(fmt::format("{}: it has {} passes", where, *count));
  if (*count > maxLoopPasses)
    return invalidArgument(
        fmt::format("{}: it has {} passes, at most {} are possible", where, *count, maxLoopPasses),
        "split the batch into several calls");
  return count;
}

/// Calls `visit` with each launch of a variant in the order of the calls, in a scope that has the
/// indices of loops.
Status forEachCall(const VariantDecl &variant, const Scope &sizes,
                   const std::function<Status(const LaunchDecl &, const Scope &)> &visit) {
  Scope scope = sizes;
  std::int64_t calls = 0;
  for (std::size_t number = 0; number < variant.launches.size();) {
    const LoopDecl *loop = variant.loopAround(number);
    Result<std::int64_t> passes = loop ? passesOf(*loop, sizes) : Result<std::int64_t>(1);
    if (!passes)
      return passes.error();
    std::size_t end = number + (loop ? loop->launches : 1);
    calls += *passes * static_cast<std::int64_t>(end - number);
    if (calls > maxCallLaunches)
      return invalidArgument(
          fmt::format("loops make more than {} launches of a call", maxCallLaunches),
          "split the batch into several calls");
    for (std::int64_t pass = 0; pass < *passes; ++pass) {
      if (loop)
        scope.lets[loop->index] = Scalar(pass);
      for (std::size_t each = number; each < end; ++each)
        if (Status status = visit(variant.launches[each], scope); !status)
          return status;
    }
    if (loop)
      scope.lets.erase(loop->index);
    number = end;
  }
  return {};
}

/// Evaluates the arguments of one variant's launches.
class Evaluator {
public:
  Evaluator(const Manifest &manifest, const Binding &binding, const Workspace &workspace)
      : manifest(manifest), binding(binding), workspace(workspace) {}

  /// `scope` is the binding's, with the indices of loops.
  Result<PlannedCall> call(const LaunchDecl &launch, const Scope &scope) {
    PlannedCall result{launch.kernel, {1, 1, 1}, 0, {}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Result<std::int64_t> extent = evaluateInteger(launch.grid[axis], scope);
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
    Result<std::int64_t> shared = evaluateInteger(kernel->sharedBytes, scope);
    if (!shared)
      return inContext("shared memory of kernel " + launch.kernel, shared.error());
    if (*shared < 0 || *shared > INT32_MAX)
      return internalError(
          fmt::format("kernel {}: {} bytes of shared memory", launch.kernel, *shared));
    result.sharedBytes = *shared;
    for (std::size_t index = 0; index < launch.args.size(); ++index) {
      Result<PlannedArg> value = argument(launch.args[index], scope);
      if (!value)
        return inContext(fmt::format("argument {} of kernel {}", index, launch.kernel),
                         value.error());
      if (launch.args[index].kind == ArgKind::Counter)
        result.counters.push_back(index);
      result.args.push_back(*value);
    }
    if (!launch.guard.empty()) {
      Result<Placed> flag = tensor(launch.guard);
      if (!flag)
        return inContext("guard of kernel " + launch.kernel, flag.error());
      result.guard = flag->place;
    }
    return result;
  }

private:
  Result<PlannedArg> argument(const ArgDecl &arg, const Scope &scope) {
    switch (arg.kind) {
    case ArgKind::Pointer:
      return pointer(arg, scope);
    case ArgKind::Stride: {
      Result<Placed> placed = tensor(arg.name);
      return placed ? Result<PlannedArg>(placed->tensor.strides[static_cast<std::size_t>(arg.axis)])
                    : placed.error();
    }
    case ArgKind::Size:
      return PlannedArg(binding.scope.sizes.at(arg.name));
    case ArgKind::Param:
      return convert(binding.scope.params.at(arg.name), manifest.findParam(arg.name)->dtype);
    case ArgKind::Expr: {
      Result<Scalar> value = attnc::evaluate(arg.expr, scope);
      return value ? convert(*value, arg.type) : value.error();
    }
    case ArgKind::TensorMap:
      return tensorMap(arg);
    case ArgKind::Counter:
      return counter();
    }
    return internalError("an argument of unknown kind");
  }

  struct Placed {
    TensorRef tensor; ///< an intermediate has no data
    Place place;
  };

  /// As the caller bound it, or where it lies in the workspace.
  Result<Placed> tensor(const std::string &name) {
    if (auto bound = binding.tensors.find(name); bound != binding.tensors.end())
      return Placed{bound->second, {slotOf(manifest, name), 0}};
    auto planned = workspace.offsets.find(name);
    if (planned == workspace.offsets.end())
      return internalError(name + " has no place in the workspace");
    const TensorDecl &decl = *manifest.findTensor(name);
    Result<TensorRef> tensor = intermediateAt(nullptr, decl, binding.scope);
    if (!tensor)
      return tensor.error();
    if (decl.window) {
      Result<std::int64_t> count = evaluateInteger(decl.window->count, binding.scope);
      if (!count)
        return inContext("window of " + name, count.error());
      auto last = static_cast<std::size_t>(decl.window->axes) - 1;
      std::fill_n(tensor->shape.begin(), last, 1);
      tensor->shape[last] = *count;
    }
    return Placed{*std::move(tensor), {Place::workspace, planned->second}};
  }

  Result<PlannedArg> pointer(const ArgDecl &arg, const Scope &scope) {
    Result<Placed> placed = tensor(arg.name);
    if (!placed)
      return placed.error();
    if (!arg.offset)
      return PlannedArg(placed->place);
    Result<std::int64_t> offset = evaluateInteger(*arg.offset, scope);
    if (!offset)
      return inContext("offset", offset.error());
    auto size = static_cast<std::int64_t>(dtypeSize(placed->tensor.dtype));
    std::int64_t elements = *spanBytes(placed->tensor) / size;
    if (*offset < 0 || (*offset != 0 && *offset >= elements))
      return internalError(fmt::format("offset {} lies outside {}, which spans {} elements",
                                       *offset, arg.name, elements));
    return PlannedArg(Place{placed->place.base, placed->place.offset + *offset * size});
  }

  Result<PlannedArg> tensorMap(const ArgDecl &arg) {
    Result<Placed> placed = tensor(arg.name);
    if (!placed)
      return placed.error();
    Result<TensorMapArg> map =
        describeTensorMap(*manifest.findTensor(arg.name), placed->tensor, arg.box, arg.swizzle);
    if (!map)
      return map.error();
    map->base = nullptr;
    PlannedMap planned{*std::move(map), placed->place};
    if (spanBytes(placed->tensor) == 0)
      planned.place.reset();
    return PlannedArg(std::move(planned));
  }

  Result<PlannedArg> counter() {
    if (nextCounter == workspace.counters.size())
      return internalError("a counter has no place in the workspace");
    return PlannedArg(Place{Place::workspace, workspace.counters[nextCounter++]});
  }

  const Manifest &manifest;
  const Binding &binding;
  const Workspace &workspace;
  std::size_t nextCounter = 0;
};

} // namespace

/// Intermediates start at multiples of workspaceAlign, wherever the workspace will be.
static Status checkAligned(const Manifest &manifest, const VariantDecl &variant,
                           const Binding &binding) {
  for (const auto &[name, bytes] : variant.aligned) {
    const TensorDecl &decl = *manifest.findTensor(name);
    auto bound = binding.tensors.find(name);
    Result<TensorRef> tensor = bound != binding.tensors.end()
                                   ? Result<TensorRef>(bound->second)
                                   : intermediateAt(nullptr, decl, binding.scope);
    Status status = tensor ? checkAlignment(decl, *tensor, bytes) : Status(tensor.error());
    if (!status)
      return status;
  }
  return {};
}

/// Reserves bytes at the end of the workspace; their offset, or nothing if there are too many.
static std::optional<std::int64_t> reserve(Workspace &workspace, std::int64_t bytes) {
  std::int64_t offset = workspace.bytes;
  if (__builtin_add_overflow(workspace.bytes, bytes, &workspace.bytes) ||
      __builtin_add_overflow(workspace.bytes, workspaceAlign - 1, &workspace.bytes))
    return std::nullopt;
  workspace.bytes -= workspace.bytes % workspaceAlign;
  return offset;
}

Result<Workspace> planWorkspace(const Manifest &manifest, const VariantDecl &variant,
                                const Binding &binding) {
  Workspace workspace;
  Error tooMany =
      invalidArgument(fmt::format("the workspace of {} has more than 2^63 bytes", manifest.name));
  for (const TensorDecl &tensor : manifest.intermediates) {
    bool used = false;
    for (const LaunchDecl &launch : variant.launches)
      for (const ArgDecl &arg : launch.args)
        used |= (arg.kind == ArgKind::Pointer || arg.kind == ArgKind::TensorMap) &&
                arg.name == tensor.name;
    for (const LaunchDecl &launch : variant.launches)
      used |= launch.guard == tensor.name;
    if (!used)
      continue;
    Result<TensorRef> placed = intermediateAt(nullptr, tensor, binding.scope);
    if (!placed)
      return placed.error();
    Result<std::int64_t> bytes = intermediateBytes(tensor, *placed, binding.scope);
    if (!bytes)
      return bytes.error();
    std::optional<std::int64_t> offset = reserve(workspace, *bytes);
    if (!offset)
      return tooMany;
    workspace.offsets[tensor.name] = *offset;
  }
  Status counted =
      forEachCall(variant, binding.scope, [&](const LaunchDecl &launch, const Scope &) -> Status {
        for (const ArgDecl &arg : launch.args)
          if (arg.kind == ArgKind::Counter)
            workspace.counters.push_back(
                workspace.bytes +
                static_cast<std::int64_t>(workspace.counters.size() * sizeof(std::int32_t)));
        return {};
      });
  if (!counted)
    return counted.error();
  if (!reserve(workspace,
               static_cast<std::int64_t>(workspace.counters.size() * sizeof(std::int32_t))))
    return tooMany;
  if (Status status = checkMemoryBudget(manifest, workspace, binding); !status)
    return status.error();
  return workspace;
}

Result<const VariantDecl *> chooseVariant(const Manifest &manifest, const Binding &binding) {
  std::optional<Error> misaligned;
  const VariantDecl *smallest = nullptr; // of those beyond the budget
  std::int64_t smallestBytes = 0;
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
    if (!aligned) {
      misaligned = aligned.error();
      continue;
    }
    if (!binding.memoryBudget || planWorkspace(manifest, variant, binding))
      return &variant;
    Binding unlimited = binding;
    unlimited.memoryBudget.reset();
    Result<Workspace> workspace = planWorkspace(manifest, variant, unlimited);
    if (!workspace)
      return workspace.error();
    if (!smallest || workspace->bytes < smallestBytes) {
      smallest = &variant;
      smallestBytes = workspace->bytes;
    }
  }
  if (smallest)
    return smallest; // planWorkspace says what is too much
  if (misaligned)
    return *misaligned;
  return invalidArgument(
      fmt::format("no variant of {} serves these sizes and params", manifest.name));
}

std::size_t slotOf(const Manifest &manifest, std::string_view tensor) {
  std::size_t slot = 0;
  for (const auto *group : {&manifest.inputs, &manifest.outputs})
    for (const TensorDecl &decl : *group) {
      if (decl.name == tensor)
        return slot;
      ++slot;
    }
  return Place::workspace;
}

Result<std::vector<PlannedCall>> planCalls(const Manifest &manifest, const VariantDecl &variant,
                                           const Binding &binding, const Workspace &workspace) {
  Evaluator evaluator(manifest, binding, workspace);
  std::vector<PlannedCall> calls;
  const LaunchDecl *last = nullptr;
  Status evaluated = forEachCall(
      variant, binding.scope, [&](const LaunchDecl &launch, const Scope &scope) -> Status {
        Result<PlannedCall> call = evaluator.call(launch, scope);
        if (!call)
          return call.error();
        if (call->grid[0] == 0 || call->grid[1] == 0 || call->grid[2] == 0)
          return {};
        call->beside = launch.beside && last && last + 1 == &launch;
        last = &launch;
        calls.push_back(*std::move(call));
        return {};
      });
  if (!evaluated)
    return evaluated.error();
  return calls;
}

void *addressOf(const Place &place, std::span<void *const> tensors, void *workspace) {
  void *base = place.base == Place::workspace ? workspace : tensors[place.base];
  return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(base) +
                                  static_cast<std::uintptr_t>(place.offset));
}

static ArgValue valueOf(PlannedArg arg, std::span<void *const> tensors, void *workspace) {
  return std::visit(
      [&](auto &value) -> ArgValue {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Place>) {
          return addressOf(value, tensors, workspace);
        } else if constexpr (std::is_same_v<Value, PlannedMap>) {
          value.map.base = value.place ? addressOf(*value.place, tensors, workspace) : nullptr;
          return std::move(value.map);
        } else {
          return value;
        }
      },
      arg);
}

std::vector<void *> addressesOf(const Manifest &manifest, const Binding &binding) {
  std::vector<void *> addresses;
  for (const auto *group : {&manifest.inputs, &manifest.outputs})
    for (const TensorDecl &decl : *group) {
      auto bound = binding.tensors.find(decl.name);
      addresses.push_back(bound == binding.tensors.end() ? nullptr : bound->second.data);
    }
  return addresses;
}

Result<std::vector<KernelCall>> evaluate(const Manifest &manifest, const VariantDecl &variant,
                                         const Binding &binding, const Workspace &workspace,
                                         void *base) {
  Result<std::vector<PlannedCall>> planned = planCalls(manifest, variant, binding, workspace);
  if (!planned)
    return planned.error();
  std::vector<void *> tensors = addressesOf(manifest, binding);
  std::vector<KernelCall> calls;
  for (PlannedCall &call : *planned) {
    KernelCall made{call.kernel, call.grid, call.sharedBytes, {}, call.counters};
    for (PlannedArg &arg : call.args)
      made.args.push_back(valueOf(std::move(arg), tensors, base));
    made.beside = call.beside;
    if (call.guard)
      made.guard = addressOf(*call.guard, tensors, base);
    calls.push_back(std::move(made));
  }
  return calls;
}

void clearCounters(const KernelCall &call) {
  for (std::size_t index : call.counters)
    std::memset(std::get<void *>(call.args[index]), 0, sizeof(std::int32_t));
}

bool leavesCountersClear(const KernelCall &call) {
  return std::all_of(call.counters.begin(), call.counters.end(), [&](std::size_t index) {
    std::int32_t counter = 0;
    std::memcpy(&counter, std::get<void *>(call.args[index]), sizeof counter);
    return counter == 0;
  });
}

bool guardHolds(const KernelCall &call) {
  std::int32_t flag = 1;
  if (call.guard)
    std::memcpy(&flag, call.guard, sizeof flag);
  return flag != 0;
}

Status checkCudaGrid(std::string_view kernel, const std::array<std::int64_t, 3> &grid) {
  constexpr std::array<std::int64_t, 3> limits = {INT32_MAX, 65535, 65535};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (grid[axis] > limits[axis])
      return invalidArgument(fmt::format("kernel {}: the grid has {} blocks in {}, CUDA allows {}",
                                         kernel, grid[axis], "xyz"[axis], limits[axis]),
                             "split the batch into several calls");
  return {};
}

} // namespace attnc
