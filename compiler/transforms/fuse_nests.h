#ifndef ATTNC_COMPILER_TRANSFORMS_FUSE_NESTS_H
#define ATTNC_COMPILER_TRANSFORMS_FUSE_NESTS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Merges the folds of a red program into as few passes as the algebra allows.
///
/// A fold joins an earlier pass over the same dims if what it folds does not depend on the states
/// of that pass, or if it is a sum of few terms C(x) * exp(a(x) + b(g)) * B(g), where x varies
/// along the stream and g stands for states of the pass (terms.h). Each term becomes the state
/// sum of C * exp(a - max a); exp(max a + b(g)) and B(g) are applied after the stream. Folds over
/// dims that are neither dynamic nor normalised over stay inside the tiles (demotion) or follow
/// the stream, unless that would compute them again and again (docs/rationale/red.md, Partition).
/// A fold that fits nowhere starts a pass of its own, and the pass records which operation was in
/// the way.
void fuseNests(attn::ProgramOp program);

} // namespace attnc

#endif
