// Sums over rows, in the pass that makes their weights.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_JOIN_SUMS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_JOIN_SUMS_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// Of wider sums the terms of a tile take more registers than are left for them.
inline constexpr int64_t kJoinedColumns = 128;

/// Where two nests with rows and stream exchanged multiply the same weights: the one with more of
/// them computes the sums of the other, too, over its rows. Each of its blocks adds what its rows
/// give to memory (RowSum), in any order, and a nest behind it makes the results of the sums. The
/// updates of the new folds are still to be derived. True if there were such nests.
bool joinSums(attn::ProgramOp program);

} // namespace attnc::schedule

#endif
