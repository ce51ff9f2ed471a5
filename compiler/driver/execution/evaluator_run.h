// A run of the evaluator in the place of a compiled program.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_EVALUATOR_RUN_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_EVALUATOR_RUN_H

#include "compiler/driver/execution/execute.h"
#include "compiler/evaluator/evaluator.h"

namespace attnc::driver {

/// Evaluates `program`, of which `manifest` names the tensors, as often as `request` says. Outputs
/// have the manifest's types. Error (InvalidArgument): the evaluator's.
Result<RunResult> runEvaluator(attn::ProgramOp program, const Manifest &manifest,
                               evaluator::Precision precision, const RunRequest &request);

} // namespace attnc::driver

#endif
