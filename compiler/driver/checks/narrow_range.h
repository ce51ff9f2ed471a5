// Formulas whose intermediate values leave the range of f32 as they are written.
#ifndef ATTNC_COMPILER_DRIVER_CHECKS_NARROW_RANGE_H
#define ATTNC_COMPILER_DRIVER_CHECKS_NARROW_RANGE_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::driver {

/// The outputs of `program`, which is desugared, if every real of its own that f32 cannot hold
/// although it is finite (exp(100), a product of 40 large factors) were NaN. What differs from the
/// program's own outputs is computed from such a value, which is infinite in f32: the language says
/// nothing of it, however the program is rewritten. In fold form (toFoldForm) sums count without
/// the factors that leave them. Errors: as evaluate.
llvm::Expected<evaluator::Outputs> evaluateWithinF32(attn::ProgramOp program,
                                                     const evaluator::EvalInputs &inputs,
                                                     const evaluator::EvalOptions &options);

} // namespace attnc::driver

#endif
