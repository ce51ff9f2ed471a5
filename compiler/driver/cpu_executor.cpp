#include "compiler/driver/cpu_executor.h"
#include "compiler/driver/guarded_memory.h"
#include "compiler/driver/run_times.h"
#include "runtime/program/launch.h"

#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace attnc::driver {

namespace {

/// An argument as the 64-bit word that CpuExecutable takes.
uint64_t wordOf(const ArgValue &value) {
  uint64_t word = 0;
  std::visit(
      [&](auto v) {
        static_assert(sizeof(v) <= sizeof(word));
        std::memcpy(&word, &v, sizeof(v));
      },
      value);
  return word;
}

/// A kernel call with its arguments ready.
struct Call {
  unsigned nest;
  std::vector<uint64_t> args;
};

/// The memory of one run.
struct Memory {
  std::map<std::string, GuardedHostMemory> inputs, outputs;
  GuardedHostMemory workspace;

  void poison() const {
    for (const auto &[name, memory] : outputs)
      memory.poison();
    workspace.poison();
  }
  Status checkGuards() const {
    for (const auto *group : {&inputs, &outputs})
      for (const auto &[name, memory] : *group)
        if (Status intact = memory.checkGuards(); !intact)
          return intact;
    return workspace.checkGuards();
  }
};

class CpuExecutor : public Executor {
public:
  explicit CpuExecutor(const Compilation &compilation)
      : Executor(compilation.program.manifest), executable(compilation.cpu) {}

  Result<RunResult> run(const RunRequest &request) const override;

private:
  Result<BindRequest> allocate(const RunRequest &request, Memory &memory) const;
  Result<std::vector<Call>> plan(const Binding &binding, Memory &memory) const;
  unsigned nestOf(const std::string &kernel) const;

  std::shared_ptr<const cpu::CpuExecutable> executable;
};

/// Kernels and nests both stand in program order.
unsigned CpuExecutor::nestOf(const std::string &kernel) const {
  return manifest().findKernel(kernel) - manifest().kernels.data();
}

Result<BindRequest> CpuExecutor::allocate(const RunRequest &request, Memory &memory) const {
  Result<Scope> sizes = sizesOf(manifest(), request);
  if (!sizes)
    return sizes.error();
  BindRequest bound;
  bound.params = request.params;
  bound.extraSizes = extraSizes(manifest(), request);
  for (const auto &[name, tensor] : request.inputs) {
    auto block = GuardedHostMemory::allocate(name, tensor.data.size());
    if (!block)
      return block.error();
    std::memcpy(block->data(), tensor.data.data(), tensor.data.size());
    bound.inputs[name] = TensorRef::contiguous(block->data(), tensor.dtype, tensor.shape);
    memory.inputs.emplace(name, std::move(*block));
  }
  for (const TensorDecl &output : manifest().outputs) {
    Result<std::vector<int64_t>> shape = shapeOf(output, *sizes);
    if (!shape)
      return shape.error();
    size_t bytes =
        std::accumulate(shape->begin(), shape->end(), dtypeSize(output.dtype), std::multiplies<>());
    auto block = GuardedHostMemory::allocate(output.name, bytes);
    if (!block)
      return block.error();
    bound.outputs[output.name] = TensorRef::contiguous(block->data(), output.dtype, *shape);
    memory.outputs.emplace(output.name, std::move(*block));
  }
  return bound;
}

Result<std::vector<Call>> CpuExecutor::plan(const Binding &binding, Memory &memory) const {
  Result<const VariantDecl *> variant = chooseVariant(manifest(), binding);
  if (!variant)
    return variant.error();
  Result<Workspace> workspace = planWorkspace(manifest(), **variant, binding);
  if (!workspace)
    return workspace.error();
  auto block = GuardedHostMemory::allocate("workspace", workspace->bytes);
  if (!block)
    return block.error();
  memory.workspace = std::move(*block);
  Result<std::vector<KernelCall>> calls =
      attnc::evaluate(manifest(), **variant, binding, *workspace, memory.workspace.data());
  if (!calls)
    return calls.error();
  std::vector<Call> list;
  for (const KernelCall &call : *calls) {
    list.push_back({nestOf(call.kernel), {}});
    for (const ArgValue &value : call.args)
      list.back().args.push_back(wordOf(value));
  }
  return list;
}

Result<RunResult> CpuExecutor::run(const RunRequest &request) const {
  Memory memory;
  Result<BindRequest> bound = allocate(request, memory);
  if (!bound)
    return bound.error();
  Result<Binding> binding = bind(manifest(), *bound);
  if (!binding)
    return binding.error();
  Result<std::vector<Call>> calls = plan(*binding, memory);
  if (!calls)
    return calls.error();

  std::vector<double> times;
  for (unsigned run = 0; run < request.warmup + std::max(request.repeat, 1u); ++run) {
    memory.poison();
    auto start = std::chrono::steady_clock::now();
    for (const Call &call : *calls)
      executable->run(call.nest, call.args);
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (run >= request.warmup)
      times.push_back(time.count());
  }
  if (Status intact = memory.checkGuards(); !intact)
    return intact.error();

  RunResult result;
  result.milliseconds = median(std::move(times));
  for (const TensorDecl &output : manifest().outputs) {
    const GuardedHostMemory &block = memory.outputs.at(output.name);
    result.outputs[output.name] = {output.dtype,
                                   bound->outputs.at(output.name).shape,
                                   {block.data(), block.data() + block.bytes()}};
  }
  return result;
}

} // namespace

Result<std::unique_ptr<Executor>> makeCpuExecutor(const Compilation &compilation) {
  if (!compilation.cpu || compilation.cpu->size() != compilation.program.manifest.kernels.size())
    return internalError(fmt::format("the compilation of '{}' holds {} nests for {} kernels",
                                     compilation.name,
                                     compilation.cpu ? compilation.cpu->size() : 0,
                                     compilation.program.manifest.kernels.size()));
  return std::unique_ptr<Executor>(std::make_unique<CpuExecutor>(compilation));
}

} // namespace attnc::driver
