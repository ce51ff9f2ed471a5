// The generic form of a nest: a thread for each point of its results or a few, plain loops.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_LOWER_GENERIC_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_LOWER_GENERIC_H

#include "compiler/schedule/nest/planned_nest.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Lowers any nest to a kernel at the builder's insertion point (a module's body). The arguments
/// are those of KernelSignature, the block size is the schedule's `threads` (128 if it has
/// none). Each thread computes the results of a group (generic_points.h) at one point, or at a few
/// neighbours that share what they read or fold little; a result that lacks some of the group's
/// dims is stored where they are 0. With `cell_dims` a block has all points of a cell, in turn. The
/// results' extents must be positive. Slow and always possible; the ops are scalar and the same on
/// every target.
tile::KernelOp lowerGenericNest(PlannedNest &planned, mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
