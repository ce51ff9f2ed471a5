// Tiled lowering, third pass: when it is done.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_EXPAND_PIPELINE_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_EXPAND_PIPELINE_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// In every role of the kernel, the loop over row tiles, and for each tile.stream what comes before
/// its loop over tiles, the loop, and what comes after: a step of stage s runs s tiles after the
/// one that it is about, steps of an iteration by their order. What steps of different stages hand
/// each other is carried by the loop. The steps stay, in the order in which they run, with numbers
/// of tiles in pipes that count from row tile to row tile. Stages are 0 and 1: a stream has at
/// least one tile. Of a kernel without roles, what expand_ahead.h says.
void expandPipeline(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
