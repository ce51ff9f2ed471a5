// The executor of the target "cpu".
#ifndef ATTNC_COMPILER_DRIVER_CPU_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_CPU_EXECUTOR_H

#include "compiler/driver/execute.h"

namespace attnc::driver {

/// Error (Internal): `compilation` holds no code for the processor.
Result<std::unique_ptr<Executor>> makeCpuExecutor(const Compilation &compilation);

} // namespace attnc::driver

#endif
