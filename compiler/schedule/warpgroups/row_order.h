// In which order the row tiles of a nest with a mask are taken.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUPS_ROW_ORDER_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUPS_ROW_ORDER_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// Blocks take the next row tile when they have done one, so long ones should not come last.
struct RowOrder {
  /// So many row tiles come before all others, those of all cells: the first rows, where they see
  /// much more of the stream than the ones after them.
  int64_t lead = 0;
  bool lastFirst = true; ///< the others: from the last rows to the first, or the other way round
};

/// The order that is done soonest at a reference shape. Of orders that are alike the default.
RowOrder rowOrder(red::NestOp nest, const StreamPlan &plan, int64_t rowTile, int64_t streamTile);

} // namespace attnc::schedule

#endif
