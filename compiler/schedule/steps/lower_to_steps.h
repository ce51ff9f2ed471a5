// Tiled lowering, first pass: what is done with a row tile, in order of meaning.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_LOWER_TO_STEPS_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_LOWER_TO_STEPS_H

#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Builds, at the insertion point in `kernel`, the tile.row_tiles of a nest: fetches and steps with
/// the schedule's decisions as attributes (who, when), without pipes, skew or barriers.
void lowerToSteps(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
                  const KernelSignature &signature, tile::KernelOp kernel,
                  mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
