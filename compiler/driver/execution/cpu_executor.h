// The executor of the target "cpu".
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_CPU_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_CPU_EXECUTOR_H

#include "compiler/driver/execution/execute.h"
#include "runtime/program/call_layout.h"

namespace attnc::driver {

/// Runs the calls of a layout, in this thread, on tensors by slot and a workspace: clears counters,
/// reads guards.
void runCalls(const cpu::CpuExecutable &executable, const CallLayout &layout,
              llvm::ArrayRef<void *> tensors, void *workspace);

/// Error (Internal): `compilation` holds no code for the processor.
Result<std::unique_ptr<Executor>> makeCpuExecutor(const Compilation &compilation);

} // namespace attnc::driver

#endif
