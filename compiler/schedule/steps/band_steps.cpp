// Products behind the stream of the rows around those of the group.
#include "compiler/schedule/steps/steps_lowering.h"
#include "compiler/schedule/stream/band_products.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Of each warp of a group.
static constexpr int64_t kWarpRows = 16;

// Row r, column x has the weight of row number x - r; there are none beyond the first and the last.
Value StepsLowering::bandOperand(const BandProduct &band) {
  Location loc = red::FoldOp(band.fold).getLoc();
  int64_t depth = bandRows(band, kGroupRows);
  Value weights =
      registers(named("band"), tile::FragmentType::get(b.getContext(), kWarpRows, depth));
  Value warpRowInGroup = arith::SubIOp::create(b, loc, warpRow, groupRow());
  auto op = tile::MapOp::create(b, loc, warpRowInGroup, constant(0), ValueRange(), weights);
  {
    OpBuilder::InsertionGuard guard(b);
    Block &block = op.getBody().emplaceBlock();
    b.setInsertionPointToStart(&block);
    Value row = block.addArgument(b.getI32Type(), named("row"));
    Value column = block.addArgument(b.getI32Type(), named("column"));
    Value number = arith::SubIOp::create(b, loc, column, row);
    Value last = constant(band.width - 1);
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, number, last);
    Value within = arith::MaxSIOp::create(b, loc, number, constant(0));
    within = arith::MinSIOp::create(b, loc, within, last);
    if (band.isReversed)
      within = arith::SubIOp::create(b, loc, last, within);
    PointEvaluator evaluator = uniform;
    evaluator.bind(band.within, widen(within, ""));
    Value weight = evaluator.evaluate(attn::ReadOp(band.weight));
    tile::YieldOp::create(b, loc,
                          arith::SelectOp::create(b, loc, exists, weight, real(0)).getResult());
  }
  Type element = tensorOf(attn::ReadOp(band.read).getSource()).element;
  Value operand = registers(named("band_operand"),
                            tile::OperandType::get(b.getContext(), kWarpRows, depth, element));
  tile::ConvertOp::create(b, loc, weights, operand);
  return operand;
}

void StepsLowering::multiplyBands() {
  SmallVector<Value> sums;
  for (const BandProduct &band : plan.bands) {
    red::FoldOp fold = band.fold;
    Value tile = bandTiles.lookup(attn::ReadOp(band.read));
    if (!tile)
      continue;
    Location loc = fold.getLoc();
    Value operand = bandOperand(band);
    int64_t columns = cast<tile::SharedType>(tile.getType()).getCols();
    Value sum = registers(loc, tile::FragmentType::get(b.getContext(), kWarpRows, columns));
    // Before the fence: the tile is awaited where it is first used, and no loop may be between a
    // fence and its product.
    Value rows = strip(loc, tile, bandRows(band, kGroupRows), groupRow());
    tile::MmaFenceOp::create(b, loc);
    tile::MmaStartOp::create(b, loc, sum, operand, rows, /*transposed=*/false, /*fresh=*/true);
    tile::MmaCommitOp::create(b, loc);
    tile::MmaWaitOp::create(b, loc, b.getI64IntegerAttr(0), sum);
    bandSums[fold] = sum;
  }
}

} // namespace attnc::schedule
