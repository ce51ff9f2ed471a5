// Whether a program computes what is no number.
#ifndef ATTNC_COMPILER_DRIVER_CHECKS_UNDEFINED_VALUES_H
#define ATTNC_COMPILER_DRIVER_CHECKS_UNDEFINED_VALUES_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::driver {

/// True if no output is NaN or +inf; -inf is a maximum, or the logarithm of a sum, of a row without
/// keys. False of what cannot be evaluated.
bool hasDefinedOutputs(attn::ProgramOp program, const evaluator::EvalInputs &inputs);

/// True if some value of a formula is NaN, or infinite by a division by 0 or an overflow: the
/// outputs may leave that out, and gradients need not (docs/gradients.md). `program` is as the
/// frontend makes it.
bool computesUndefined(attn::ProgramOp program, const evaluator::EvalInputs &inputs);

} // namespace attnc::driver

#endif
