// 32-bit arithmetic for indices.
#ifndef ATTNC_COMPILER_SCHEDULE_CLEANUP_NARROW_INDICES_H
#define ATTNC_COMPILER_SCHEDULE_CLEANUP_NARROW_INDICES_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The largest extent of the row and stream dims of a kernel whose indices are narrowed.
inline constexpr int64_t kLargestExtent = int64_t(1) << 30;

/// Rewrites i64 arithmetic of a kernel with kCleanUpAttr as i32 where operands and result are sure
/// to fit, by intervals: rows and columns of maps, the `sizes` of that attribute, and results of
/// ops with kIndexAttr are between 0 and kLargestExtent. GPUs convert and compare 64-bit integers
/// several times slower.
void narrowIndices(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
