// A compiled program in emulated f32, to tell an error of a kernel's arithmetic from a bug.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_EMULATED_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_EMULATED_EXECUTOR_H

#include "compiler/driver/execution/execute.h"

namespace attnc::driver {

/// Evaluates the nests of `compilation` (from Stage::Red on) in emulated f32: operands rounded as
/// scheduled, sums in f32, outputs in their storage types. What the kernels compute differs from
/// this by the order of sums and the rescaling of running maxima only. Error (Internal): the IR of
/// the compilation was not kept (CompileOptions::keepTexts), or does not parse.
Result<std::unique_ptr<Executor>> makeEmulatedExecutor(const Compilation &compilation);

} // namespace attnc::driver

#endif
