// Tiled lowering, third pass, of kernels without roles: when it is done.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_EXPAND_AHEAD_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_EXPAND_AHEAD_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Makes loops of the kernel's tile.stream_ahead ops: over tiles, or those that matter, and over
/// parts of a tile. The copies of each are started as far ahead as the op says, as one group, and
/// awaited before its steps, whose ops become those of the loop. One barrier says both that a tile
/// is there and that all warps are done with the one before, whose slot the next copies take.
void expandAhead(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
