// The executor of GPU targets without a GPU: the tile interpreter.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_INTERPRETER_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_INTERPRETER_EXECUTOR_H

#include "compiler/driver/execution/execute.h"

namespace attnc::driver {

struct InterpreterOptions {
  /// Each run executes every kernel once for each of these orders of warps and asynchronous ops.
  std::vector<uint64_t> seeds = {0, 1, 2, 6};
  /// Of the GPU that is imagined: few, so that persistent blocks have several tiles.
  int64_t multiprocessors = 2;
};

/// Runs the kernels of `compilation` (of a GPU target, at least up to Stage::Tile) in the tile
/// interpreter. A run's Error (Internal) is the first fault that it finds, or says that results
/// depend on the order. Error (Internal) of this function: a kernel that it cannot run.
Result<std::unique_ptr<Executor>> makeInterpreterExecutor(const Compilation &compilation,
                                                          InterpreterOptions options = {});

} // namespace attnc::driver

#endif
