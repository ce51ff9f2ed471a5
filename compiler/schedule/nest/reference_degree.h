// Which results of a nest depend on how far a running maximum lags.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_REFERENCE_DEGREE_H
#define ATTNC_COMPILER_SCHEDULE_NEST_REFERENCE_DEGREE_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// True if some result of the nest may change when `reference`, a max fold that exponents are
/// relative to, is replaced by another value r after the stream: every sum against it then is
/// exp(maximum - r) times what red.fold says. False only if that is proven: the results are
/// quotients and the like, in which the factor cancels. Where it is true, the maximum has to be
/// exact before the results are computed.
bool dependsOnReference(red::NestOp nest, red::FoldOp reference);

/// True if some result may be off by more than a rounding of the maximum would make it, when every
/// sum against `reference` is off by one factor that is as near to 1 as exp(u * maximum), u being
/// the unit of rounding. False only if that is proven: besides what does not depend on the
/// reference, it holds of log(sum) + maximum.
bool dependsOnRounding(red::NestOp nest, red::FoldOp reference);

/// True if a centre of moments may change in the same way. What the centre is along the stream then
/// is only near the elements if the maximum is exact there as well.
bool centresDependOnReference(red::NestOp nest, red::FoldOp reference);

} // namespace attnc::schedule

#endif
