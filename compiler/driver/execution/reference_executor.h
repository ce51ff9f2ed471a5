// The reference evaluator behind the interface of compiled programs.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_REFERENCE_EXECUTOR_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_REFERENCE_EXECUTOR_H

#include "compiler/driver/execution/execute.h"

namespace attnc::driver {

/// The name of the target that is no target: what a spec means, evaluated.
inline constexpr const char *referenceTarget = "reference";

/// Evaluates `spec` as it was before any pass, in float64. Inputs have the types of the spec;
/// outputs of real numbers are f64, not rounded to the spec's type, the others have the spec's.
/// A run's Error (InvalidArgument) is the evaluator's. `spec` has to outlive the executor.
std::unique_ptr<Executor> makeReferenceExecutor(const Spec &spec);

} // namespace attnc::driver

#endif
