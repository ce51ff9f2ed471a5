#include "compiler/driver/execution/cpu_executor.h"
#include "compiler/driver/execution/host_memory.h"
#include "compiler/driver/execution/run_times.h"

#include <chrono>
#include <cstring>
#include <fmt/format.h>

namespace attnc::driver {

namespace {

class CpuExecutor : public Executor {
public:
  explicit CpuExecutor(const Compilation &compilation)
      : Executor(compilation.program.manifest), executable(compilation.cpu) {}

  Result<RunResult> run(const RunRequest &request) const override;

private:
  std::shared_ptr<const cpu::CpuExecutable> executable;
};

Result<RunResult> CpuExecutor::run(const RunRequest &request) const {
  HostMemory memory;
  Result<BindRequest> bound = memory.allocate(manifest(), request);
  if (!bound)
    return bound.error();
  Result<Binding> binding = bind(manifest(), *bound);
  if (!binding)
    return binding.error();
  Result<CallLayout> layout = planLayout(manifest(), *binding);
  if (!layout)
    return layout.error();
  Result<void *> workspace = memory.allocateWorkspace(layout->workspace.bytes);
  if (!workspace)
    return workspace.error();
  std::vector<void *> tensors = addressesOf(manifest(), *binding);

  std::vector<double> times;
  for (unsigned run = 0; run < request.warmup + std::max(request.repeat, 1u); ++run) {
    memory.poison();
    auto start = std::chrono::steady_clock::now();
    runCalls(*executable, *layout, tensors, *workspace);
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

void runCalls(const cpu::CpuExecutable &executable, const CallLayout &layout,
              llvm::ArrayRef<void *> tensors, void *workspace) {
  std::vector<uint64_t> words = layout.words;
  patchWords(layout.ofTensors, tensors, workspace, words);
  patchWords(layout.ofWorkspace, tensors, workspace, words);
  for (const CallLayout::Call &call : layout.calls) {
    if (call.guard) {
      int32_t flag = 0;
      std::memcpy(&flag, addressOf(*call.guard, tensors, workspace), sizeof flag);
      if (flag == 0)
        continue;
    }
    // No program for the cpu has tensor maps, so all arguments are words, in order. Kernels and
    // nests both stand in program order.
    size_t first = call.arguments == 0 ? 0 : layout.arguments[call.first].index;
    executable.run(static_cast<unsigned>(call.kernel),
                   llvm::ArrayRef(words).slice(first, call.arguments));
  }
}

Result<std::unique_ptr<Executor>> makeCpuExecutor(const Compilation &compilation) {
  if (!compilation.cpu || compilation.cpu->size() != compilation.program.manifest.kernels.size())
    return internalError(fmt::format("the compilation of '{}' holds {} nests for {} kernels",
                                     compilation.name,
                                     compilation.cpu ? compilation.cpu->size() : 0,
                                     compilation.program.manifest.kernels.size()));
  return std::unique_ptr<Executor>(std::make_unique<CpuExecutor>(compilation));
}

} // namespace attnc::driver
