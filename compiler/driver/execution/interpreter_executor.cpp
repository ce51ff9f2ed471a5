#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/execution/gradient_executor.h"
#include "compiler/driver/execution/host_memory.h"
#include "compiler/interpreter/interpreter.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "runtime/program/disjoint.h"

#include <chrono>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::driver {

namespace {

constexpr const char *kReport = "report this with the spec";

struct InterpretedKernel;

/// A call of a kernel of a chain. An argument is one of the launch, a number, or a place in the
/// shared memory.
struct InterpretedCall {
  struct Argument {
    std::optional<unsigned> number;
    std::optional<int64_t> value;
    int64_t offset = 0;
  };
  const InterpretedKernel *callee;
  std::vector<Argument> args;
};

/// A kernel of the program, parsed from what the compilation shows of it.
struct InterpretedKernel {
  std::optional<interpreter::KernelInterpreter> interpreter;
  /// Not empty: each block does what a block of these does, one after the other.
  std::vector<InterpretedCall> calls;
  size_t sharedBytes = 0; ///< of the block that calls
  /// The order of blocks decides the order of a sum.
  bool addsInAnyOrder = false;
};

class InterpreterExecutor : public Executor {
public:
  InterpreterExecutor(Manifest plan, InterpreterOptions options)
      : Executor(std::move(plan)), options(std::move(options)),
        context(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)) {
    loadDialects(*context);
  }

  /// `text` is a kernel in the tile dialect, after its companions; their names in the manifest
  /// begin with `prefix`.
  Status add(const std::string &prefix, const std::string &text);
  Result<RunResult> run(const RunRequest &request) const override;

private:
  struct Plan {
    std::vector<KernelCall> calls;
    std::vector<interpreter::GlobalRange> ranges;
  };
  Result<Plan> plan(const Binding &binding, HostMemory &memory) const;
  Status runOnce(const Plan &plan, uint64_t seed) const;

  InterpreterOptions options;
  std::unique_ptr<MLIRContext> context;
  std::vector<OwningOpRef<ModuleOp>> modules; // whose kernels these are
  std::map<std::string, InterpretedKernel> kernels;
};

std::vector<InterpretedCall::Argument> argumentsOf(tile::CallOp call) {
  std::vector<InterpretedCall::Argument> args;
  for (Value operand : call.getOperands()) {
    InterpretedCall::Argument &arg = args.emplace_back();
    if (auto number = dyn_cast<BlockArgument>(operand))
      arg.number = number.getArgNumber();
    else if (auto shared = operand.getDefiningOp<tile::SharedOp>())
      arg.offset = shared.getOffset();
    else
      arg.value = getConstantIntValue(operand);
  }
  return args;
}

Status InterpreterExecutor::add(const std::string &prefix, const std::string &text) {
  std::string problem;
  ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    problem += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module || module->getOps<tile::KernelOp>().empty())
    return internalError("tile IR cannot be read: " + problem, kReport);
  for (auto kernel : module->getOps<tile::KernelOp>()) {
    InterpretedKernel &entry = kernels[prefix + kernel.getSymName().str()];
    for (auto call : kernel.getBodyBlock()->getOps<tile::CallOp>())
      entry.calls.push_back({&kernels.at(prefix + call.getCallee().str()), argumentsOf(call)});
    entry.sharedBytes = kernel.getSmem();
    if (!entry.calls.empty())
      continue;
    kernel.walk([&](tile::AddBulkOp) { entry.addsInAnyOrder = true; });
    kernel.walk([&](tile::StoreBoxOp store) { entry.addsInAnyOrder |= store.getAdds(); });
    auto compiled = interpreter::KernelInterpreter::compile(kernel, text);
    if (!compiled)
      return internalError(llvm::toString(compiled.takeError()), kReport);
    entry.interpreter = std::move(*compiled);
  }
  modules.push_back(std::move(module));
  return {};
}

interpreter::GlobalRange rangeOf(const std::string &name, const TensorRef &tensor, bool writable) {
  return {name, static_cast<std::byte *>(tensor.data), static_cast<size_t>(*spanBytes(tensor)),
          writable};
}

Result<InterpreterExecutor::Plan> InterpreterExecutor::plan(const Binding &binding,
                                                            HostMemory &memory) const {
  Result<HostMemory::Plan> planned = memory.plan(manifest(), binding);
  if (!planned)
    return planned.error();
  Plan plan{std::move(planned->calls), {}};
  for (const auto &[name, tensor] : binding.tensors) {
    bool output = llvm::any_of(manifest().outputs, [&](auto &decl) { return decl.name == name; });
    plan.ranges.push_back(rangeOf(name, tensor, output));
  }
  for (const auto &[name, offset] : planned->workspace.offsets) {
    const TensorDecl &decl = *manifest().findTensor(name);
    Result<TensorRef> tensor = intermediateAt(planned->base + offset, decl, binding.scope);
    if (!tensor)
      return tensor.error();
    Result<int64_t> bytes = intermediateBytes(decl, *tensor, binding.scope);
    if (!bytes)
      return bytes.error();
    plan.ranges.push_back({name, static_cast<std::byte *>(tensor->data),
                           static_cast<size_t>(*bytes), /*writable=*/true});
  }
  for (int64_t offset : planned->workspace.counters)
    plan.ranges.push_back({"a counter", planned->base + offset, sizeof(int32_t), true});
  return plan;
}

// A block of a chain finds what it reads in memory, or what is poisoned: the cells are computed in
// any order.
llvm::Error runChain(const InterpretedKernel &chain, const interpreter::Launch &launch,
                     uint64_t seed) {
  std::vector<std::byte> shared(chain.sharedBytes);
  interpreter::Launch own{{}, 1, launch.memory};
  for (const InterpretedCall &call : chain.calls)
    for (const InterpretedCall::Argument &arg : call.args)
      if (!arg.number && !arg.value)
        own.memory.push_back({"the shared memory of a chain", &shared[arg.offset],
                              shared.size() - arg.offset, true});
  for (int64_t i = 0; i < launch.blocks; ++i) {
    std::ranges::fill(shared, std::byte(0xff));
    own.first = launch.first + (seed % 2 ? i : launch.blocks - 1 - i);
    for (const InterpretedCall &call : chain.calls) {
      own.args.clear();
      for (const InterpretedCall::Argument &arg : call.args)
        own.args.push_back(arg.number  ? launch.args[*arg.number]
                           : arg.value ? ArgValue(*arg.value)
                                       : ArgValue(static_cast<void *>(&shared[arg.offset])));
      if (llvm::Error fault = call.callee->interpreter->run(own, seed + i))
        return fault;
    }
  }
  return llvm::Error::success();
}

llvm::Error runKernel(const InterpretedKernel &kernel, const interpreter::Launch &launch,
                      uint64_t seed) {
  return kernel.calls.empty() ? kernel.interpreter->run(launch, seed)
                              : runChain(kernel, launch, seed);
}

// All calls, those that may run side by side the last one first: what one of them stores has to be
// nothing to the others.
static std::vector<const KernelCall *> besidesReversed(const std::vector<KernelCall> &calls) {
  std::vector<const KernelCall *> order;
  for (auto from = calls.begin(); from != calls.end();) {
    auto to =
        std::find_if(from + 1, calls.end(), [](const KernelCall &call) { return !call.beside; });
    for (auto call = to; call != from;)
      order.push_back(&*--call);
    from = to;
  }
  return order;
}

Status InterpreterExecutor::runOnce(const Plan &plan, uint64_t seed) const {
  for (const KernelCall *each : besidesReversed(plan.calls)) {
    const KernelCall &call = *each;
    clearCounters(call);
    interpreter::Launch launch{call.args, call.grid[0] * call.grid[1] * call.grid[2], plan.ranges};
    if (llvm::Error fault = runKernel(kernels.at(call.kernel), launch, seed))
      return internalError(fmt::format("{}\n  (order {} of warps and asynchronous ops)",
                                       llvm::toString(std::move(fault)), seed),
                           kReport);
    if (!leavesCountersClear(call))
      return internalError(fmt::format("{} leaves a counter that is not 0", call.kernel), kReport);
  }
  return {};
}

Result<RunResult> InterpreterExecutor::run(const RunRequest &request) const {
  HostMemory memory;
  Result<BindRequest> bound = memory.allocate(manifest(), request);
  if (!bound)
    return bound.error();
  Result<Binding> binding = bind(manifest(), *bound);
  if (!binding)
    return binding.error();
  if (Status status = addMachineSizes(manifest(), binding->scope, options.multiprocessors); !status)
    return status.error();
  Result<Plan> plan = this->plan(*binding, memory);
  if (!plan)
    return plan.error();

  bool repeatable =
      llvm::none_of(kernels, [](auto &kernel) { return kernel.second.addsInAnyOrder; });
  std::vector<uint64_t> seeds = options.seeds;
  if (llvm::none_of(kernels, [](auto &kernel) {
        return !kernel.second.calls.empty() || kernel.second.interpreter->hasOrders();
      }))
    seeds.resize(1);
  RunResult result;
  for (uint64_t seed : seeds) {
    memory.poison();
    auto start = std::chrono::steady_clock::now();
    if (Status status = runOnce(*plan, seed); !status)
      return status.error();
    result.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::map<std::string, HostTensor> outputs = memory.readOutputs(*bound);
    for (const auto &[name, before] : result.outputs)
      if (repeatable && before.data != outputs.at(name).data)
        return internalError(
            fmt::format("the bytes of '{}' depend on the order of warps and asynchronous ops: "
                        "order {} gives others than the ones before",
                        name, seed),
            kReport);
    result.outputs = std::move(outputs);
  }
  if (Status intact = memory.checkGuards(*bound); !intact)
    return intact.error();
  return result;
}

} // namespace

static Result<std::unique_ptr<Executor>> interpretOne(const Compilation &compilation,
                                                      const InterpreterOptions &options) {
  auto executor = std::make_unique<InterpreterExecutor>(compilation.program.manifest, options);
  auto addAll = [&](const std::string &prefix, ArrayRef<NestReport> nests) -> Status {
    for (const NestReport &nest : nests)
      if (!nest.tile.empty()) // else with the first of its chain
        if (Status status = executor->add(prefix, nest.tile); !status)
          return status;
    return {};
  };
  if (Status status = addAll("", compilation.nests); !status)
    return status.error();
  for (const VariantNests &variant : compilation.variants)
    if (Status status = addAll(variant.prefix, variant.nests); !status)
      return status.error();
  for (const AlignedCopy &copy : compilation.copies.tensors)
    if (Status status = executor->add("", copy.tile); !status)
      return status.error();
  return std::unique_ptr<Executor>(std::move(executor));
}

Result<std::unique_ptr<Executor>> makeInterpreterExecutor(const Compilation &compilation,
                                                          InterpreterOptions options) {
  return withBackward(compilation,
                      [&](const Compilation &one) { return interpretOne(one, options); });
}

} // namespace attnc::driver
