// Tiled lowering, second pass: who does what.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_ASSIGN_ROLES_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_ASSIGN_ROLES_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Divides the kernel's tile.row_tiles between the role that copies and the one that computes: each
/// has the whole loop, with its own ops of it. A fetched tile becomes a pipe between them: acquire
/// and fill on one side, await before the first step that uses it and release after the last one
/// on the other. Ops behind the row tiles belong to those who compute. Pipes have no place yet
/// (place.h). A kernel without row tiles is left as it is.
void assignRoles(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
