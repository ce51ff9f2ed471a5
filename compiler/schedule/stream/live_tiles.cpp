// Which tiles of the stream matter to a block's rows, where the range that bounds them has holes:
// the lanes of a warp ask of 32 tiles at once.
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

bool StreamLowering::skipsTiles() { return bool(liveCondition(nest)); }

// The answers of tile `number`, i1 each, for each of `asked`: it matters, and it is full.
SmallVector<Value> StreamLowering::askLane(Value number, ArrayRef<AskedRows> asked) {
  Location loc = nest.getLoc();
  auto less = [&](Value x, Value y, arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  Value one = constant(1), width = constant(tiles.columns);
  Value exists = less(number, endTile, arith::CmpIPredicate::slt);
  Value inRange =
      arith::MinSIOp::create(b, loc, number, arith::SubIOp::create(b, loc, endTile, one));
  Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "0"), inRange, width);
  indexValues.push_back(first);
  Value end = arith::AddIOp::create(b, loc, first, width);
  Value inside = less(end, extent32(plan.stream), arith::CmpIPredicate::sle);
  Value last = arith::MinSIOp::create(b, loc, end, extent32(plan.stream));
  last = arith::SubIOp::create(b, loc, last, one);
  Value columns[] = {widen(first, "first"), widen(last, "last")};
  SmallVector<Value> answers;
  for (const AskedRows &rows : asked) {
    SmallVector<Value> args = rowArguments(rows.first, rows.count);
    llvm::append_range(args, columns);
    PointEvaluator evaluator = uniform;
    SmallVector<Value> says =
        evaluator.domain(args, {liveCondition(nest), evaluator.bounds().getFull()});
    Value matters = arith::AndIOp::create(b, loc, exists, says[0]);
    Value full = arith::AndIOp::create(b, loc, inside, says[1]);
    // Of those that ask side by side some may not need a tile: it is not full for them either.
    if (asked.size() > 1)
      full = arith::AndIOp::create(b, loc, matters, full);
    answers.append({matters, full});
  }
  return answers;
}

SmallVector<Value> StreamLowering::askTiles(Value first, ArrayRef<AskedRows> asked) {
  Location loc = nest.getLoc();
  SmallVector<Type> words(2 * asked.size(), b.getI32Type());
  auto ballot = tile::BallotOp::create(b, named("ballots"), words);
  Block &body = ballot.getBody().emplaceBlock();
  Value lane = body.addArgument(b.getI32Type(), named("lane"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  Value number = arith::AddIOp::create(b, named("asked"), first, lane);
  tile::YieldOp::create(b, loc, askLane(number, asked));
  return llvm::to_vector(ValueRange(ballot.getWords()));
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
    SmallVector<Value> words = askTiles(carried[0], {{row0, tiles.rows}});
    Value next = arith::AddIOp::create(b, loc, carried[0], constant(kLanes));
    scf::YieldOp::create(b, loc, ValueRange{next, words[0], words[1]});
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
