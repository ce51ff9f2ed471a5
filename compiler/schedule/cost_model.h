// What a schedule of the form "warpgroups" will cost on a machine, predicted without running it.
#ifndef ATTNC_COMPILER_SCHEDULE_COST_MODEL_H
#define ATTNC_COMPILER_SCHEDULE_COST_MODEL_H

#include "compiler/schedule/stream_visits.h"
#include "compiler/schedule/stream_work.h"
#include "compiler/schedule/warpgroup_schedule.h"
#include <map>
#include <vector>

namespace attnc::schedule {

/// A lower bound of the time of a tile step, in clocks of a multiprocessor.
struct StepBound {
  llvm::StringLiteral name; ///< "tensor cores", "shared memory", ...
  double clocks;
};

/// A tile step is what all groups of a block do for one tile of the stream.
struct StepPrediction {
  std::vector<StepBound> bounds; ///< in a fixed order
  double chain = 0;       ///< the bound of one group's own time, which is also a tile's first
  double clocks = 0;      ///< no less than any bound
  double tensorShare = 0; ///< of the tensor cores' peak, while steps follow each other
  double flops = 0;       ///< of the products
  double special = 0;     ///< exp2 and the like
  double plain = 0;       ///< other operations per score
  double copiedBytes = 0; ///< into shared memory, by the tile of the stream
  double readBytes = 0;   ///< from tensors with both dims

  /// The largest bound.
  const StepBound &limit() const;
};

/// The step of a schedule that checkSchedule accepts. The machine has warpgroups.
StepPrediction predictStep(const StreamPlan &plan, const StreamWork &work,
                           const WarpgroupSchedule &schedule, const Machine &machine);

/// Extents to predict a whole kernel for: those of the row and the stream dim, and the product of
/// those of the grid dims.
struct ReferenceExtents {
  int64_t rows, stream, cells;
};

/// What the model assumes where the extents are not known.
llvm::ArrayRef<ReferenceExtents> referenceExtents();

/// Predicts kernels of one nest. Remembers the work of its step and its domain at the reference
/// extents (where dims are static, at theirs).
class CostModel {
public:
  CostModel(red::NestOp nest, const StreamPlan &plan, const Machine &machine);

  StepPrediction step(const WarpgroupSchedule &schedule) const;
  /// Share of the tensor cores' peak that the whole kernel reaches, over the reference extents: the
  /// products of what the rows visit, over the time of the last multiprocessor to finish. Products
  /// that a tile makes beyond that count as time only.
  double kernelShare(const WarpgroupSchedule &schedule);

private:
  /// What the tiles of rows of one size see of the stream.
  struct Visits {
    std::vector<StreamRange> ranges;
    bool uniform = true; ///< all have one length
  };
  const Visits &visits(int64_t rowTile, size_t reference);
  double kernelClocks(const WarpgroupSchedule &schedule, const StepPrediction &step,
                      const Visits &visits, int64_t cells) const;

  red::NestOp nest;
  const StreamPlan &plan;
  const Machine &machine;
  StreamWork work;
  std::map<std::pair<int64_t, size_t>, Visits> known;
  std::vector<double> usefulScores; ///< that rows visit, for each reference
};

} // namespace attnc::schedule

#endif
