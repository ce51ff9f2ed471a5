// 32-bit arithmetic for indices.
#ifndef ATTNC_COMPILER_SCHEDULE_NARROW_INDICES_H
#define ATTNC_COMPILER_SCHEDULE_NARROW_INDICES_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The largest extent of the row and stream dims of a kernel whose indices are narrowed.
inline constexpr int64_t kLargestExtent = int64_t(1) << 30;

/// Rewrites i64 arithmetic of the kernel as i32 where operands and result are sure to fit, by
/// intervals: rows and columns of maps and the `indices` (and extents) given are between 0 and
/// kLargestExtent. GPUs convert and compare 64-bit integers several times slower.
void narrowIndices(tile::KernelOp kernel, mlir::ValueRange indices);

} // namespace attnc::schedule

#endif
