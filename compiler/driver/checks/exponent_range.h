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

/// The outputs of `program`, of which `written` are, if comparisons with NaN came out the other way
/// and exponentials that overflow were NaN: what differs from `written` is decided by comparing
/// what float64 does not hold, as `exp(800) / exp(800) > 0.2`. Elements that such a comparison
/// decides even if all exponents stay in range are those of `written`: there the NaN is the spec's
/// own. No outputs where the program has no exponentials or no comparisons. Errors: as evaluate.
llvm::Expected<evaluator::Outputs>
evaluateWithTurnedComparisons(attn::ProgramOp program, const evaluator::Outputs &written,
                              const evaluator::EvalInputs &inputs,
                              const evaluator::EvalOptions &options);

/// Nothing can be said of elements of `expected` that come from an exponential out of range.
void doubtOverflow(evaluator::Outputs &expected, const evaluator::Outputs &inRange);

} // namespace attnc::driver

#endif
