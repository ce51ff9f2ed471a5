// Tiled lowering, fourth pass: who waits for what.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_SYNCHRONISE_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_SYNCHRONISE_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Puts into the kernel's roles what asynchronous products need, and dissolves their steps. The
/// products of a step are one group, behind a fence. A step that touches what a group writes, or
/// writes what it reads, waits for it, as late as possible; a tile that a group reads is released
/// when it has been waited for. No group is unfinished where a loop begins or goes round. Groups
/// that alternate meet before the first step of a turn and signal after its last.
void synchronise(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
