// Warps that share rows: each computes a part of a tile's scores, all multiply all weights, each
// with its columns of the values. So scores are computed once, and a warp's accumulators stay
// small.
#include "compiler/schedule/portable/warp_lowering.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Numbered barriers: 0 is __syncthreads.
static constexpr int64_t kBarrier = 1;
// Bytes of all banks of shared memory side by side.
static constexpr int64_t kBankBytes = 128;

Value WarpLowering::times(Value index, int64_t by) {
  return arith::MulIOp::create(b, index.getLoc(), index, constant(by));
}

Value WarpLowering::stage(Location loc, Value ring, Value number) {
  auto type = cast<tile::RingType>(ring.getType());
  return tile::StageOp::create(b, loc, type.getTile(), ring, number);
}

// `index`, of `count`, of things of which there are `period`.
Value WarpLowering::turn(Value index, int64_t count, int64_t period) {
  if (count <= period)
    return index;
  return arith::RemUIOp::create(b, index.getLoc(), index, constant(period));
}

// Takes the warp's part of the columns off its number; that among warps of other rows remains.
Value WarpLowering::takeWarpColumn(Value warp) {
  Value sharing = constant(schedule.warpsOfRows());
  warpColumn = arith::RemUIOp::create(b, named("warp_column"), warp, sharing);
  columnPart = warpColumn;
  if (int64_t parts = headDimTiles(plan); schedule.columnGroups)
    columnPart = parts == 1 ? Value() : turn(warpColumn, schedule.columnGroups, parts);
  return arith::DivUIOp::create(b, named("warp_of_rows"), warp, sharing);
}

// Parts of both operands have the same size, and take turns in the same slots. A part of the values
// has the columns of each warp in a tile of its own.
void WarpLowering::placeExchange(int64_t offset) {
  int64_t sharing = schedule.columnWarps, slotBytes = 0;
  Type valueType;
  auto place = [&](tile::SharedType type, int64_t count, const std::string &name) -> Value {
    return tile::SharedOp::create(b, named(name), tile::RingType::get(b.getContext(), count, type),
                                  b.getI64IntegerAttr(offset));
  };
  for (auto [number, operand] : llvm::enumerate(plan.streamed)) {
    bool isScore = isScoreOperand(plan, number);
    auto type = sharedTile(operand, streamedRows(plan, number, schedule));
    int64_t count = isScore ? 1 : sharing;
    assert(slotBytes == 0 || slotBytes == count * type.getBytes());
    slotBytes = count * type.getBytes();
    if (!isScore)
      valueType = operand.element;
    rings.push_back(place(type, schedule.stages * count, sourceName(operand.read) + "_ring"));
  }
  offset += schedule.stages * slotBytes;
  auto weights = tile::SharedType::get(b.getContext(), schedule.rowTile, scoreColumns(), valueType);
  weightRing = place(weights, sharing, "weights");
  offset += sharing * weights.getBytes();
  vectorRing = place(tile::SharedType::get(b.getContext(), 1, schedule.rowTile, b.getF32Type(), 0),
                     sharing, "shares");
}

//===----------------------------------------------------------------------===//
// What warps agree on
//===----------------------------------------------------------------------===//

// All warps of the block, so that all take the same branches.
Value WarpLowering::anyOfSharing(Value some) {
  if (!sharesRows())
    return some;
  return tile::BarrierSyncOp::create(b, named("some"), b.getI1Type(), constant(kBarrier),
                                     b.getI64IntegerAttr(32 * schedule.warps), some)
      .getResult();
}

// In the order of the warps, so that all have the same bits.
void WarpLowering::mergeSharing(red::FoldOp fold, Value rows) {
  if (!sharesRows())
    return;
  Location loc = fold.getLoc();
  tile::WriteVectorOp::create(b, loc, rows, stage(loc, vectorRing, warpColumn), warpRow);
  tile::BarrierOp::create(b, loc);
  Value other = registers(attn::renamed(loc, "other"), rowsType());
  for (int64_t warp = 0; warp < schedule.columnWarps; ++warp) {
    Value share = stage(loc, vectorRing, constant(warp));
    tile::ReadVectorOp::create(b, loc, warp == 0 ? rows : other, share, warpRow);
    if (warp != 0)
      mergeRows(fold, rows, other);
  }
  tile::BarrierOp::create(b, loc); // before the next ones are written
}

//===----------------------------------------------------------------------===//
// Weights and values
//===----------------------------------------------------------------------===//

// The columns of a part of `extent`, null where it has all of them.
Value WarpLowering::columnsOfPart(int64_t extent, int64_t cols, int64_t part) {
  return (part + 1) * cols <= extent ? Value() : constant(extent - part * cols);
}

// Part `part` of the values of a tile: as many rows of them as a warp has scores.
void WarpLowering::copyValues(unsigned number, Value first, Value part, Value slot) {
  first = arith::AddIOp::create(b, named("row"), first, times(part, scoreColumns()));
  copyColumns(number, first, times(slot, schedule.columnWarps), schedule.columnWarps);
}

// The columns of a tile's rows in `tiles` tiles, the first of them in slot `slot`.
void WarpLowering::copyColumns(unsigned number, Value first, Value slot, int64_t tiles) {
  const OperandTile &operand = plan.streamed[number];
  Location loc = attn::ReadOp(operand.read).getLoc();
  // Tiles with whole rows of banks are one copy: their addresses differ by constants.
  int64_t bytes = tile::elementType(operand.element).bytes;
  int64_t together = operand.cols * bytes % kBankBytes == 0 ? tiles : 1;
  for (int64_t part = 0; part < tiles; part += together) {
    int64_t begin = part * operand.cols, left = operand.wholeCols() - begin;
    Value skipped = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(begin));
    Value base = b.createOrFold<arith::AddIOp>(loc, bases[number], skipped);
    Value into = b.createOrFold<arith::AddIOp>(loc, slot, constant(part));
    copyOperand(operand, base, first, ends[number], stage(loc, rings[number], into),
                left < together * operand.cols ? constant(left) : Value(), together);
  }
}

void WarpLowering::handOver(const StreamState &state, Value weights) {
  Location loc = red::FoldOp(state.fold).getLoc();
  tile::StoreFragmentOp::create(b, loc, weights,
                                warpStrip(loc, stage(loc, weightRing, warpColumn)));
}

// The weights of one warp after the other, with the rows of the values that belong to them. The
// wait for the first ones is also that for the weights.
void WarpLowering::multiplyValues() {
  stepInParts("values", schedule.columnWarps, [&](Value part, Value number) {
    Location loc = nest.getLoc();
    Value values = arith::AddIOp::create(b, loc, times(number, schedule.columnWarps), warpColumn);
    for (auto [s, place] : llvm::zip(plan.states, state))
      if (s.streamed != -1)
        tile::MmaOp::create(b, red::FoldOp(s.fold).getLoc(), place,
                            warpStrip(loc, stage(loc, weightRing, part)),
                            stage(loc, rings[s.streamed], values), /*transposed=*/false);
  });
}

} // namespace attnc::schedule
