// Which tiles of the stream matter to a block's rows, where the range that bounds them has holes:
// the lanes of a warp ask of 32 tiles at once.
#include "compiler/schedule/domain_slice.h"
#include "compiler/schedule/stream_lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

bool StreamLowering::skipsTiles() { return bool(liveCondition(nest)); }

// The answers of tile `number`, i1 each: it matters, and it is full.
SmallVector<Value> StreamLowering::askLane(Value number) {
  Location loc = nest.getLoc();
  auto less = [&](Value x, Value y, arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  Value one = constant(1), width = constant(tiles.columns);
  Value exists = less(number, endTile, arith::CmpIPredicate::slt);
  Value asked = arith::MinSIOp::create(b, loc, number, arith::SubIOp::create(b, loc, endTile, one));
  Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "0"), asked, width);
  indexValues.push_back(first);
  Value end = arith::AddIOp::create(b, loc, first, width);
  Value inside = less(end, extent32(plan.stream), arith::CmpIPredicate::sle);
  Value last = arith::MinSIOp::create(b, loc, end, extent32(plan.stream));
  last = arith::SubIOp::create(b, loc, last, one);
  SmallVector<Value> args = rowArguments(row0, tiles.rows);
  args.push_back(widen(first, "first"));
  args.push_back(widen(last, "last"));
  PointEvaluator evaluator = uniform;
  SmallVector<Value> says =
      evaluator.domain(args, {liveCondition(nest), evaluator.bounds().getFull()});
  return {arith::AndIOp::create(b, loc, exists, says[0]),
          arith::AndIOp::create(b, loc, inside, says[1])};
}

std::pair<Value, Value> StreamLowering::askTiles(Value first) {
  Location loc = nest.getLoc();
  SmallVector<Type> words(2, b.getI32Type());
  auto vote = tile::VoteOp::create(b, named("votes"), words);
  Block &body = vote.getBody().emplaceBlock();
  Value lane = body.addArgument(b.getI32Type(), named("lane"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  Value number = arith::AddIOp::create(b, named("asked"), first, lane);
  tile::YieldOp::create(b, loc, askLane(number));
  return {vote.getWords()[0], vote.getWords()[1]};
}

// Asks on until there is a tile that matters, or no tile is left.
StreamLowering::LiveTiles StreamLowering::nextLive(LiveTiles from) {
  Location loc = nest.getLoc();
  Value rest = tile::WithoutFirstBitOp::create(b, loc, from.live);
  SmallVector<Value> init = {from.next, rest, from.full};
  auto isSearching = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried, {"asked", "live", "full"});
    Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, carried[1], constant(0));
    Value left = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, carried[0], endTile);
    scf::ConditionOp::create(b, loc, arith::AndIOp::create(b, loc, none, left), carried);
  };
  auto ask = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried, {"asked", "live", "full"});
    auto [live, full] = askTiles(carried[0]);
    Value next = arith::AddIOp::create(b, loc, carried[0], constant(kLanes));
    scf::YieldOp::create(b, loc, ValueRange{next, live, full});
  };
  SmallVector<Type> types(3, b.getI32Type());
  auto loop = scf::WhileOp::create(b, loc, types, init, isSearching, ask);
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

StreamLowering::LiveTiles StreamLowering::firstLive() {
  return nextLive({firstTile, constant(0), constant(0)});
}

// The first of `left`: its number, one beyond the last if there is none, and whether it is full.
std::pair<Value, Value> StreamLowering::firstOf(LiveTiles left) {
  Location loc = nest.getLoc();
  SmallVector<Type> types = {b.getI32Type(), b.getI1Type()};
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, left.live, constant(0));
  auto branch = scf::IfOp::create(b, named("ahead"), types, some, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value begin = arith::SubIOp::create(b, loc, left.next, constant(kLanes));
  Value bit = tile::FirstBitOp::create(b, named("bit"), left.live);
  Value number = arith::AddIOp::create(b, loc, begin, bit);
  Value isFull = tile::HasBitOp::create(b, loc, left.full, bit);
  scf::YieldOp::create(b, loc, ValueRange{number, isFull});
  b.setInsertionPointToStart(branch.elseBlock());
  Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  scf::YieldOp::create(b, loc, ValueRange{endTile, no});
  return {branch.getResult(0), branch.getResult(1)};
}

} // namespace attnc::schedule
