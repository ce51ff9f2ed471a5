// Which tiles of the stream matter to a block's rows, where the range that bounds them has holes:
// the lanes of a warp ask of 32 tiles at once.
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

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

} // namespace attnc::schedule
