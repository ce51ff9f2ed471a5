// Sums over the rows of all blocks: groups hand their weights to another one, which multiplies them
// by rows and adds that to memory.
#include "compiler/schedule/steps/steps_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Rows of a product: stream indices.
static constexpr int64_t kSumRows = 64;

void StepsLowering::placeHandedOver() {
  for (const RowSum &sum : plan.rowSums) {
    if (handedOver.contains(sum.weight))
      continue;
    auto operand = cast<tile::OperandType>(operands[sum.weight].getType());
    auto type = tile::SharedType::get(b.getContext(), tiles.rows, tiles.columns,
                                      operand.getElement(), tiles.rows);
    handedOver[sum.weight] =
        tile::HandOverOp::create(b, attn::renamed(red::FoldOp(sum.fold).getLoc(), "handed"), type,
                                 b.getI64IntegerAttr(kHandedStages));
  }
}

// While the products with the weights run, another group multiplies them, too.
void StepsLowering::handOver(const WeightStage &stage) {
  for (const StagedWeight &weight : stage.weights)
    if (Value tile = handedOver.lookup(weight.number))
      step("hand", 1, [&]() -> SmallVector<Value> {
        tile::StoreOperandOp::create(b, tile.getLoc(), operands[weight.number],
                                     warpStrip(tile.getLoc(), tile));
        return {};
      });
}

// A part of the columns at a time.
void StepsLowering::addRowSums() {
  for (const RowSum &sum : plan.rowSums) {
    SmallVector<Value> indices = sumIndices(sum);
    for (int64_t row = 0; row < tiles.columns; row += kSumRows)
      for (int64_t column = 0; column < sum.resident.cols; column += kSumColumns) {
        int64_t cols = std::min(kSumColumns, sum.resident.cols - column);
        Value place = termsOf(sum, row, column, cols);
        addTerms(sum, place, indices, row, column);
      }
  }
}

/// Of a part: the fragment that its products are in.
Value StepsLowering::termsOf(const RowSum &sum, int64_t row, int64_t column, int64_t cols) {
  Location loc = red::FoldOp(sum.fold).getLoc();
  Value place;
  addStep("terms", [&] {
    auto columnsOf = [&](Value tile, int64_t first, int64_t count) -> Value {
      auto type = cast<tile::SharedType>(tile.getType());
      auto some = tile::SharedType::get(b.getContext(), type.getRows(), count, type.getElement(),
                                        type.getPanelRows());
      return tile::ColumnsOp::create(b, loc, some, tile, constant(first));
    };
    place = registers(loc, tile::FragmentType::get(b.getContext(), tiles.warpRows, cols));
    tile::MmaStartOp::create(b, loc, place, columnsOf(handedOver.lookup(sum.weight), row, kSumRows),
                             columnsOf(rowTilesOf.lookup(sum.resident.read), column, cols),
                             /*transposed=*/false, /*fresh=*/true, /*aTransposed=*/true);
  });
  return place;
}

// Each warp adds its own rows, all columns at once. What lies beyond the extent is not written.
void StepsLowering::addTerms(const RowSum &sum, Value place, ArrayRef<Value> indices, int64_t row,
                             int64_t column) {
  Location loc = place.getLoc();
  int64_t cols = cast<tile::FragmentType>(place.getType()).getCols();
  addStep("add", [&] {
    Value warp = tile::WarpOp::create(b, named("warp"));
    Value warpRow = arith::MulIOp::create(b, named("sum_row"),
                                          add(warp, -4 * (schedule.groups + 1)), constant(16));
    Value strip = this->strip(loc, resultTiles.lookup(sum.result), 16, warpRow);
    if (column == 0)
      awaitStores();
    auto type = cast<tile::SharedType>(strip.getType());
    auto some =
        tile::SharedType::get(b.getContext(), 16, cols, type.getElement(), type.getPanelRows());
    tile::StoreFragmentOp::create(b, loc, place,
                                  tile::ColumnsOp::create(b, loc, some, strip, constant(column)));
    if (column + cols < sum.resident.cols)
      return;
    tile::PublishOp::create(b, loc);
    byOneThread([&] {
      SmallVector<Value> at;
      Value first = add(add(column0, row), warpRow);
      for (Value index : llvm::reverse(indices))
        at.push_back(index ? narrow(index, "") : first);
      tile::StoreBoxOp::create(b, loc, strip, memory.tensorMap(sum.result), at, /*adds=*/true);
      tile::StoreCommitOp::create(b, loc);
    });
  });
}

// Of the result's axes but the last: those of the grid; null for that of the stream.
SmallVector<Value> StepsLowering::sumIndices(const RowSum &sum) {
  Tensor tensor = tensorOf(sum.result);
  return llvm::map_to_vector(ArrayRef(tensor.dims).drop_back(), [&](StringAttr dim) -> Value {
    return dim == plan.stream ? Value() : uniform.index(dim);
  });
}

void StepsLowering::addStep(StringRef name, llvm::function_ref<void()> build) {
  step(name, 0, [&]() -> SmallVector<Value> {
    build();
    return {};
  }).setAdds(true);
}

} // namespace attnc::schedule
