// Sums over rows, in the pass that makes their weights.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_JOIN_SUMS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_JOIN_SUMS_H

#include "compiler/schedule/model/gpu_model.h"
#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// Beside wider sums there is no room for two groups, and tiles of rows do not fit.
inline constexpr int64_t kJoinedColumns = 128;

/// Where two nests with rows and stream exchanged multiply the same weights: the one that has more
/// of them, which need different scores, computes the sums of the other, too, over its rows. Each
/// of its blocks adds what its rows give to memory (RowSum), in any order, and a nest behind it
/// makes the results of the sums. The updates of the new folds are still to be derived. True if
/// there were such nests.
bool joinSums(attn::ProgramOp program);

/// Whether the joined sums of a program save more than their memory costs: scores that no other
/// nest computes again, beside what is cleared, read and stored once more. At extents that the
/// model assumes, where they are not known.
bool areSumsWorthIt(attn::ProgramOp program, const GpuModel &machine);

} // namespace attnc::schedule

#endif
