// What a schedule of the form "warpgroups" will cost on a machine, predicted without running it.
#ifndef ATTNC_COMPILER_SCHEDULE_MODEL_COST_MODEL_H
#define ATTNC_COMPILER_SCHEDULE_MODEL_COST_MODEL_H

#include "compiler/schedule/model/stream_work.h"
#include "compiler/schedule/stream/stream_visits.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
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

/// Of a block's groups, those that compute a tile, and those of them that evaluate masks.
struct StepGroups {
  int64_t computing, masking = 0;
};

/// The step of a schedule that checkSchedule accepts. The machine has warpgroups. `masks` is what
/// masks cost beside `work`.
StepPrediction predictStep(const StreamPlan &plan, const StreamWork &work,
                           const WarpgroupSchedule &schedule, const GpuModel &machine);
StepPrediction predictStep(const StreamPlan &plan, const StreamWork &work, const StreamWork &masks,
                           const WarpgroupSchedule &schedule, const GpuModel &machine,
                           StepGroups groups);

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
  CostModel(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine,
            llvm::ArrayRef<ReferenceExtents> references = referenceExtents());

  StepPrediction step(const WarpgroupSchedule &schedule);
  /// Share of the tensor cores' peak that the whole kernel reaches, over the reference extents: the
  /// products of what the rows visit, over the time of the last multiprocessor to finish. Products
  /// that a tile makes beyond that count as time only.
  double kernelShare(const WarpgroupSchedule &schedule);

private:
  /// The plan as a schedule cuts it.
  struct Cut {
    StreamPlan plan;
    StreamWork work;
  };
  const Cut &cut(const WarpgroupSchedule &schedule);
  /// What the tiles of rows of one size see of the stream.
  struct Visits {
    std::vector<StreamRange> ranges;
    bool uniform = true; ///< all have one length
  };
  const Visits &visits(int64_t rowTile, size_t reference);
  /// Classes of tiles of a group's rows, where the domain has conditions for single tiles; at the
  /// first of the reference extents.
  using Classes = std::optional<std::vector<std::vector<TileClass>>>;
  const Classes &classes(int64_t streamTile);
  double classedShare(const WarpgroupSchedule &schedule, const Classes &classes);
  const std::vector<std::vector<int>> &stepKinds(const WarpgroupSchedule &schedule,
                                                 const Classes &classes);
  std::vector<double> rowTileClocks(const WarpgroupSchedule &schedule, const Classes &classes);
  double lastDone(const WarpgroupSchedule &schedule, double total, double longest, double tiles,
                  bool uniform) const;
  double nearRowsClocks(const WarpgroupSchedule &schedule) const;
  double endsClocks(const WarpgroupSchedule &schedule, const StepPrediction &step) const;
  double turnsFactor(const WarpgroupSchedule &schedule) const;
  double kernelClocks(const WarpgroupSchedule &schedule, const StepPrediction &step,
                      const Visits &visits, int64_t cells) const;

  red::NestOp nest;
  const StreamPlan &plan;
  const GpuModel &machine;
  llvm::SmallVector<ReferenceExtents, 2> references;
  StreamWork work, masks;
  std::map<std::pair<int64_t, size_t>, Visits> known;
  std::map<int64_t, Classes> knownClasses; ///< by tile of the stream
  std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<int>>> knownKinds; ///< by tile
  double classedScores = 0; ///< that are not masked, where there are classes
  std::map<std::tuple<int64_t, int64_t, int64_t>, Cut> cuts; ///< by columns, depth, blocks
  std::vector<double> usefulScores; ///< that rows visit, for each reference
};

} // namespace attnc::schedule

#endif
