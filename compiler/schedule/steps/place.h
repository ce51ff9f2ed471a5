// Tiled lowering, fifth pass: where it lies.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_PLACE_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_PLACE_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Gives the kernel's pipes and shared tiles their bytes: tiles of pipes, other tiles, then numbers
/// and barriers. Sets the kernel's shared memory; a kernel that has some is left as it is.
void placeShared(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
