#ifndef ATTNC_COMPILER_TRANSFORMS_DESUGAR_H
#define ATTNC_COMPILER_TRANSFORMS_DESUGAR_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Rewrites softmax, logsumexp and mean into reductions and maps, with the values at the edges of
/// docs/spec.md: softmax over an empty row is 0, logsumexp of it is -inf. Runs first.
void desugar(attn::ProgramOp program);

} // namespace attnc

#endif
