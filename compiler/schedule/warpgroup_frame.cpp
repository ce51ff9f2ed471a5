#include "compiler/schedule/warpgroup_frame.h"
#include "compiler/schedule/operand_maps.h"
#include "compiler/schedule/row_order.h"
#include "compiler/schedule/stream_parts.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Half of the L2 cache of the machines with warpgroups, for the streamed operands of the cells that
// run side by side.
static constexpr int64_t kCellsBytes = int64_t(32) << 20;

WarpgroupFrame::WarpgroupFrame(red::NestOp nest, const StreamPlan &plan, WarpgroupSchedule schedule,
                               const KernelSignature &signature, tile::KernelOp kernel,
                               OpBuilder &builder)
    : StreamLowering(nest, plan,
                     {schedule.rowIndices(), schedule.streamTile, 16, schedule.slack,
                      /*padded=*/false, schedule.pack, schedule.columns},
                     signature, kernel, builder),
      schedule(schedule) {
  visitsEmptyStreams = true;
}

int64_t WarpgroupFrame::scoreParts(unsigned streamed) const {
  return isEarly(streamed) ? partsOf(plan.streamed[streamed]) : 1;
}

Value WarpgroupFrame::add(Value x, int64_t y, StringRef name) { return add(x, constant(y), name); }
Value WarpgroupFrame::add(Value x, Value y, StringRef name) {
  return b.createOrFold<arith::AddIOp>(named(name), x, y);
}

bool WarpgroupFrame::isEarly(unsigned streamed) const {
  return llvm::any_of(plan.contractions,
                      [&](const Contraction &c) { return c.streamed == streamed; });
}

bool WarpgroupFrame::isStateOperand(unsigned streamed) const {
  return llvm::any_of(
      plan.states, [&](const StreamState &s) { return s.streamed == static_cast<int>(streamed); });
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

// As many cells as have streamed operands that fit in the L2 cache.
Value WarpgroupFrame::cellsTogether(Value cells) {
  Location loc = nest.getLoc();
  int64_t rowBytes = 0;
  for (const OperandTile &operand : plan.streamed)
    rowBytes += operand.wholeCols() * (operand.element.getIntOrFloatBitWidth() / 8);
  Value rows = arith::MaxSIOp::create(b, loc, extent32(plan.stream), constant(1));
  Value fit = arith::DivSIOp::create(b, loc, constant(kCellsBytes / rowBytes), rows);
  fit = arith::MaxSIOp::create(b, loc, fit, constant(1));
  return arith::MinSIOp::create(b, named("together"), fit, cells);
}

BlockPlaces WarpgroupFrame::place() {
  Location loc = nest.getLoc();
  block.rowTiles = rowTiles();
  block.cells = constant(1);
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>()) {
    block.cells = b.createOrFold<arith::MulIOp>(named("cells"), block.cells, cellExtent(dim));
  }
  block.cells =
      b.createOrFold<arith::MulIOp>(named("cells"), block.cells, constant(columnParts(plan)));
  block.works = arith::MulIOp::create(b, named("row_tiles"), block.rowTiles, block.cells);
  // With a mask, row tiles differ in work: those of several cells are ordered together.
  if (nest.getDomainBlock())
    block.together = cellsTogether(block.cells);
  block.extents = extents;

  SmallVector<OperandMap> maps = operandMaps(plan, schedule);
  auto typeOf = [&](const OperandMap &map) {
    auto tile = tile::SharedType::get(b.getContext(), map.rows, map.cols, map.element, map.rows);
    return tile::PipeType::get(b.getContext(), map.stages, tile);
  };
  int64_t offset = 0, end = 0; // of the tiles at hand, and of all tiles
  for (const OperandMap &map : maps)
    end += typeOf(map).getStages() * typeOf(map).getTile().getBytes();
  for (const ResultMap &map : resultMaps(plan, schedule)) {
    auto type = tile::SharedType::get(b.getContext(), map.rows, map.cols, map.element, map.rows);
    std::string name = cIdentifier(tensorOf(map.result).name);
    block.results[map.result] =
        tile::SharedOp::create(b, named(name + "_tile"), type, b.getI64IntegerAttr(end));
    end += type.getBytes();
  }
  SmallVector<Value> pipes;
  for (const OperandMap &map : maps) {
    std::string name = cIdentifier(tensorOf(attn::ReadOp(map.read).getSource()).name);
    tile::PipeType type = typeOf(map);
    Value pipe =
        tile::PipeOp::create(b, named(name + "_pipe"), type, b.getI64IntegerAttr(offset),
                             b.getI64IntegerAttr(end), b.getI64IntegerAttr(4 * schedule.groups));
    offset += type.getStages() * type.getTile().getBytes();
    end += 16 * type.getStages();
    pipes.push_back(pipe);
    if (map.kind == OperandMap::Kind::Resident)
      block.residents[map.read] = pipe;
    else if (map.kind == OperandMap::Kind::Streamed)
      block.streamed.push_back(pipe);
    else
      block.inputs[map.read] = pipe;
  }
  if (schedule.draws) {
    tile::PipeType type = queueType(b.getContext());
    int64_t barriers = end + type.getStages() * type.getTile().getBytes();
    block.queue = tile::PipeOp::create(
        b, named("queue"), type, b.getI64IntegerAttr(end), b.getI64IntegerAttr(barriers),
        b.getI64IntegerAttr(4 * schedule.groups), b.getI64IntegerAttr(1));
    pipes.push_back(block.queue);
    end = barriers + 16 * type.getStages();
  }
  if (skipsTiles()) {
    tile::PipeType type = listType(b.getContext());
    int64_t barriers = end + type.getStages() * type.getTile().getBytes();
    block.list = tile::PipeOp::create(
        b, named("list"), type, b.getI64IntegerAttr(end), b.getI64IntegerAttr(barriers),
        b.getI64IntegerAttr(4 * schedule.groups), b.getI64IntegerAttr(1));
    pipes.push_back(block.list);
  }
  tile::StartPipesOp::create(b, loc, pipes);
  return block;
}

void WarpgroupFrame::use(const BlockPlaces &places) {
  block = places;
  extents = places.extents;
}

//===----------------------------------------------------------------------===//
// Row tiles
//===----------------------------------------------------------------------===//

void WarpgroupFrame::forEachWork(llvm::function_ref<Counters(Value work, Counters)> body,
                                 llvm::function_ref<Value(Value turn)> next) {
  Location loc = nest.getLoc();
  Value first = tile::BlockOp::create(b, named("block"));
  Value zero = constant(0);
  if (!schedule.persistent) {
    body(first, {zero, zero});
    return;
  }
  if (schedule.draws)
    return forEachDrawn(first, body, next);
  Value step = tile::GridSizeOp::create(b, loc);
  auto loop = scf::ForOp::create(b, loc, first, block.works, step, ValueRange{zero, zero});
  loop.getInductionVar().setLoc(named("work"));
  loop.getRegionIterArg(0).setLoc(named("tiles_before"));
  loop.getRegionIterArg(1).setLoc(named("turn"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Counters after =
      body(loop.getInductionVar(), {loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
  scf::YieldOp::create(b, loc, ValueRange{after.streamed, after.resident});
}

// The first row tile of a block is its own number. Whoever copies draws the others, and gives the
// numbers, the first that is beyond all included, to those that compute.
void WarpgroupFrame::forEachDrawn(Value first,
                                  llvm::function_ref<Counters(Value work, Counters)> body,
                                  llvm::function_ref<Value(Value turn)> next) {
  auto nameAll = [&](ValueRange carried) {
    carried[0].setLoc(named("work"));
    carried[1].setLoc(named("tiles_before"));
    carried[2].setLoc(named("turn"));
  };
  auto isLeft = [&](OpBuilder &, Location loc, ValueRange carried) {
    nameAll(carried);
    Value left = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, carried[0], block.works);
    scf::ConditionOp::create(b, loc, left, carried);
  };
  auto rowTile = [&](OpBuilder &, Location loc, ValueRange carried) {
    nameAll(carried);
    Counters after = body(carried[0], {carried[1], carried[2]});
    Value number = next(carried[2]);
    scf::YieldOp::create(b, loc, ValueRange{number, after.streamed, after.resident});
  };
  SmallVector<Type> types(3, b.getI32Type());
  scf::WhileOp::create(b, nest.getLoc(), types, ValueRange{first, constant(0), constant(0)}, isLeft,
                       rowTile);
}

// Row tiles of one cell follow each other. With a mask, those of `together` cells are ordered, the
// last rows first unless the mask wants another order.
void WarpgroupFrame::locate(Value work) {
  auto [number, cell] =
      block.together ? orderedRowTile(work)
                     : std::pair(rem(work, block.rowTiles, ""), div(work, block.rowTiles, "cell"));
  row0 = arith::MulIOp::create(b, named(plan.row.getValue().str() + "0"), number,
                               constant(tiles.rows));
  bindCells(takeColumnPart(cell));
  indexValues.push_back(row0);
}

Value WarpgroupFrame::div(Value x, Value y, StringRef name) {
  return arith::DivUIOp::create(b, named(name), x, y);
}
Value WarpgroupFrame::rem(Value x, Value y, StringRef name) {
  return arith::RemUIOp::create(b, named(name), x, y);
}

// The numbers of a row tile and of its cell.
std::pair<Value, Value> WarpgroupFrame::orderedRowTile(Value work) {
  Location loc = nest.getLoc();
  RowOrder order = rowOrder(nest, plan, tiles.rows, tiles.columns);
  if (order.lead == 0)
    return batchedRowTile(work, block.rowTiles, order.lastFirst);
  Value lead = arith::MinSIOp::create(b, named("lead"), constant(order.lead), block.rowTiles);
  Value leading = arith::MulIOp::create(b, named("leading"), lead, block.cells);
  Value isLeading = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, work, leading);
  Value rest = arith::MaxSIOp::create(b, named("after_lead"),
                                      arith::SubIOp::create(b, loc, work, leading), constant(0));
  Value others = arith::MaxSIOp::create(
      b, named("others"), arith::SubIOp::create(b, loc, block.rowTiles, lead), constant(1));
  auto [number, cell] = batchedRowTile(rest, others, order.lastFirst);
  number = arith::AddIOp::create(b, loc, number, lead);
  return {arith::SelectOp::create(b, loc, isLeading, div(work, block.cells, ""), number),
          arith::SelectOp::create(b, named("cell"), isLeading, rem(work, block.cells, ""), cell)};
}

// Of `count` row tiles of each cell, `together` cells at a time.
std::pair<Value, Value> WarpgroupFrame::batchedRowTile(Value work, Value count, bool lastFirst) {
  Location loc = nest.getLoc();
  Value batch = arith::MulIOp::create(b, named("batch"), count, block.together);
  Value before = arith::MulIOp::create(b, named("cells_before"), div(work, batch, "batch_number"),
                                       block.together);
  Value left = arith::SubIOp::create(b, loc, block.cells, before);
  Value beside = arith::MinSIOp::create(b, named("beside"), left, block.together);
  Value inBatch = rem(work, batch, "in_batch");
  Value last = arith::SubIOp::create(b, loc, count, constant(1));
  Value turn = div(inBatch, beside, "");
  Value number = lastFirst ? arith::SubIOp::create(b, loc, last, turn).getResult() : turn;
  return {number, arith::AddIOp::create(b, named("cell"), before, rem(inBatch, beside, ""))};
}

std::pair<Value, Value> WarpgroupFrame::tileRange(Value first, int64_t count) {
  auto [lo, hi] = streamRange(first, count);
  Value begin = tileNumber(lo, tiles.columns, false, "first_tile");
  Value end = tileNumber(hi, tiles.columns, true, "end_tile");
  return {begin, b.createOrFold<arith::MaxSIOp>(named("end_tile"), end, add(begin, 1))};
}

} // namespace attnc::schedule
