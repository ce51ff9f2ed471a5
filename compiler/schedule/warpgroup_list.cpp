// The loop of the role that computes over the tiles of the stream that the role that copies has
// listed.
#include "compiler/schedule/warpgroup_compute.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// The entry of the list for tile `number` of the stream's tiles, or for the end that follows tile
// `number - 1`.
Value WarpgroupCompute::takeTile(Value number) {
  Location loc = nest.getLoc();
  Value at = add(number, rowTileNumber, "entry"); // each row tile has an end
  tile::AwaitOp::create(b, loc, block.list, at);
  Value entry = tile::TakeOp::create(b, named("entry"), block.list, at);
  tile::ReleaseOp::create(b, loc, block.list, at);
  return entry;
}

// The number of an entry's tile, and whether it is full.
std::pair<Value, Value> WarpgroupCompute::tileOf(Value entry) {
  Location loc = nest.getLoc();
  Value two = constant(2);
  Value bit = arith::RemUIOp::create(b, loc, entry, two);
  return {arith::DivUIOp::create(b, named("t"), entry, two),
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, constant(0))};
}

// The tiles that whoever copies has listed. Returns what has moved in the last tile, and the number
// after it.
SmallVector<Value> WarpgroupCompute::loopOverList(Counters before) {
  Location loc = nest.getLoc();
  auto [first, firstIsFull] = tileOf(takeTile(before.streamed));
  firstTileOfRows(first, before.streamed, firstIsFull);
  Value none = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  Value second = add(before.streamed, 1);
  SmallVector<Value> init(plan.references.size(), none);
  init.append({second, takeTile(second)});
  auto nameCarried = [&](ValueRange carried) {
    for (Value moved : carried.drop_back(2))
      moved.setLoc(named("moved"));
    nameAll(carried.take_back(2), {"number", "entry"});
  };
  auto isTile = [&](OpBuilder &, Location, ValueRange carried) {
    nameCarried(carried);
    Value some =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, carried.back(), constant(0));
    scf::ConditionOp::create(b, loc, some, carried);
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
  auto loop = scf::WhileOp::create(b, loc, ValueRange(init).getTypes(), init, isTile, body);
  return llvm::to_vector(ValueRange(loop.getResults()).drop_back());
}

} // namespace attnc::schedule
