// What evaluations in float64 may differ by.
#ifndef ATTNC_COMPILER_DRIVER_CHECKS_FLOAT64_BOUNDS_H
#define ATTNC_COMPILER_DRIVER_CHECKS_FLOAT64_BOUNDS_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::driver {

/// The outputs of `program` with the bounds of an implementation that computes and stores all
/// floats as f64. Those of f32 times the ratio of the units are no such bounds where an error is
/// not linear: near 0 that of a root is the root of an error, and a comparison is in doubt or it is
/// not. Empty for a program that rounds computed values to 16 bits itself: where it does, one unit
/// of 16 bits is all that any bound says. Error: the program cannot be evaluated.
llvm::Expected<evaluator::Outputs> evaluateInFloat64(attn::ProgramOp program,
                                                     const evaluator::EvalInputs &inputs,
                                                     const evaluator::EvalOptions &options);

} // namespace attnc::driver

#endif
