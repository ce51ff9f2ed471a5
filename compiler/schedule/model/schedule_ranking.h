// The search space of schedules of the form "warpgroups", ranked by the cost model.
#ifndef ATTNC_COMPILER_SCHEDULE_MODEL_SCHEDULE_RANKING_H
#define ATTNC_COMPILER_SCHEDULE_MODEL_SCHEDULE_RANKING_H

#include "compiler/schedule/model/cost_model.h"

namespace attnc::schedule {

/// Registers of the threads that copy and of those that compute, for a number of groups.
struct RegisterBudget {
  int64_t load, group;
};

/// The budget that gives a group of the schedule what it needs, if there is one, else the largest;
/// between two that do, the one that leaves the copies more.
RegisterBudget registerBudget(red::NestOp nest, const StreamPlan &plan,
                              const WarpgroupSchedule &schedule);

struct RankedSchedule {
  WarpgroupSchedule schedule;
  StepPrediction step;
  double share; ///< of the tensor cores' peak, the whole kernel at the reference extents
};

/// Every schedule of the search space that checkSchedule accepts, the fastest by prediction first.
/// Predictions within 0.5 % count as equal; then larger tiles, fewer stages and fewer groups come
/// first. The order is the same in every run. Empty if the machine has no warpgroups or the plan
/// cannot use them. With `dynamic_scheduler`, persistent blocks that draw their row tiles are among
/// them. All have the `accuracy`, and the `rowTile` unless it is 0.
std::vector<RankedSchedule>
rankSchedules(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine,
              bool dynamicScheduler = false,
              llvm::ArrayRef<ReferenceExtents> references = referenceExtents(),
              tile::Accuracy accuracy = tile::Accuracy::F32, int64_t rowTile = 0);

/// The first `count` that differ enough to be worth a measurement: no more than two of the same
/// groups and tiles, of which no more than one draws.
std::vector<RankedSchedule> pickCandidates(const std::vector<RankedSchedule> &ranking,
                                           size_t count);

} // namespace attnc::schedule

#endif
