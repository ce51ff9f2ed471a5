// The executor of GPU targets.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_CUDA_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_CUDA_EXECUTOR_H

#include "compiler/driver/execution/execute.h"
#include "runtime/program/loaded_program.h"

namespace attnc::driver {

/// The program on `device`, with the images that wait for the first launch that needs them: what is
/// made of one serves every device and outlives the compilation.
Result<std::unique_ptr<LoadedProgram>> loadCompiled(const Compilation &compilation,
                                                    std::shared_ptr<const CudaDevice> device);

/// Loads the program's kernels on `device`.
Result<std::unique_ptr<Executor>> makeCudaExecutor(const Compilation &compilation,
                                                   std::shared_ptr<const CudaDevice> device);

} // namespace attnc::driver

#endif
