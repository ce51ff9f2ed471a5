// The tiles of a stream that matter, as one role lists them and the others compute them.
#include "compiler/schedule/steps/expansion.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {

static constexpr int64_t kLanes = 32; // of a warp, each of which asks of a tile

static void nameAll(OpBuilder &b, ValueRange values, ArrayRef<StringRef> names) {
  for (auto [value, name] : llvm::zip_equal(values, names))
    value.setLoc(NameLoc::get(b.getStringAttr(name)));
}

void Expansion::inSingle(llvm::function_ref<void()> build) {
  auto single = SingleOp::create(b, rows.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  build();
}

// One thread lists, and copies boxes; all threads of the role copy rows.
void Expansion::inThread(bool all, llvm::function_ref<void()> build) {
  if (all)
    build();
  else
    inSingle(build);
}

//===----------------------------------------------------------------------===//
// The role that lists and copies
//===----------------------------------------------------------------------===//

// The entry of the list that belongs to tile `number` in the pipes, or to the end after the one
// before: each row tile has one entry more than tiles.
void Expansion::put(Value number, Value entry) {
  Value at = add(number, turn, "entry");
  inThread(!allCopy, [&] {
    AcquireOp::create(b, rows.getLoc(), stream.getBlockList(), at);
    PutOp::create(b, rows.getLoc(), stream.getBlockList(), at, entry);
  });
}

// What the list says of a tile: its number above bit `bit` of each of `words` (none: no bit set).
Value Expansion::entryOf(Value tile, Value bit, ArrayRef<Value> words) {
  Location loc = rows.getLoc();
  int64_t above = int64_t(1) << stream.getEntryBits();
  Value entry = arith::MulIOp::create(b, loc, tile, constant(above));
  for (auto [i, word] : llvm::enumerate(words)) {
    Value isSet = HasBitOp::create(b, loc, word, bit);
    Value flag = arith::SelectOp::create(b, loc, isSet, constant(int64_t(1) << i), constant(0));
    entry = add(entry, flag, "entry");
  }
  return entry;
}

// Copies a tile as far as its first steps need it, and the one before it to the end.
void Expansion::copyBlockList(Value number, Value tile, Value tileBefore, Value tilesBefore) {
  Location loc = rows.getLoc();
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number, tilesBefore);
  Tile now = begin(tile, number, isFirst);
  runStage(0, now);
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  Tile before = begin(tileBefore, add(number, -1, "before"), /*isFirst=*/false);
  runStage(1, before);
}

// The first tile of 32, counted from the end of the range where `chunk` is counted from its
// beginning. Where data decide, answers wait for memory; of sequences that follow each other rows
// see the nearest, so that tiles at the end are computed while those before them are asked in vain.
Value Expansion::lastChunkFirst(Value chunk) {
  Location loc = rows.getLoc();
  Value first = stream.getFirst();
  Value tiles = arith::SubIOp::create(b, loc, add(stream.getEnd(), -1, "last_tile"), first);
  Value before = arith::DivUIOp::create(b, loc, tiles, constant(kLanes));
  Value last = add(first, arith::MulIOp::create(b, loc, before, constant(kLanes)), "last_chunk");
  return arith::SubIOp::create(b, named("from_end"), add(last, first, "ends"), chunk);
}

// Lists and copies those of 32 tiles that matter. Carries the number in the pipes and the tile
// before.
SmallVector<Value> Expansion::copyChunk(Value chunk, ValueRange carried, Value tilesBefore) {
  Location loc = rows.getLoc();
  nameAll(b, carried, {"number", "tile_before"});
  if (stream.getFromEnd())
    chunk = lastChunkFirst(chunk);
  IRMapping asked;
  asked.map(stream.getAsk().getArgument(0), chunk);
  Block &ask = stream.getAsk().front();
  for (Operation &op : ask.without_terminator())
    b.clone(op, asked);
  auto words = llvm::map_to_vector(ask.getTerminator()->getOperands(),
                                   [&](Value word) { return asked.lookupOrDefault(word); });
  Value live = words.front();
  for (size_t i = 2; i < words.size(); i += 2)
    live = arith::OrIOp::create(b, named("live"), live, words[i]);
  // Where groups do not ask, whoever is listed is computed.
  ArrayRef<Value> said = ArrayRef(words).drop_front(groupsAsk() ? 0 : 1);
  auto isAny = [&](OpBuilder &, Location, ValueRange values) {
    nameAll(b, values, {"number", "tile_before", "live"});
    Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, values[2], constant(0));
    scf::ConditionOp::create(b, loc, some, values);
  };
  auto copy = [&](OpBuilder &, Location, ValueRange values) {
    nameAll(b, values, {"number", "tile_before", "live"});
    Value bit = FirstBitOp::create(b, named("bit"), values[2]);
    Value tile = add(chunk, bit, "t");
    inThread(allCopy, [&] {
      put(values[0], entryOf(tile, bit, said));
      copyBlockList(values[0], tile, values[1], tilesBefore);
    });
    Value rest = WithoutFirstBitOp::create(b, loc, values[2]);
    scf::YieldOp::create(b, loc, ValueRange{add(values[0], 1), tile, rest});
  };
  SmallVector<Value> start = {carried[0], carried[1], live};
  auto loop = scf::WhileOp::create(b, loc, ValueRange(start).getTypes(), start, isAny, copy);
  return llvm::to_vector(ValueRange(loop.getResults()).drop_back());
}

// What is asked of the rows alone is read from memory once, before the loop over tiles: nothing
// that the kernel reads is written while it runs.
static void hoistFromBallots(scf::ForOp loop) {
  auto isOutside = [&](Value value, Operation *op) {
    Operation *at = value.getParentBlock()->getParentOp();
    // Nobody holds yet the loop over row tiles that is being built around all this.
    return !at || op->isAncestor(at) || !loop->isAncestor(at);
  };
  for (auto vote : llvm::to_vector(loop.getBody()->getOps<BallotOp>()))
    for (Operation &op : llvm::make_early_inc_range(vote.getBodyBlock()->without_terminator())) {
      bool dependsOnTile =
          op.walk([&](Operation *inner) {
              return llvm::all_of(inner->getOperands(), [&](Value v) { return isOutside(v, &op); })
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
      if (!dependsOnTile)
        op.moveBefore(loop);
    }
}

// Returns the number of the tile after the row tile's last one.
Value Expansion::copyList(Value tilesBefore) {
  SmallVector<Value> start = {tilesBefore, stream.getFirst()};
  auto chunks = scf::ForOp::create(b, rows.getLoc(), stream.getFirst(), stream.getEnd(),
                                   constant(kLanes), start);
  chunks.getInductionVar().setLoc(named("chunk"));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(chunks.getBody());
    SmallVector<Value> after =
        copyChunk(chunks.getInductionVar(), chunks.getRegionIterArgs(), tilesBefore);
    scf::YieldOp::create(b, rows.getLoc(), after);
  }
  if (stream.getFromEnd())
    hoistFromBallots(chunks);
  return endCopies(chunks.getResult(0), chunks.getResult(1), tilesBefore);
}

// A row tile to which no tile matters has its first one, so that it takes part in the rhythm of the
// pipes.
Value Expansion::endCopies(Value number, Value tileBefore, Value tilesBefore) {
  Location loc = rows.getLoc();
  Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number, tilesBefore);
  Value after = arith::SelectOp::create(b, named("tiles_after"), none, add(tilesBefore, 1), number);
  inThread(allCopy, [&] {
    auto branch = scf::IfOp::create(b, loc, none, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      put(tilesBefore, entryOf(stream.getFirst(), {}, {}));
      Tile first = begin(stream.getFirst(), tilesBefore, /*isFirst=*/true);
      runStage(0, first);
    }
    put(after, constant(endEntry()));
    Tile last = begin(tileBefore, add(after, -1, "last"), /*isFirst=*/false, /*isLast=*/true);
    runStage(1, last);
  });
  return after;
}

//===----------------------------------------------------------------------===//
// The role that computes
//===----------------------------------------------------------------------===//

// The entry for tile `number` in the pipes, or for the end that follows the tile before it.
Value Expansion::take(Value number) {
  Location loc = rows.getLoc();
  Value at = add(number, turn, "entry"); // each row tile has an end
  AwaitOp::create(b, loc, stream.getBlockList(), at);
  Value entry = TakeOp::create(b, named("entry"), stream.getBlockList(), at);
  ReleaseOp::create(b, loc, stream.getBlockList(), at);
  return entry;
}

// The tile of an entry; whether it is full is that for this group.
Expansion::Tile Expansion::beginListed(Value number, Value entry) {
  Location loc = rows.getLoc();
  int64_t above = int64_t(1) << stream.getEntryBits();
  Value tile = arith::DivUIOp::create(b, named("t"), entry, constant(above));
  Value bit = groupsAsk() ? add(arith::MulIOp::create(b, loc, groupNumber(), constant(2)), 1, "bit")
                          : constant(0);
  Tile at = begin(tile, number, /*isFirst=*/false);
  at.map(stream.getIsFull(), HasBitOp::create(b, loc, entry, bit));
  return at;
}

// The entry is a tile that this group computes.
Value Expansion::isComputed(Value entry) {
  Location loc = rows.getLoc();
  if (!groupsAsk())
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, entry, constant(endEntry()));
  Value bit = arith::MulIOp::create(b, loc, groupNumber(), constant(2));
  return HasBitOp::create(b, loc, entry, bit);
}

// The group's tiles come in runs, between which it lets those of the other groups pass. A group
// that let tiles pass while it holds values could exhaust the pipes, so each run ends with its last
// stage. Returns the number after the row tile's last tile.
Value Expansion::foldList(Value tilesBefore) {
  Location loc = rows.getLoc();
  SmallVector<Value> start = {tilesBefore, take(tilesBefore)};
  if (!groupsAsk()) {
    Value after = foldRun(start[0], start[1]).front();
    releaseRows(1);
    return after;
  }
  auto isTile = [&](OpBuilder &, Location, ValueRange values) {
    nameAll(b, values, {"number", "entry"});
    Value some =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, values[1], constant(endEntry()));
    scf::ConditionOp::create(b, loc, some, values);
  };
  auto runOrPass = [&](OpBuilder &, Location, ValueRange values) {
    nameAll(b, values, {"number", "entry"});
    auto branch = scf::IfOp::create(b, named("ahead"), values.getTypes(), isComputed(values[1]),
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, foldRun(values[0], values[1]));
      b.setInsertionPointToStart(branch.elseBlock());
      Tile passed = begin(Value(), values[0], /*isFirst=*/false);
      passTile(passed);
      Value next = add(values[0], 1, "next");
      scf::YieldOp::create(b, loc, ValueRange{next, take(next)});
    }
    scf::YieldOp::create(b, loc, branch.getResults());
  };
  SmallVector<Type> types(2, b.getI32Type());
  auto loop = scf::WhileOp::create(b, loc, types, start, isTile, runOrPass);
  releaseRows(1);
  return loop.getResult(0);
}

// Folds the tile of `entry` and those that follow it until one is not for this group. Returns the
// number and the entry of that one.
SmallVector<Value> Expansion::foldRun(Value number, Value entry) {
  Location loc = rows.getLoc();
  Tile first = beginListed(number, entry);
  takeTurns(runStage(0, first));
  SmallVector<Value> start = handOn(first);
  Value second = add(number, 1);
  start.append({second, take(second)});
  auto nameCarried = [&](ValueRange values) {
    for (Value moved : values.drop_back(2))
      moved.setLoc(named("moved"));
    nameAll(b, values.take_back(2), {"number", "entry"});
  };
  auto goesOn = [&](OpBuilder &, Location, ValueRange values) {
    nameCarried(values);
    scf::ConditionOp::create(b, loc, isComputed(values.back()), values);
  };
  auto body = [&](OpBuilder &, Location, ValueRange values) {
    nameCarried(values);
    Value at = values[values.size() - 2];
    Tile now = beginListed(at, values.back());
    Tile before = begin(Value(), add(at, -1, "before"), /*isFirst=*/false);
    receive(values.drop_back(2), before);
    runAll(now, before);
    Value next = add(at, 1, "next");
    SmallVector<Value> after = handOn(now);
    after.append({next, take(next)});
    scf::YieldOp::create(b, loc, after);
  };
  auto loop = scf::WhileOp::create(b, loc, ValueRange(start).getTypes(), start, goesOn, body);
  ValueRange after = loop.getResults();
  Tile last = begin(Value(), add(after[after.size() - 2], -1, "last"), /*isFirst=*/false,
                    /*isLast=*/true);
  receive(after.drop_back(2), last);
  runLast(last);
  return llvm::to_vector(after.take_back(2));
}

} // namespace attnc::schedule
