// Weights that are made, and multiplied, one after the other.
#include "compiler/schedule/steps/steps_lowering.h"

using namespace mlir;

namespace attnc::schedule {

bool StepsLowering::isOfFirstStage(unsigned streamed) const {
  return llvm::any_of(weightStagesOf.front().contractions, [&](unsigned number) {
    return plan.contractions[number].streamed == streamed;
  });
}

// The first scores of a tile are complete when its iteration begins: they were started last in the
// one before. Products with a stage's weights run while those of the next stage are made.
void StepsLowering::describeStagedSteps() {
  placeHandedOver();
  SmallVector<tile::StepOp> order, values;
  tile::StepOp first;
  for (const WeightStage &stage : weightStagesOf) {
    tile::StepOp scores = stagedScores(stage, first ? 1 : 0);
    if (first)
      order.push_back(scores);
    else
      first = scores;
    llvm::append_range(order, values);
    values.clear();
    size_t before = llvm::range_size(stream.getBodyBlock()->getOps<tile::StepOp>());
    stagedWeights(stage);
    auto all = llvm::to_vector(stream.getBodyBlock()->getOps<tile::StepOp>());
    order.append(all.begin() + before, all.end());
    if (tile::StepOp step = stagedValues(stage))
      values.push_back(step);
  }
  // Tiles of the stream are free as soon as the products behind them are complete.
  for (tile::StepOp last : values)
    last.setPending(1);
  first.setPending(1);
  llvm::append_range(order, values);
  order.push_back(first);
  addRowSums();
  setOrder(order);
}

tile::StepOp StepsLowering::stagedScores(const WeightStage &stage, int64_t ahead) {
  return step("scores", ahead, [&]() -> SmallVector<Value> {
    for (unsigned number : stage.contractions)
      scoreProducts(plan.contractions[number], places[number]);
    return {};
  });
}

void StepsLowering::stagedWeights(const WeightStage &stage) {
  step("fold", 1, [&]() -> SmallVector<Value> {
    for (auto [read, tile] : inputsOf)
      inputTiles[read->getResult(0)] = columnsAtHand(warpStrip(read->getLoc(), tile));
    writePlainWeights(stage.weights, stage.arraysMade);
    return {};
  });
  step("convert", 1, [&]() -> SmallVector<Value> {
    for (const StagedWeight &weight : stage.weights)
      if (Value operand = operands[weight.number])
        tile::ConvertOp::create(b, nest.getLoc(), plainWeights[weight.number], operand);
    return {};
  });
  handOver(stage);
}

tile::StepOp StepsLowering::stagedValues(const WeightStage &stage) {
  auto multiplies = [&](const StreamState &s) {
    return s.streamed != -1 && llvm::any_of(stage.weights, [&](const StagedWeight &weight) {
             return static_cast<int>(weight.number) == s.weight;
           });
  };
  if (llvm::none_of(plan.states, multiplies))
    return {};
  return step("values", 1, [&]() -> SmallVector<Value> {
    for (auto [s, place] : llvm::zip(plan.states, state))
      if (multiplies(s))
        tile::MmaStartOp::create(b, red::FoldOp(s.fold).getLoc(), place, operands[s.weight],
                                 tilesOf[s.streamed], /*transposed=*/false, /*fresh=*/false);
    return {};
  });
}

} // namespace attnc::schedule
