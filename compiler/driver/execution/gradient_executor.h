#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_GRADIENT_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_GRADIENT_EXECUTOR_H

#include "compiler/driver/execution/execute.h"

namespace attnc::driver {

/// The executor that `make` gives of a compilation. With gradients, one that runs the forward and
/// then the backward program as the one program that the two mean (GradientSpecs::whole): outputs
/// of the forward that the backward takes as inputs are passed on. Errors: those of `make`.
Result<std::unique_ptr<Executor>>
withBackward(const Compilation &compilation,
             llvm::function_ref<Result<std::unique_ptr<Executor>>(const Compilation &)> make);

} // namespace attnc::driver

#endif
