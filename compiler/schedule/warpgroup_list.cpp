// The tiles of the stream that the role that copies has listed: what an entry says, and the loops
// of the role that computes over them.
#include "compiler/schedule/domain_slice.h"
#include "compiler/schedule/narrow_indices.h"
#include "compiler/schedule/warpgroup_compute.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

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

// Follows the last tile of a row tile: where groups ask, a tile is not full for a group that it
// does not matter to.
int64_t WarpgroupFrame::endEntry() const { return groupsAsk() ? 2 : -1; }

// The entry for tile `number` of the stream's tiles, or for the end that follows tile `number - 1`.
Value WarpgroupCompute::takeTile(Value number) {
  Location loc = nest.getLoc();
  Value at = add(number, rowTileNumber, "entry"); // each row tile has an end
  tile::AwaitOp::create(b, loc, block.list, at);
  Value entry = tile::TakeOp::create(b, named("entry"), block.list, at);
  tile::ReleaseOp::create(b, loc, block.list, at);
  return entry;
}

// The number of an entry's tile, and whether it is full for this group.
std::pair<Value, Value> WarpgroupCompute::tileOf(Value entry) {
  Location loc = nest.getLoc();
  Value tile = arith::DivUIOp::create(b, named("t"), entry, constant(int64_t(1) << listBits()));
  Value bit =
      groupsAsk() ? add(arith::MulIOp::create(b, loc, group, constant(2)), 1, "bit") : constant(0);
  return {tile, tile::HasBitOp::create(b, loc, entry, bit)};
}

// The entry is a tile that this group computes.
Value WarpgroupCompute::isComputed(Value entry) {
  Location loc = nest.getLoc();
  if (!groupsAsk())
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, entry, constant(endEntry()));
  return tile::HasBitOp::create(b, loc, entry, arith::MulIOp::create(b, loc, group, constant(2)));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

// The group's tiles come in runs, between which it lets those of the other groups pass. Returns the
// number after the row tile's last tile.
Value WarpgroupCompute::foldListed(Counters before) {
  Location loc = nest.getLoc();
  SmallVector<Value> init = {before.streamed, takeTile(before.streamed)};
  if (!groupsAsk())
    return foldRun(init[0], init[1]).front();
  auto isTile = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried, {"number", "entry"});
    Value some =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, carried[1], constant(endEntry()));
    scf::ConditionOp::create(b, loc, some, carried);
  };
  auto runOrPass = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried, {"number", "entry"});
    auto branch = scf::IfOp::create(b, named("ahead"), carried.getTypes(), isComputed(carried[1]),
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, foldRun(carried[0], carried[1]));
      b.setInsertionPointToStart(branch.elseBlock());
      passTile(carried[0]);
      Value next = add(carried[0], 1, "next");
      scf::YieldOp::create(b, loc, ValueRange{next, takeTile(next)});
    }
    scf::YieldOp::create(b, loc, branch.getResults());
  };
  SmallVector<Type> types(2, b.getI32Type());
  return scf::WhileOp::create(b, loc, types, init, isTile, runOrPass).getResult(0);
}

// Folds the tile of `entry` and those that follow it until one is not for this group. Returns the
// number and the entry of that one.
SmallVector<Value> WarpgroupCompute::foldRun(Value number, Value entry) {
  Location loc = nest.getLoc();
  auto [first, firstIsFull] = tileOf(entry);
  SmallVector<Value> init = startRun(first, number, firstIsFull);
  Value second = add(number, 1);
  init.append({second, takeTile(second)});
  auto nameCarried = [&](ValueRange carried) {
    for (Value moved : carried.drop_back(2))
      moved.setLoc(named("moved"));
    nameAll(carried.take_back(2), {"number", "entry"});
  };
  auto goesOn = [&](OpBuilder &, Location, ValueRange carried) {
    nameCarried(carried);
    scf::ConditionOp::create(b, loc, isComputed(carried.back()), carried);
  };
  auto body = [&](OpBuilder &, Location, ValueRange carried) {
    nameCarried(carried);
    Value number = carried[carried.size() - 2];
    auto [tile, isFull] = tileOf(carried.back());
    SmallVector<Value> after = pipelinedTile(tile, number, carried.drop_back(2), isFull);
    Value next = add(number, 1, "next");
    after.append({next, takeTile(next)});
    scf::YieldOp::create(b, loc, after);
  };
  auto loop = scf::WhileOp::create(b, loc, ValueRange(init).getTypes(), init, goesOn, body);
  ValueRange after = loop.getResults();
  lastProducts(add(after[after.size() - 2], -1, "last"), after.drop_back(2));
  return llvm::to_vector(after.take_back(2));
}

// The first tile of a run: no products of the tile before run beside its own. Returns which
// references have moved.
SmallVector<Value> WarpgroupCompute::startRun(Value tile, Value number, Value isKnownFull) {
  beginTile(tile, isKnownFull);
  awaitOperands(/*early=*/true, number);
  takeTurn();
  startScores(number);
  commit();
  passTurn();
  wait(0, places);
  releaseOperands(/*ofStates=*/false, number);
  SmallVector<Value> moved = foldTile(/*first=*/false, number);
  convertWeights();
  return moved;
}

} // namespace attnc::schedule
