// Formulas whose exponentials leave the range of float64 as they are written.
#ifndef ATTNC_COMPILER_DRIVER_CHECKS_EXPONENT_RANGE_H
#define ATTNC_COMPILER_DRIVER_CHECKS_EXPONENT_RANGE_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::driver {

/// The outputs of `program` if the arguments of its exponentials stay where float64 holds the
/// result (-inf is kept): what differs from the program's own outputs comes from an exponential out
/// of range, exp(800) / exp(800) say, and is no reference for a kernel that combines exponents.
/// No outputs where the program has no exponentials. Errors: as evaluate.
llvm::Expected<evaluator::Outputs> evaluateInRange(attn::ProgramOp program,
                                                   const evaluator::EvalInputs &inputs,
                                                   const evaluator::EvalOptions &options);

/// The outputs of `program` if exponentials that overflow were NaN. Otherwise as evaluateInRange.
llvm::Expected<evaluator::Outputs> evaluateWithoutOverflow(attn::ProgramOp program,
                                                           const evaluator::EvalInputs &inputs,
                                                           const evaluator::EvalOptions &options);

/// The outputs of `program` if sums that are infinite were NaN: what differs from the program's own
/// outputs comes from such a sum. Its terms may be 0 * inf once it is computed in another order.
llvm::Expected<evaluator::Outputs>
evaluateWithoutInfiniteSums(attn::ProgramOp program, const evaluator::EvalInputs &inputs,
                            const evaluator::EvalOptions &options);

/// The outputs of `program` if comparisons with NaN came out the other way and exponentials that
/// overflow were NaN: what differs from the program's own outputs is decided by comparing what is
/// undefined. No outputs where the program has no comparisons. Errors: as evaluate.
llvm::Expected<evaluator::Outputs>
evaluateWithTurnedComparisons(attn::ProgramOp program, const evaluator::EvalInputs &inputs,
                              const evaluator::EvalOptions &options);

/// The same, of a program of which `written` are the outputs, with those elements that such a
/// comparison decides even if all exponents stay in range as in `written`: there the NaN is the
/// spec's own. What differs is decided by comparing what float64 does not hold, as
/// `exp(800) / exp(800) > 0.2`. No outputs, too, where the program has no exponentials.
llvm::Expected<evaluator::Outputs>
evaluateWithTurnedOverflow(attn::ProgramOp program, const evaluator::Outputs &written,
                           const evaluator::EvalInputs &inputs,
                           const evaluator::EvalOptions &options);

/// Nothing can be said of elements of `expected` that come from an exponential out of range.
void doubtOverflow(evaluator::Outputs &expected, const evaluator::Outputs &inRange);

} // namespace attnc::driver

#endif
