// A plan whose operands are cut along their inner dims, as a schedule says.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_TILED_PLAN_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_TILED_PLAN_H

#include "compiler/schedule/stream/stream_plan.h"
#include <optional>

namespace attnc::schedule {

/// The plan with tiles of the operands of states `columns` wide, and of those of scores `depth`
/// wide, where they are wider; 0 stands for all columns. An operand of both, if it is cut, becomes
/// two. Of a plan that is cut so, for as many blocks, it is the plan itself. Where `blocks` divide
/// the depth, operands of scores are those of one block.
StreamPlan tiledPlan(const StreamPlan &plan, int64_t columns, int64_t depth, int64_t blocks = 1);

/// The same, without a copy where nothing is cut: then it refers to `plan`, which must outlive it.
class TiledPlan {
public:
  TiledPlan(const StreamPlan &plan, int64_t columns, int64_t depth, int64_t blocks = 1);
  const StreamPlan &operator*() const { return own ? *own : whole; }
  const StreamPlan *operator->() const { return &**this; }

private:
  const StreamPlan &whole;
  std::optional<StreamPlan> own;
};

/// Of a plan that is cut: blocks that share the columns of the states, and steps of the sums that
/// scores are; 1 where nothing is cut.
int64_t headDimTiles(const StreamPlan &plan);
int64_t depthTiles(const StreamPlan &plan);

/// The part of a depth that each of `blocks` has: products are with multiples of 16 columns, and
/// those beyond the last one are zeros.
int64_t depthShare(int64_t depth, int64_t blocks);

/// Why the columns of the states of a plan that is cut cannot be divided, or "".
std::string checkColumnParts(const StreamPlan &plan);

/// True if tiles of a streamed operand of a plan that is cut are copied, ahead of their use: those
/// of tensors, and rows from anywhere if neither they nor the columns of the states are divided.
bool isCopied(const StreamPlan &plan, const OperandTile &operand, bool dividesColumns);

/// Tiles that the columns of an operand make.
int64_t partsOf(const OperandTile &operand);

/// True if a contraction, a state, reads the streamed operand of this number.
bool isScoreOperand(const StreamPlan &plan, unsigned streamed);
bool isStateOperand(const StreamPlan &plan, unsigned streamed);

/// Columns that cut `extent` into as few parts as `most` columns do, and these evenly: a multiple
/// of 32.
int64_t evenColumns(int64_t extent, int64_t most);

/// The widest of the operands of scores, and of those of states; 0 if there are none.
int64_t widestDepth(const StreamPlan &plan);
int64_t widestColumns(const StreamPlan &plan);

} // namespace attnc::schedule

#endif
