#include "compiler/driver/cpu_executor.h"
#include "compiler/driver/host_memory.h"
#include "compiler/driver/run_times.h"
#include "runtime/program/launch.h"

#include <chrono>
#include <cstring>
#include <fmt/format.h>

namespace attnc::driver {

namespace {

/// An argument as the 64-bit word that CpuExecutable takes.
uint64_t wordOf(const ArgValue &value) {
  uint64_t word = 0;
  std::visit(
      [&](const auto &v) { // no manifest for the cpu has tensor maps
        if constexpr (!std::is_same_v<decltype(v), const TensorMapArg &>) {
          static_assert(sizeof(v) <= sizeof(word));
          std::memcpy(&word, &v, sizeof(v));
        }
      },
      value);
  return word;
}

/// A kernel call with its arguments ready.
struct Call {
  unsigned nest;
  std::vector<uint64_t> args;
};

class CpuExecutor : public Executor {
public:
  explicit CpuExecutor(const Compilation &compilation)
      : Executor(compilation.program.manifest), executable(compilation.cpu) {}

  Result<RunResult> run(const RunRequest &request) const override;

private:
  Result<std::vector<Call>> plan(const Binding &binding, HostMemory &memory) const;
  unsigned nestOf(const std::string &kernel) const;

  std::shared_ptr<const cpu::CpuExecutable> executable;
};

/// Kernels and nests both stand in program order.
unsigned CpuExecutor::nestOf(const std::string &kernel) const {
  return manifest().findKernel(kernel) - manifest().kernels.data();
}

Result<std::vector<Call>> CpuExecutor::plan(const Binding &binding, HostMemory &memory) const {
  Result<HostMemory::Plan> plan = memory.plan(manifest(), binding);
  if (!plan)
    return plan.error();
  std::vector<Call> list;
  for (const KernelCall &call : plan->calls) {
    list.push_back({nestOf(call.kernel), {}});
    for (const ArgValue &value : call.args)
      list.back().args.push_back(wordOf(value));
  }
  return list;
}

Result<RunResult> CpuExecutor::run(const RunRequest &request) const {
  HostMemory memory;
  Result<BindRequest> bound = memory.allocate(manifest(), request);
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
  if (Status intact = memory.checkGuards(*bound); !intact)
    return intact.error();

  RunResult result;
  result.milliseconds = median(std::move(times));
  result.outputs = memory.readOutputs(*bound);
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
