// In which order a tile's weights can be made, each as soon as its scores are there.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_WEIGHT_STAGES_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_WEIGHT_STAGES_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// A weight of a stage: the product of one that an earlier stage made, and of the other factors.
struct StagedWeight {
  unsigned number;              ///< index into StreamPlan::weights
  std::optional<unsigned> from; ///< index of the earlier weight; none: all factors are others
  llvm::SmallVector<mlir::Value> others;
};

/// Products of scores, and the weights that need no later ones.
struct WeightStage {
  llvm::SmallVector<unsigned, 2> contractions; ///< indices into StreamPlan::contractions
  llvm::SmallVector<StagedWeight, 2> weights;
  /// Of earlier stages: what this one reads, and so what stays in registers until then. The arrays
  /// are made of scores, and shared with earlier weights.
  llvm::SmallVector<unsigned, 2> contractionsRead, weightsRead;
  llvm::SmallVector<mlir::Value, 2> arraysRead;
  /// What this stage makes beside its weights: arraysRead of later ones.
  llvm::SmallVector<mlir::Value, 2> arraysMade;
};

/// The stages, each with as few products as complete a weight. One where there is nothing to
/// divide, or where the plan has more than products and the weights made of them: folds of scores,
/// maxima that run along.
std::vector<WeightStage> weightStages(red::NestOp nest, const StreamPlan &plan);

} // namespace attnc::schedule

#endif
