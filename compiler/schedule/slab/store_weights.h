// Weights that several products read, through memory.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_STORE_WEIGHTS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_STORE_WEIGHTS_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// On a nest: it stores, or multiplies, values of pairs of positions that lie in memory for some
/// cells at a time, indices of its grid dims: in so many bytes (i64), the slab. The nests that have
/// it follow each other and have the same grid.
inline constexpr llvm::StringLiteral kSlabAttr = "red.slab";

/// Of products with as many columns the weights are worth storing: registers leave no room for
/// wider ones. In a trial on an H200, of which no record is kept, D192 gained and D128 lost.
inline constexpr int64_t kSlabColumns = 192;

/// Where nests compute the same weights from products of `columns` columns or more, and multiply
/// them with 16-bit tensors: gives nests of their own to the weights, which are stored with 16
/// bits, as products take them, in a slab of so many bytes, and makes each of those nests products
/// of stored tiles, whose updates are still to be derived. True if there were any.
bool storeWeights(attn::ProgramOp program, int64_t bytes, int64_t columns = 0);

} // namespace attnc::schedule

#endif
