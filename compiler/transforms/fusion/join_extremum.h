#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_JOIN_EXTREMUM_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_JOIN_EXTREMUM_H

#include "compiler/transforms/fusion/pass_states.h"

namespace attnc {

/// Computes a maximum or minimum by a state of a pass on whose states it depends: of a sum, that of
/// what varies along the stream; of what is proven to grow or to fall, that of its argument. False
/// if it has no such form: then terms.refusal() says why and nothing has changed.
bool joinExtremum(red::FoldOp fold, PassStates states, Terms &terms);

/// min(-x) becomes -max(x): so that there is one maximum, however it is written.
void turnMinimum(red::FoldOp fold);

} // namespace attnc

#endif
