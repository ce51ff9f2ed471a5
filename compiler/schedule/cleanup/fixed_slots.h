// Slots of pipes that a loop uses in the same place of each of its turns.
#ifndef ATTNC_COMPILER_SCHEDULE_CLEANUP_FIXED_SLOTS_H
#define ATTNC_COMPILER_SCHEDULE_CLEANUP_FIXED_SLOTS_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Numbers of tiles that are a multiple of the pipe's slots plus a constant become
/// tile.slot_number: the slot is known, and addresses and barriers are computed once. Where the
/// slots are a power of two the CUDA compiler sees this by itself.
void fixSlots(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
