#include "compiler/schedule/steps/expand_ahead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {
namespace {

constexpr int64_t kLanes = 32; // of a warp, each of which asks of a tile

class AheadExpansion {
public:
  explicit AheadExpansion(StreamAheadOp stream)
      : stream(stream), b(stream), ahead(static_cast<int64_t>(stream.getAhead())),
        parts(stream.countParts()) {}
  void expand();

private:
  // Copies.
  void startFirst();
  void startCopies(Value tile, Value part, Value number);
  void awaitCopies();
  Value awaitPart(Value part);

  // Tiles that matter.
  /// What is known of the tiles ahead: the first one that has not been asked of, and the words of
  /// the 32 before it, of which `live` is without those that have been taken.
  struct LiveTiles {
    Value next, live, full;
  };
  LiveTiles nextLive(LiveTiles from);
  std::pair<Value, Value> firstOf(LiveTiles left);

  // Loops.
  void loopOverTiles();
  void loopOverLive();
  void runTile(Value tile, Value number, Value next, Value isFull = {});
  void runStep(StepOp step);

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, stream.getLoc(), b.getI32IntegerAttr(value));
  }
  Location named(StringRef name) { return NameLoc::get(b.getStringAttr(name)); }
  /// i32: the tile that is so many tiles behind.
  Value behind(Value index, int64_t distance) {
    return arith::AddIOp::create(b, named("next"), index, constant(distance));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, stream.getLoc(), predicate, x, y);
  }
  void nameAll(ValueRange values, ArrayRef<StringRef> names) {
    for (auto [value, name] : llvm::zip_equal(values, names))
      value.setLoc(named(name));
  }

  StreamAheadOp stream;
  OpBuilder b;
  int64_t ahead, parts;
  /// The tiles that matter and whose copies run before the loop, and those after them.
  struct {
    SmallVector<Value> numbers, full;
    LiveTiles left;
  } first;
  // Of the tile at hand.
  Value tile, number, next; ///< `next`: the one that matters after it
  int64_t partsBefore = 0;  ///< of steps that have run
};

} // namespace

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

// A copy of the ops of a block in which constants are folded: a branch whose condition is known is
// one of its sides.
static void cloneFolded(OpBuilder &b, Block &block, IRMapping &map) {
  for (Operation &op : block) {
    if (isa<scf::YieldOp>(op))
      continue;
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch || !branch.getElseRegion().empty() || branch->getNumResults() != 0) {
      Operation *copy = b.clone(op, map);
      SmallVector<Value> folded;
      if (failed(b.tryFold(copy, folded)) || folded.empty()) // or folded in place
        continue;
      map.map(op.getResults(), folded);
      copy->erase();
      continue;
    }
    Value condition = map.lookupOrDefault(branch.getCondition());
    BoolAttr known;
    if (matchPattern(condition, m_Constant(&known))) {
      if (known.getValue())
        cloneFolded(b, *branch.thenBlock(), map);
      continue;
    }
    auto copy = scf::IfOp::create(b, branch.getLoc(), condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(copy.thenBlock());
    cloneFolded(b, *branch.thenBlock(), map);
  }
}

// Starts the copies of a tile, or a part of it, if the stream has the tile, and closes the group in
// any case, so that groups count tiles.
void AheadExpansion::startCopies(Value index, Value part, Value slot) {
  Location loc = stream.getLoc();
  Value exists = compare(arith::CmpIPredicate::slt, index, stream.getEnd());
  auto guarded = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(guarded.thenBlock());
    Block &copies = stream.getCopies().front();
    IRMapping map;
    map.map(copies.getArguments(), ValueRange{index, part, slot});
    cloneFolded(b, copies, map);
  }
  CommitOp::create(b, loc);
}

void AheadExpansion::awaitCopies() {
  WaitOp::create(b, stream.getLoc(), b.getI64IntegerAttr(ahead - 1));
  BarrierOp::create(b, stream.getLoc());
}

// Waits for part `part` of the tile at hand and starts the copies of a later one, perhaps of the
// next tile. Returns its number among all parts.
Value AheadExpansion::awaitPart(Value part) {
  Location loc = stream.getLoc();
  Value all = constant(parts);
  awaitCopies();
  Value before = arith::MulIOp::create(b, loc, number, all);
  Value inAll = arith::AddIOp::create(b, named("number"), before, part);
  Value later = arith::AddIOp::create(b, named("later"), part, constant(ahead));
  Value ofNext = compare(arith::CmpIPredicate::sge, later, all);
  Value laterOfNext = arith::SubIOp::create(b, loc, later, all);
  startCopies(arith::SelectOp::create(b, named("tile_ahead"), ofNext, next, tile),
              arith::SelectOp::create(b, named("part_ahead"), ofNext, laterOfNext, later),
              arith::AddIOp::create(b, loc, inAll, constant(ahead)));
  return inAll;
}

// Behind what fills shared memory before the stream, and what the copies are computed from.
static Operation *lastBefore(StreamAheadOp stream) {
  Block *block = stream->getBlock();
  Operation *last = nullptr;
  auto isLater = [&](Operation *op) { return op && (!last || last->isBeforeInBlock(op)); };
  for (Operation &op : llvm::make_range(block->begin(), stream->getIterator()))
    if (op.walk([](Operation *inner) {
            return isa<CopyOp, CopyRowsOp, TabulateOp>(inner) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
          }).wasInterrupted())
      last = &op;
  llvm::SetVector<Value> used(stream->operand_begin(), stream->operand_end());
  getUsedValuesDefinedAbove(stream.getCopies(), used);
  getUsedValuesDefinedAbove(stream.getAsk(), used);
  for (Value value : used)
    if (Operation *op = value.getDefiningOp(); isLater(op) && op->getBlock() == block)
      last = op;
  return last;
}

// What runs ahead of the first tile. Of tiles that matter whole ones are copied in the loop.
void AheadExpansion::startFirst() {
  if (Operation *last = lastBefore(stream))
    b.setInsertionPointAfter(last);
  else
    b.setInsertionPointToStart(stream->getBlock());
  if (parts == 0) {
    for (int64_t distance = 0; distance < ahead; ++distance) {
      Value index =
          b.createOrFold<arith::AddIOp>(stream.getLoc(), stream.getFirst(), constant(distance));
      startCopies(index, constant(0), index);
    }
    return;
  }
  Value index = stream.getFirst(), slot = index;
  if (stream.isListed()) {
    first.left = nextLive({stream.getFirst(), constant(0), constant(0)});
    auto [live, full] = firstOf(first.left);
    first.numbers.push_back(live);
    first.full.push_back(full);
    index = live;
    slot = constant(0);
  }
  Value before = b.createOrFold<arith::MulIOp>(stream.getLoc(), slot, constant(parts));
  for (int64_t part = 0; part < ahead; ++part)
    startCopies(index, constant(part),
                b.createOrFold<arith::AddIOp>(stream.getLoc(), before, constant(part)));
}

//===----------------------------------------------------------------------===//
// Tiles that matter
//===----------------------------------------------------------------------===//

// Without the first of `from`; asks on until there is a tile that matters, or no tile is left.
AheadExpansion::LiveTiles AheadExpansion::nextLive(LiveTiles from) {
  Location loc = stream.getLoc();
  Value rest = WithoutFirstBitOp::create(b, loc, from.live);
  SmallVector<Value> init = {from.next, rest, from.full};
  auto isSearching = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried, {"asked", "live", "full"});
    Value none = compare(arith::CmpIPredicate::eq, carried[1], constant(0));
    Value left = compare(arith::CmpIPredicate::slt, carried[0], stream.getEnd());
    scf::ConditionOp::create(b, loc, arith::AndIOp::create(b, loc, none, left), carried);
  };
  auto ask = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried, {"asked", "live", "full"});
    Block &question = stream.getAsk().front();
    IRMapping map;
    map.map(question.getArgument(0), carried[0]);
    for (Operation &op : question.without_terminator())
      b.clone(op, map);
    auto words = llvm::map_to_vector(question.getTerminator()->getOperands(),
                                     [&](Value word) { return map.lookupOrDefault(word); });
    Value asked = arith::AddIOp::create(b, loc, carried[0], constant(kLanes));
    scf::YieldOp::create(b, loc, ValueRange{asked, words[0], words[1]});
  };
  SmallVector<Type> types(3, b.getI32Type());
  auto loop = scf::WhileOp::create(b, loc, types, init, isSearching, ask);
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

// The first of `left`: its number, one beyond the last if there is none, and whether it is full.
std::pair<Value, Value> AheadExpansion::firstOf(LiveTiles left) {
  Location loc = stream.getLoc();
  SmallVector<Type> types = {b.getI32Type(), b.getI1Type()};
  Value some = compare(arith::CmpIPredicate::ne, left.live, constant(0));
  auto branch = scf::IfOp::create(b, named("ahead"), types, some, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value begin = arith::SubIOp::create(b, loc, left.next, constant(kLanes));
  Value bit = FirstBitOp::create(b, named("bit"), left.live);
  Value live = arith::AddIOp::create(b, loc, begin, bit);
  Value isFull = HasBitOp::create(b, loc, left.full, bit);
  scf::YieldOp::create(b, loc, ValueRange{live, isFull});
  b.setInsertionPointToStart(branch.elseBlock());
  Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  scf::YieldOp::create(b, loc, ValueRange{stream.getEnd(), no});
  return {branch.getResult(0), branch.getResult(1)};
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void AheadExpansion::expand() {
  if (parts != 0 || !stream.isListed())
    startFirst();
  b.setInsertionPoint(stream);
  if (stream.isListed())
    loopOverLive();
  else
    loopOverTiles();
  stream.erase();
}

void AheadExpansion::loopOverTiles() {
  auto loop =
      scf::ForOp::create(b, stream.getLoc(), stream.getFirst(), stream.getEnd(), constant(1));
  Value index = loop.getInductionVar();
  index.setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  if (parts != 0)
    return runTile(index, index, behind(index, 1));
  awaitCopies();
  Value later = behind(index, ahead);
  startCopies(later, constant(0), later);
  runTile(index, index, later);
}

// The same over those tiles that matter. What is known of the tiles that are on their way goes
// along. The first copies start in the loop, too, before there is a tile to compute, so that a tile
// is looked for in one place; unless tiles arrive in parts.
void AheadExpansion::loopOverLive() {
  Location loc = stream.getLoc();
  Value zero = constant(0), no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  Value firstSlot = zero;
  bool startsInside = parts == 0;
  if (startsInside) {
    first.numbers.assign(ahead, stream.getEnd());
    first.full.assign(ahead, no);
    first.left = {stream.getFirst(), zero, zero};
    firstSlot = constant(-ahead);
  }
  size_t count = first.numbers.size();
  SmallVector<Value> init(first.numbers);
  llvm::append_range(init, first.full);
  init.append({first.left.next, first.left.live, first.left.full, firstSlot});
  auto nameCarried = [&](ValueRange carried) {
    for (Value index : carried.take_front(count))
      index.setLoc(named("t"));
    for (Value full : carried.slice(count, count))
      full.setLoc(named("full"));
    nameAll(carried.take_back(4), {"asked", "live", "full", "slot"});
  };
  auto isLeft = [&](OpBuilder &, Location, ValueRange carried) {
    nameCarried(carried);
    Value left = compare(arith::CmpIPredicate::slt, carried[0], stream.getEnd());
    if (startsInside) {
      Value starts = compare(arith::CmpIPredicate::slt, carried.back(), zero);
      left = arith::OrIOp::create(b, loc, starts, left);
    }
    scf::ConditionOp::create(b, loc, left, carried);
  };
  auto visit = [&](OpBuilder &, Location, ValueRange carried) {
    nameCarried(carried);
    if (startsInside)
      awaitCopies();
    ValueRange known = carried.take_back(4);
    Value slot = known[3];
    LiveTiles left = nextLive({known[0], known[1], known[2]});
    auto [later, laterIsFull] = firstOf(left);
    {
      OpBuilder::InsertionGuard guard(b);
      if (startsInside) {
        startCopies(later, zero, behind(slot, ahead));
        Value isThere = compare(arith::CmpIPredicate::sge, slot, zero);
        auto branch = scf::IfOp::create(b, loc, isThere, /*withElseRegion=*/false);
        b.setInsertionPointToStart(branch.thenBlock());
      }
      runTile(carried[0], slot, later, carried[count]);
    }
    SmallVector<Value> after(carried.take_front(count).drop_front());
    after.push_back(later);
    llvm::append_range(after, carried.slice(count, count).drop_front());
    after.append({laterIsFull, left.next, left.live, left.full,
                  arith::AddIOp::create(b, loc, slot, constant(1))});
    scf::YieldOp::create(b, loc, after);
  };
  scf::WhileOp::create(b, loc, ValueRange(init).getTypes(), init, isLeft, visit);
}

void AheadExpansion::runTile(Value index, Value slot, Value after, Value isFull) {
  tile = index;
  number = slot;
  next = after;
  stream.getTile().replaceAllUsesWith(tile);
  stream.getNumber().replaceAllUsesWith(number);
  if (isFull)
    stream.getIsFull().replaceAllUsesWith(isFull);
  for (Operation &op : llvm::make_early_inc_range(*stream.getBodyBlock()))
    if (auto step = dyn_cast<StepOp>(op))
      runStep(step);
    else
      op.moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}

// A step in parts is a loop, whose copies go on into the next tile.
void AheadExpansion::runStep(StepOp step) {
  OpBuilder::InsertionGuard guard(b);
  if (std::optional<uint64_t> times = step.getParts()) {
    auto count = static_cast<int64_t>(*times);
    auto loop = scf::ForOp::create(b, step.getLoc(), constant(0), constant(count), constant(1));
    Value part = loop.getInductionVar();
    part.setLoc(named("part"));
    b.setInsertionPointToStart(loop.getBody());
    Value arrival = b.createOrFold<arith::AddIOp>(step.getLoc(), part, constant(partsBefore));
    step.getBody().getArgument(0).replaceAllUsesWith(part);
    step.getBody().getArgument(1).replaceAllUsesWith(awaitPart(arrival));
    partsBefore += count;
  }
  for (Operation &op : llvm::make_early_inc_range(step.getBodyBlock()->without_terminator()))
    op.moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}

void expandAhead(KernelOp kernel) {
  SmallVector<StreamAheadOp> streams;
  kernel.walk([&](StreamAheadOp stream) { streams.push_back(stream); });
  for (StreamAheadOp stream : streams)
    AheadExpansion(stream).expand();
}

} // namespace attnc::schedule
