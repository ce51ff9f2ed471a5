#include "compiler/schedule/warpgroups/warpgroup_frame.h"
#include "compiler/schedule/cleanup/narrow_indices.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/packed/packed_tiles.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "compiler/schedule/warpgroups/row_order.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Of the L2 cache of the machines with warpgroups (50 MiB in two halves), for the streamed operands
// of the cells that run side by side; rows and results pass through the rest. Measured of causal
// D128: with 32 MiB 1024 rows take 10 % longer, 4096 rows 2 %.
static constexpr int64_t kCellsBytes = int64_t(16) << 20;

// Blocks that take row tiles of one cell at a time, at most.
static constexpr int64_t kMostBeside = 4;

WarpgroupFrame::WarpgroupFrame(red::NestOp nest, const StreamPlan &plan, WarpgroupSchedule schedule,
                               const KernelSignature &signature, tile::KernelOp kernel,
                               OpBuilder &builder)
    : StreamLowering(nest, plan,
                     {schedule.rowIndices(), schedule.streamTile, 16, schedule.rescaleThreshold,
                      /*padded=*/false, schedule.pack, schedule.headDimTile},
                     signature, kernel, builder),
      schedule(schedule) {
  visitsEmptyStreams = true;
  tiledPack = packOfTiles(nest, plan, schedule);
}

int64_t WarpgroupFrame::scoreParts(unsigned streamed) const {
  return isScoreOperand(plan, streamed) ? partsOf(plan.streamed[streamed]) : 1;
}

Value WarpgroupFrame::add(Value x, int64_t y, StringRef name) { return add(x, constant(y), name); }
Value WarpgroupFrame::add(Value x, Value y, StringRef name) {
  return b.createOrFold<arith::AddIOp>(named(name), x, y);
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

// As many cells as have streamed operands that fit in the L2 cache.
Value WarpgroupFrame::cellsTogether(Value cells) {
  Location loc = nest.getLoc();
  int64_t rowBytes = 0;
  for (auto [i, operand] : llvm::enumerate(plan.streamed))
    rowBytes += operand.wholeCols() * (isScoreOperand(plan, i) ? plan.depthBlocks : 1) *
                tile::elementType(operand.element).bytes;
  Value rows = arith::MaxSIOp::create(b, loc, extent32(plan.stream), constant(1));
  Value fit = arith::DivSIOp::create(b, loc, constant(kCellsBytes / rowBytes), rows);
  fit = arith::MaxSIOp::create(b, loc, fit, constant(1));
  return arith::MinSIOp::create(b, named("together"), fit, cells);
}

void WarpgroupFrame::countWork() {
  rowTileCount = rowTiles();
  if (tiles.pack != 1)
    countPacked();
  cells = constant(1);
  if (inSlab())
    cells = arith::SubIOp::create(b, named("cells"), memory.cells(/*isEnd=*/true),
                                  memory.cells(/*isEnd=*/false));
  else
    for (StringAttr dim : cellDims())
      cells = b.createOrFold<arith::MulIOp>(named("cells"), cells, cellExtent(dim));
  if (!schedule.cluster)
    cells = b.createOrFold<arith::MulIOp>(named("cells"), cells,
                                          constant(columnBlocks(plan, schedule)));
  works = arith::MulIOp::create(b, named("row_tiles"), rowTileCount, cells);
  // With a mask, row tiles differ in work: those of several cells are ordered together.
  if (nest.getDomainBlock())
    together = cellsTogether(cells);
  if (schedule.residentInputs)
    divideRuns();
}

// As many blocks as evenly divide both take the row tiles of the same cells, each its own, so that
// what is streamed comes from memory once. Each has a range of these, as long as that of others.
void WarpgroupFrame::divideRuns() {
  Location loc = nest.getLoc();
  inRun = runDims(nest, plan);
  betweenRuns = attn::dimNames(nest.getGrid());
  llvm::erase_if(betweenRuns, [&](StringAttr dim) { return llvm::is_contained(inRun, dim); });
  run = constant(1);
  for (StringAttr dim : inRun)
    run = b.createOrFold<arith::MulIOp>(named("run"), run, cellExtent(dim));
  Value blocks = tile::GridSizeOp::create(b, loc), block = tile::BlockOp::create(b, named("block"));
  auto divides = [&](int64_t count, Value number) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rem(number, constant(count), ""),
                                 constant(0));
  };
  beside = constant(1);
  for (int64_t count = 2; count <= kMostBeside; ++count) {
    Value both =
        arith::AndIOp::create(b, loc, divides(count, rowTileCount), divides(count, blocks));
    beside = arith::SelectOp::create(b, named("beside"), both, constant(count), beside);
  }
  member = rem(block, beside, "member");
  Value team = div(block, beside, "team"), teams = div(blocks, beside, "teams");
  Value ofTeams = div(works, beside, "");
  Value each = div(ofTeams, teams, "each"), more = rem(ofTeams, teams, "more");
  Value before = arith::MulIOp::create(b, loc, team, each);
  first = add(before, arith::MinSIOp::create(b, loc, team, more), "first");
  Value hasMore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, team, more);
  works = add(add(first, each, ""),
              arith::SelectOp::create(b, loc, hasMore, constant(1), constant(0)), "end");
}

//===----------------------------------------------------------------------===//
// Row tiles
//===----------------------------------------------------------------------===//

// Of the runs of the block, and of those beside it: sets the indices of the cell, and returns the
// row tile's number there. Runs of one cell follow each other.
Value WarpgroupFrame::numberInRuns(Value work) {
  Value runs = div(work, run, "runs"), shares = div(rowTileCount, beside, "shares");
  bindCells(betweenRuns, div(runs, shares, "between_runs"));
  bindCells(inRun, rem(work, run, "in_run"));
  Value share = arith::MulIOp::create(b, nest.getLoc(), rem(runs, shares, ""), beside);
  return add(share, member);
}

// Row tiles of one cell follow each other. With a mask, those of `together` cells are ordered, the
// last rows first unless the mask wants another order.
void WarpgroupFrame::locate(Value work) {
  if (run) {
    row0 = arith::MulIOp::create(b, named(plan.row.getValue().str() + "0"), numberInRuns(work),
                                 constant(tiles.rows));
    indexValues.push_back(row0);
    return;
  }
  auto [number, cell] =
      together ? orderedRowTile(work)
               : std::pair(rem(work, rowTileCount, ""), div(work, rowTileCount, "cell"));
  cell = schedule.seesaw ? takeGroupColumns(cell) : takeColumnPart(cell);
  cellOfSlab = cell;
  bindCells(inSlab() ? add(cell, memory.cells(/*isEnd=*/false), "cell") : cell);
  row0 = arith::MulIOp::create(b, named(plan.row.getValue().str() + "0"),
                               tiledPack ? takeSequence(number) : number, constant(tiles.rows));
  indexValues.push_back(row0);
}

// Groups have parts of the columns that follow each other.
Value WarpgroupFrame::takeGroupColumns(Value cell) {
  columnPart = group;
  int64_t blocks = columnBlocks(plan, schedule);
  if (blocks == 1)
    return cell;
  Value block =
      schedule.cluster
          ? tile::ClusterRankOp::create(b, named("rank")).getResult()
          : arith::RemSIOp::create(b, named("column_block"), cell, constant(blocks)).getResult();
  Value before = arith::MulIOp::create(b, nest.getLoc(), block, constant(schedule.groups));
  columnPart = arith::AddIOp::create(b, named("column_part"), before, group);
  return schedule.cluster
             ? cell
             : arith::DivSIOp::create(b, named("cell"), cell, constant(blocks)).getResult();
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
  RowOrder order = rowOrder(nest, plan, tiles.rows, schedule.streamStep());
  if (order.lead == 0)
    return batchedRowTile(work, rowTileCount, order.lastFirst);
  Value lead = arith::MinSIOp::create(b, named("lead"), constant(order.lead), rowTileCount);
  Value leading = arith::MulIOp::create(b, named("leading"), lead, cells);
  Value isLeading = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, work, leading);
  Value rest = arith::MaxSIOp::create(b, named("after_lead"),
                                      arith::SubIOp::create(b, loc, work, leading), constant(0));
  Value others = arith::MaxSIOp::create(
      b, named("others"), arith::SubIOp::create(b, loc, rowTileCount, lead), constant(1));
  auto [number, cell] = batchedRowTile(rest, others, order.lastFirst);
  number = arith::AddIOp::create(b, loc, number, lead);
  return {arith::SelectOp::create(b, loc, isLeading, div(work, cells, ""), number),
          arith::SelectOp::create(b, named("cell"), isLeading, rem(work, cells, ""), cell)};
}

// Of `count` row tiles of each cell, `together` cells at a time.
std::pair<Value, Value> WarpgroupFrame::batchedRowTile(Value work, Value count, bool lastFirst) {
  Location loc = nest.getLoc();
  Value batch = arith::MulIOp::create(b, named("batch"), count, together);
  Value before =
      arith::MulIOp::create(b, named("cells_before"), div(work, batch, "batch_number"), together);
  Value left = arith::SubIOp::create(b, loc, cells, before);
  Value beside = arith::MinSIOp::create(b, named("beside"), left, together);
  Value inBatch = rem(work, batch, "in_batch");
  Value last = arith::SubIOp::create(b, loc, count, constant(1));
  Value turn = div(inBatch, beside, "");
  Value number = lastFirst ? arith::SubIOp::create(b, loc, last, turn).getResult() : turn;
  return {number, arith::AddIOp::create(b, named("cell"), before, rem(inBatch, beside, ""))};
}

WarpgroupFrame::TileRange WarpgroupFrame::tileRange(Value first, int64_t count) {
  auto [lo, hi] = streamRange(first, count);
  Value begin = tileNumber(lo, schedule.streamStep(), false, "first_tile");
  Value end = tileNumber(hi, schedule.streamStep(), true, "end_tile");
  Value atLeastOne = b.createOrFold<arith::MaxSIOp>(named("end_tile"), end, add(begin, 1));
  return {begin, atLeastOne, end};
}

// Of what lies in the slab, whose tensor maps have its cells along the last axis of the grid.
void WarpgroupFrame::takeSlabIndices(Value array, MutableArrayRef<Value> indices) {
  if (!liesInSlab(array))
    return;
  size_t axes = nest.getGrid().size();
  for (size_t axis = 0; axis < axes; ++axis)
    indices[axis] = widen(axis + 1 == axes ? cellOfSlab : constant(0), "");
}

//===----------------------------------------------------------------------===//
// Tiles that groups let pass
//===----------------------------------------------------------------------===//

// A group that lets tiles pass waits for what comes with one after the parts of the next, which
// then need slots of their own. Where there are fewer, all groups use the same tiles.
bool WarpgroupFrame::mayPassTiles() const {
  for (unsigned i = 0; i < plan.streamed.size(); ++i)
    if (int64_t parts = scoreParts(i); parts > 1 && schedule.depthStages <= parts)
      return false;
  return true;
}

// The number of the last tile and two bits for each group fit in 32 bits. What data decide is asked
// once for the block: a group more would wait for memory once more.
bool WarpgroupFrame::groupsAsk() const {
  int64_t most = kLargestExtent / schedule.streamTile;
  red::BoundsOp bounds = cast<red::BoundsOp>(red::NestOp(nest).getDomainBlock()->getTerminator());
  bool readsData = readsTensors(nest, bounds.getLive()) || readsTensors(nest, bounds.getFull());
  return schedule.groups > 1 && mayPassTiles() && !readsData &&
         most <= (int64_t(1) << (32 - 2 * schedule.groups));
}

SmallVector<StreamLowering::AskedRows> WarpgroupFrame::askingRows() {
  if (!groupsAsk())
    return {{row0, tiles.rows}};
  Location loc = nest.getLoc();
  SmallVector<AskedRows> rows;
  Value last = arith::SubIOp::create(b, loc, extent32(plan.row), constant(1));
  int64_t count = std::min<int64_t>(64, tiles.rows);
  for (int64_t group = 0; group < schedule.groups; ++group) {
    // The rows of a packed index follow those of the one before it; a group beyond the extent asks
    // for the last row.
    Value first = add(row0, 64 * group % tiles.rows, plan.row.getValue().str() + "_asked");
    rows.push_back({group == 0 ? first : arith::MinSIOp::create(b, loc, first, last), count});
  }
  return rows;
}

} // namespace attnc::schedule
