// Weights that products take from shared memory as they lie in a tensor.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_TILE_WEIGHTS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_TILE_WEIGHTS_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// The tensor that a weight is, element by element.
struct TileWeight {
  InputTile input;
  bool isTurned; ///< its rows lie along the stream
};

/// True if the nest is products of matrices alone: no scores, and each weight is elements of a
/// 16-bit tensor as they are, of the type of what it weighs. Then no weight passes registers.
bool multipliesTiles(const StreamPlan &plan);

/// A weight of a plan that multipliesTiles.
TileWeight tileWeight(const StreamPlan &plan, const Weight &weight);

/// Of such a plan the weights that are turned, each tensor once.
llvm::SmallVector<attn::ReadOp> turnedWeights(const StreamPlan &plan);

} // namespace attnc::schedule

#endif
