// The executor of GPU targets.
#ifndef ATTNC_COMPILER_DRIVER_CUDA_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_CUDA_EXECUTOR_H

#include "compiler/driver/execute.h"

namespace attnc::driver {

/// Loads the program's kernels on `device`.
Result<std::unique_ptr<Executor>> makeCudaExecutor(const Compilation &compilation,
                                                   std::shared_ptr<const CudaDevice> device);

} // namespace attnc::driver

#endif
