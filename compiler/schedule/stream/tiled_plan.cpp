#include "compiler/schedule/stream/tiled_plan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

static bool isCut(const OperandTile &operand) { return operand.extent != 0; }

static void cut(OperandTile &operand, int64_t cols) {
  if (cols == 0 || operand.cols <= cols)
    return;
  operand.extent = operand.cols;
  operand.cols = cols;
}

int64_t depthShare(int64_t depth, int64_t blocks) {
  return blocks == 1 ? depth : llvm::alignTo(llvm::divideCeil(depth, blocks), 16);
}

bool isCopied(const StreamPlan &plan, const OperandTile &operand, bool dividesColumns) {
  return !operand.isComputed() ||
         (operand.gathered && !dividesColumns && depthTiles(plan) == 1 && headDimTiles(plan) == 1);
}

int64_t partsOf(const OperandTile &operand) {
  return isCut(operand) ? llvm::divideCeil(operand.extent, operand.cols) : 1;
}

bool isScoreOperand(const StreamPlan &plan, unsigned streamed) {
  return llvm::any_of(plan.contractions,
                      [&](const Contraction &c) { return c.streamed == streamed; });
}

bool isStateOperand(const StreamPlan &plan, unsigned streamed) {
  return llvm::any_of(
      plan.states, [&](const StreamState &s) { return s.streamed == static_cast<int>(streamed); });
}

StreamPlan tiledPlan(const StreamPlan &plan, int64_t columns, int64_t depth, int64_t blocks) {
  StreamPlan result = plan;
  bool divides = blocks != plan.depthBlocks;
  bool cutsScores = divides || (depth && widestDepth(plan) > depth);
  // What both read becomes two operands: parts arrive at different times.
  for (unsigned i = 0, count = result.streamed.size(); i < count; ++i) {
    bool cutsState = columns && result.streamed[i].cols > columns;
    if (!isScoreOperand(result, i) || !isStateOperand(result, i) || !(cutsState || cutsScores))
      continue;
    for (StreamState &state : result.states)
      if (state.streamed == static_cast<int>(i))
        state.streamed = result.streamed.size();
    OperandTile operand = result.streamed[i];
    result.streamed.push_back(operand);
  }
  auto cutDepth = [&](OperandTile &operand) {
    if (divides)
      operand.cols = depthShare(operand.cols, blocks);
    cut(operand, depth);
  };
  result.depthBlocks = blocks;
  for (unsigned i = 0; i < result.streamed.size(); ++i)
    if (isStateOperand(result, i))
      cut(result.streamed[i], columns);
    else
      cutDepth(result.streamed[i]);
  for (Contraction &contraction : result.contractions)
    cutDepth(contraction.resident);
  for (ResultTile &tile : result.results)
    tile.cols = columns ? std::min(tile.cols, columns) : tile.cols;
  return result;
}

// Whether tiledPlan would change something.
static bool cuts(const StreamPlan &plan, int64_t columns, int64_t depth) {
  auto wider = [](int64_t cols, int64_t most) { return most && cols > most; };
  for (unsigned i = 0; i < plan.streamed.size(); ++i)
    if (wider(plan.streamed[i].cols, isStateOperand(plan, i) ? columns : depth))
      return true;
  return wider(widestDepth(plan), depth) || llvm::any_of(plan.results, [&](const ResultTile &tile) {
           return wider(tile.cols, columns);
         });
}

TiledPlan::TiledPlan(const StreamPlan &plan, int64_t columns, int64_t depth, int64_t blocks)
    : whole(plan) {
  if (blocks != plan.depthBlocks || cuts(plan, columns, depth))
    own = tiledPlan(plan, columns, depth, blocks);
}

int64_t headDimTiles(const StreamPlan &plan) {
  int64_t parts = 1;
  for (const StreamState &state : plan.states)
    if (state.streamed != -1)
      parts = std::max(parts, partsOf(plan.streamed[state.streamed]));
  return parts;
}

std::string checkColumnParts(const StreamPlan &plan) {
  if (plan.epilogue.empty() || headDimTiles(plan) == 1)
    return "";
  return "head_dim_tile divides columns that a fold over the result needs together: leave it out";
}

int64_t depthTiles(const StreamPlan &plan) {
  int64_t parts = 1;
  for (const Contraction &contraction : plan.contractions)
    parts = std::max(parts, partsOf(contraction.resident));
  return parts;
}

int64_t widestDepth(const StreamPlan &plan) {
  int64_t widest = 0;
  for (const Contraction &contraction : plan.contractions)
    widest = std::max(widest, contraction.resident.cols);
  return widest;
}

int64_t widestColumns(const StreamPlan &plan) {
  int64_t widest = 0;
  for (const StreamState &state : plan.states)
    if (state.streamed != -1)
      widest = std::max(widest, plan.streamed[state.streamed].cols);
  return widest;
}

int64_t evenColumns(int64_t extent, int64_t most) {
  int64_t parts = std::max<int64_t>(1, llvm::divideCeil(extent, most));
  return llvm::alignTo(llvm::divideCeil(extent, parts), 32);
}

} // namespace attnc::schedule
