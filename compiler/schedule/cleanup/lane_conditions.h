// Conditions of columns that read memory.
#ifndef ATTNC_COMPILER_SCHEDULE_CLEANUP_LANE_CONDITIONS_H
#define ATTNC_COMPILER_SCHEDULE_CLEANUP_LANE_CONDITIONS_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// A condition of a map over a fragment that depends on the column alone and reads memory, such as
/// whether a key counts, is asked once for each column: each lane of the warp asks for its share of
/// them before the map, and the elements look at the bits of the answers. Every thread would read a
/// quarter of the columns otherwise, and have as many numbers under way.
void askLanesForConditions(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
