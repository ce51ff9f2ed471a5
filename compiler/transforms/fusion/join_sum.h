#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_JOIN_SUM_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_JOIN_SUM_H

#include "compiler/transforms/fusion/pass_states.h"

namespace attnc {

/// Computes a sum by states of a pass on whose states it depends: one or more for each of its
/// terms, and arithmetic of the epilogue. False if it has no such form: then terms.refusal() says
/// why and nothing has changed.
bool joinSum(red::FoldOp fold, PassStates states, Terms &terms);

/// The same of a sum of exponentials that nothing bounds, also where it depends on no state: each
/// exponential is taken relative to its own running maximum. False for any other fold.
bool joinWeights(red::FoldOp fold, PassStates states);

} // namespace attnc

#endif
