// Results with an element for each row and stream index, tile by tile.
#include "compiler/schedule/portable/warp_lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Bytes that a thread stores at a time where rows begin at multiples of them.
static constexpr int64_t kVectorBytes = 16;

// Tiles that have the rows of a block: as many as make it rare to load these, few where the
// elements take long, for small launches.
static constexpr int64_t kTilesOfPart = 16, kTilesOfSlowPart = 4;

static int64_t tilesOfPart(const StreamPlan &plan) {
  return plan.direct.empty() ? kTilesOfPart : kTilesOfSlowPart;
}

int64_t columnsOfPairs(const StreamPlan &plan, const PortableSchedule &schedule) {
  return tilesOfPart(plan) * schedule.streamTile;
}

Value WarpLowering::takeStreamPart(Value cell) {
  Value parts = tileNumber(memory.extent(b, nest.getLoc(), plan.stream),
                           columnsOfPairs(plan, schedule), true, "stream_parts");
  streamPart = arith::RemSIOp::create(b, named("stream_part"), cell, parts);
  return arith::DivSIOp::create(b, named("cell"), cell, parts);
}

void WarpLowering::keepInPart() {
  Value tiles = constant(tilesOfPart(plan));
  firstTile = arith::MulIOp::create(b, named("first_tile"), streamPart, tiles);
  Value end = arith::AddIOp::create(b, nest.getLoc(), firstTile, tiles);
  endTile = arith::MinSIOp::create(b, named("end_tile"), endTile, end);
}

// Through shared memory, so that global memory sees rows of the tile.
void WarpLowering::storePairs() {
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  for (auto [pair, shared] : llvm::zip(plan.pairs, pairTiles)) {
    Value array = yield.getValues()[pair.getResultNumber()];
    tile::StoreFragmentOp::create(b, array.getLoc(), pairFragments(array).front(),
                                  warpStrip(array.getLoc(), shared));
  }
  tile::BarrierOp::create(b, nest.getLoc());
  for (auto [pair, shared] : llvm::zip(plan.pairs, pairTiles))
    storePairTile(pair, shared);
}

void WarpLowering::storePairTile(OpResult pair, Value shared) {
  Location loc = pair.getLoc();
  Tensor tensor = tensorOf(pair);
  auto [indices, rowAxis] = rowAxisOf(pair);
  Value base = memory.offset(b, named(cIdentifier(tensor.name) + "_base"), pair, indices);
  Value stride = memory.stride(pair, rowAxis);
  Value begin = arith::MulIOp::create(b, loc, widen(row0, ""), stride);
  Value offset = arith::AddIOp::create(b, loc, base, begin);
  offset = arith::AddIOp::create(b, loc, offset, widen(column0, ""));
  Value rows = arith::SubIOp::create(b, loc, storeEnd(pair), row0);
  Value columns = arith::SubIOp::create(b, loc, extent32(plan.stream), column0);
  int64_t elementBytes = tile::elementType(tensor.element).bytes;
  auto store = [&](int64_t bytes) {
    tile::StoreTileOp::create(b, loc, shared, memory.pointer(pair), offset, stride, rows, columns,
                              b.getI64IntegerAttr(bytes));
  };
  // One of the three is no multiple of the elements of a vector if some bit below is set.
  auto wide = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  };
  Value bits = arith::OrIOp::create(b, loc, base, stride);
  bits = arith::OrIOp::create(b, loc, bits, memory.extent(b, loc, plan.stream));
  bits = arith::AndIOp::create(b, loc, bits, wide(kVectorBytes / elementBytes - 1));
  Value isAligned =
      arith::CmpIOp::create(b, named("is_aligned"), arith::CmpIPredicate::eq, bits, wide(0));
  auto branch = scf::IfOp::create(b, loc, isAligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  store(kVectorBytes);
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  store(elementBytes);
}

} // namespace attnc::schedule
