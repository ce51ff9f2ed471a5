#include "compiler/schedule/slab/tile_weights.h"
#include "dialects/Tile/ElementTypes.h"

using namespace mlir;

namespace attnc::schedule {

// What a copy reads beyond the tile has to be beyond the tensor, where it gives zeros.
static bool hasWholeAxes(const InputTile &input) {
  Tensor tensor = tensorOf(attn::ReadOp(input.read).getSource());
  auto isWhole = [&](unsigned axis) {
    return attn::ReadOp(input.read).subscriptDim(axis) == tensor.dims[axis];
  };
  return isWhole(input.rowAxis) && isWhole(tensor.dims.size() - 1);
}

static std::optional<TileWeight> findTile(const StreamPlan &plan, const Weight &weight) {
  if (weight.reference != -1 || weight.inHalves || weight.factors.size() != 1)
    return {};
  for (bool isTurned : {false, true})
    for (const InputTile &input : isTurned ? plan.turned : plan.inputs)
      if (Value(attn::ReadOp(input.read).getResult()) == weight.factors.front() &&
          hasWholeAxes(input))
        return TileWeight{input, isTurned};
  return {};
}

bool multipliesTiles(const StreamPlan &plan) {
  if (!plan.contractions.empty() || !plan.references.empty() || plan.states.empty())
    return false;
  return llvm::all_of(plan.states, [&](const StreamState &state) {
    if (state.streamed == -1)
      return false;
    const OperandTile &values = plan.streamed[state.streamed];
    std::optional<TileWeight> tile = findTile(plan, plan.weights[state.weight]);
    return tile && tile->input.element == values.element && !values.isComputed() &&
           tile::elementType(values.element).warpgroupProducts;
  });
}

TileWeight tileWeight(const StreamPlan &plan, const Weight &weight) {
  return *findTile(plan, weight);
}

llvm::SmallVector<attn::ReadOp> turnedWeights(const StreamPlan &plan) {
  SmallVector<attn::ReadOp> reads;
  if (multipliesTiles(plan))
    for (const Weight &weight : plan.weights)
      if (TileWeight tile = tileWeight(plan, weight);
          tile.isTurned && !llvm::is_contained(reads, tile.input.read))
        reads.push_back(tile.input.read);
  return reads;
}

} // namespace attnc::schedule
