#ifndef ATTNC_COMPILER_TRANSFORMS_MASK_INTERVALS_H
#define ATTNC_COMPILER_TRANSFORMS_MASK_INTERVALS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Gives each nest over one stream dim a domain (see red.nest) from the conditions in its step:
/// the interval of the stream outside of which every state stays at its identity for a tile of
/// rows, and when a tile needs no mask. Conditions are combinations of comparisons of integers
/// that are linear in the indices; anything else counts as unknown. Runs after fuse-nests.
void maskIntervals(attn::ProgramOp program);

} // namespace attnc

#endif
