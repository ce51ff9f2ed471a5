#include "compiler/schedule/steps/expand_pipeline.h"
#include "compiler/schedule/steps/expand_ahead.h"
#include "compiler/schedule/steps/expansion.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {
//===----------------------------------------------------------------------===//
// Row tiles
//===----------------------------------------------------------------------===//

void Expansion::expand() {
  b.setInsertionPoint(rows);
  if (rows.getPingPong())
    startTurns();
  Value first = blockNumber();
  if (!rows.getPersistent())
    expandRowTile(first, constant(0), constant(0));
  else if (rows.getQueue())
    takeDrawn(first);
  else
    takeInTurn(first);
  rows.erase();
}

// Of the cluster, if blocks run in one.
Value Expansion::blockNumber() {
  Value block = BlockOp::create(b, named("block"));
  auto blocks = static_cast<int64_t>(rows->getParentOfType<KernelOp>().getCluster().value_or(1));
  return blocks == 1
             ? block
             : arith::DivUIOp::create(b, named("cluster"), block, constant(blocks)).getResult();
}

void Expansion::takeInTurn(Value first) {
  Location loc = rows.getLoc();
  Value step = rows.getFirst() ? constant(1) : GridSizeOp::create(b, loc).getResult();
  Value zero = constant(0);
  if (rows.getFirst())
    first = rows.getFirst();
  auto loop = scf::ForOp::create(b, loc, first, rows.getCount(), step, ValueRange{zero, zero});
  loop.getInductionVar().setLoc(named("work"));
  loop.getRegionIterArg(0).setLoc(named("tiles_before"));
  loop.getRegionIterArg(1).setLoc(named("turn"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value turn = loop.getRegionIterArg(1);
  Value after = expandRowTile(loop.getInductionVar(), loop.getRegionIterArg(0), turn);
  scf::YieldOp::create(b, loc, ValueRange{after, add(turn, 1)});
}

// The first row tile of a block is its own number. Who copies draws the others, and hands the
// numbers, the first that is beyond all included, to those who compute.
void Expansion::takeDrawn(Value first) {
  Location loc = rows.getLoc();
  auto nameAll = [&](ValueRange values) {
    static constexpr StringRef names[] = {"work", "tiles_before", "turn"};
    for (auto [value, name] : llvm::zip_equal(values, names))
      value.setLoc(named(name));
  };
  auto isLeft = [&](OpBuilder &, Location, ValueRange values) {
    nameAll(values);
    Value left =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, values[0], rows.getCount());
    scf::ConditionOp::create(b, loc, left, values);
  };
  auto rowTile = [&](OpBuilder &, Location, ValueRange values) {
    nameAll(values);
    Value after = expandRowTile(values[0], values[1], values[2]);
    Value next = nextNumber();
    scf::YieldOp::create(b, loc, ValueRange{next, after, add(values[2], 1)});
  };
  SmallVector<Type> types(3, b.getI32Type());
  scf::WhileOp::create(b, loc, types, ValueRange{first, constant(0), constant(0)}, isLeft, rowTile);
}

// Blocks draw as many numbers as there are row tiles: all but each one's first, and each one that
// there is no row tile for.
void Expansion::draw() {
  Location loc = rows.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value ticket =
      TicketOp::create(b, named("ticket"), rows.getCounter(), zero, rows.getCount(), true);
  drawn = add(GridSizeOp::create(b, loc), ticket, "next");
}

Value Expansion::nextNumber() {
  Location loc = rows.getLoc();
  Value queue = rows.getQueue();
  auto handOver = [&] {
    AcquireOp::create(b, loc, queue, turn);
    PutOp::create(b, loc, queue, turn, drawn);
  };
  if (drawn) {
    handOver();
    return drawn;
  }
  // Where its warp comes along, the other threads learn the number as those that compute do.
  if (rows.getCounter())
    inSingle([&] {
      draw();
      handOver();
    });
  AwaitOp::create(b, loc, queue, turn);
  Value next = TakeOp::create(b, named("next"), queue, turn);
  if (!rows.getCounter())
    ReleaseOp::create(b, loc, queue, turn);
  return next;
}

// Behind the stream a block that takes one row tile reads its number anew: the registers that hold
// what is computed from it are free while the stream needs all of them.
void Expansion::readNumberAgain() {
  Operation *stream = *rows.getBodyBlock()->getOps<StreamOp>().begin();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(stream);
  Value again = blockNumber();
  rows.getNumber().replaceUsesWithIf(again, [&](OpOperand &use) {
    return stream->isBeforeInBlock(rows.getBodyBlock()->findAncestorOpInBlock(*use.getOwner()));
  });
}

// Whether ops behind the stream await a tile, which is copied behind all tiles of the stream.
static bool awaitsBehind(StreamOp stream) {
  for (Operation *op = stream->getNextNode(); op; op = op->getNextNode())
    if (isa<AwaitOp>(op))
      return true;
  return false;
}

// Returns the number of the tile after the row tile's last one. What a group lets pass at the end
// it does after everything else, unless that waits for what is copied behind those tiles, or there
// may be no tile.
Value Expansion::expandRowTile(Value work, Value tilesBefore, Value taken) {
  if (!rows.getPersistent())
    readNumberAgain();
  rows.getNumber().replaceAllUsesWith(work);
  rows.getTurn().replaceAllUsesWith(taken);
  turn = taken;
  Value after = tilesBefore;
  auto passLast = [&] {
    Value shift = b.createOrFold<arith::SubIOp>(named("shift"), tilesBefore, stream.getFirst());
    passOver(stream.getOwnEnd(), stream.getEnd(), shift);
    after = add(stream.getEnd(), shift, "tiles_after");
  };
  bool passesFirst = false;
  Block *into = b.getInsertionBlock();
  Block::iterator at = b.getInsertionPoint();
  for (Operation &op : llvm::make_early_inc_range(*rows.getBodyBlock())) {
    b.setInsertionPoint(into, at);
    if (auto tiles = dyn_cast<StreamOp>(op)) {
      if (tiles.getAny())
        enterIfAny(tiles);
      after = expandStream(tiles, tilesBefore);
      passesFirst = tiles.getOwnEnd() && (tiles.getAny() || awaitsBehind(tiles));
      if (passesFirst)
        passLast();
    } else {
      op.moveBefore(into, at);
    }
  }
  b.setInsertionPoint(into, at);
  if (stream && stream.getOwnEnd() && !passesFirst)
    passLast();
  if (stream)
    stream.erase();
  return after;
}

// Goes into a branch that is taken if there are tiles, and takes along what rows await.
void Expansion::enterIfAny(StreamOp tiles) {
  auto branch = scf::IfOp::create(b, tiles.getLoc(), tiles.getAny(), /*withElseRegion=*/false);
  Operation *first = branch;
  while (first->getPrevNode() && isa<AwaitOp, PublishOp>(first->getPrevNode()))
    first = first->getPrevNode();
  Operation *end = branch.thenBlock()->getTerminator();
  branch.thenBlock()->getOperations().splice(end->getIterator(),
                                             branch->getBlock()->getOperations(),
                                             first->getIterator(), branch->getIterator());
  b.setInsertionPoint(end);
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

SmallVector<StepOp> Expansion::stepsInOrder() {
  auto steps = llvm::to_vector(stream.getBodyBlock()->getOps<StepOp>());
  llvm::sort(steps, [](StepOp x, StepOp y) {
    return x.getOrder() != y.getOrder() ? x.getOrder() < y.getOrder() : x->isBeforeInBlock(y);
  });
  return steps;
}

SmallVector<StepOp> Expansion::stepsOfStage(unsigned stage) {
  SmallVector<StepOp> steps = stepsInOrder();
  llvm::erase_if(steps, [&](StepOp step) { return step.getStage() != stage; });
  return steps;
}

SmallVector<Value> Expansion::carriedValues() {
  SmallVector<Value> values;
  for (StepOp step : stepsOfStage(0))
    for (Value result : step.getResults())
      if (llvm::any_of(result.getUsers(), [](Operation *user) {
            return user->getParentOfType<StepOp>().getStage() == 1;
          }))
        values.push_back(result);
  return values;
}

Value Expansion::expandStream(StreamOp op, Value tilesBefore) {
  stream = op;
  allCopy = op.walk([](CopyRowsOp) { return WalkResult::interrupt(); }).wasInterrupted();
  carried = carriedValues();
  if (op.isListed())
    return op.getAsk().empty() ? foldList(tilesBefore) : copyList(tilesBefore);
  Value first = op.getFirst();
  Value ownFirst = op.getOwnFirst() ? op.getOwnFirst() : first;
  Value ownEnd = op.getOwnEnd() ? op.getOwnEnd() : op.getEnd();
  Value shift = b.createOrFold<arith::SubIOp>(named("shift"), tilesBefore, first);
  if (op.getOwnFirst())
    passOver(first, ownFirst, shift);
  Tile at = begin(ownFirst, add(ownFirst, shift), /*isFirst=*/true);
  runStage(0, at);
  loopOverTiles(add(ownFirst, 1), ownEnd, shift, at);
  Value after = add(ownEnd, shift, "tiles_after");
  releaseRows(0);
  // As late as the time until the last slot is free still hides how long it takes.
  if (rows.getCounter())
    draw();
  Tile last = begin(add(ownEnd, -1), add(after, -1, "last"), /*isFirst=*/false, /*isLast=*/true);
  receive(handOn(at), last);
  runLast(last);
  releaseRows(1);
  return after;
}

Expansion::Tile Expansion::begin(Value tile, Value number, Value isFirst, bool isLast) {
  Tile at;
  at.map(stream.getTile(), tile);
  at.map(stream.getNumber(), number);
  at.map(stream.getIsFirst(), isFirst);
  if (!stream.getIsLast().use_empty())
    at.map(stream.getIsLast(), flag(isLast));
  return at;
}

Expansion::Tile Expansion::begin(Value tile, Value number, bool isFirst, bool isLast) {
  return begin(tile, number, flag(isFirst), isLast);
}

SmallVector<StepOp> Expansion::runStage(unsigned stage, Tile &at) {
  SmallVector<StepOp> done;
  for (StepOp step : stepsOfStage(stage))
    prepare(step, at);
  for (StepOp step : stepsOfStage(stage))
    if (StepOp copy = run(step, at))
      done.push_back(copy);
  return done;
}

// What is carried from a tile's steps to those of a later stage.
SmallVector<Value> Expansion::handOn(Tile &from) {
  return llvm::map_to_vector(carried, [&](Value value) { return from.lookup(value); });
}

void Expansion::receive(ValueRange values, Tile &into) {
  for (auto [value, now] : llvm::zip_equal(carried, values))
    into.map(value, now);
}

// What rows need is free when the last tile's last steps that read it are done.
void Expansion::releaseRows(unsigned stage) {
  llvm::SmallPtrSet<Value, 4> later;
  for (StepOp step : stepsOfStage(stage + 1))
    step.walk([&](StageOp tile) { later.insert(tile.getRing()); });
  for (auto release : llvm::make_early_inc_range(stream.getBodyBlock()->getOps<ReleaseOp>()))
    if (!later.contains(release.getPipe()))
      release->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}

// The last stage of the last tile: what it has started is awaited at its end.
void Expansion::runLast(Tile &last) {
  if (SmallVector<StepOp> steps = runStage(1, last); !steps.empty())
    steps.back().setPending(0);
}

// After the loop, `first` has the values that the last tile's steps have handed on.
void Expansion::loopOverTiles(Value from, Value to, Value shift, Tile &first) {
  Location loc = rows.getLoc();
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1), handOn(first));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  Value number = add(tile, shift);
  Tile now = begin(tile, number, /*isFirst=*/false);
  Tile before = begin(add(tile, -1), add(number, -1, "before"), /*isFirst=*/false);
  for (Value argument : loop.getRegionIterArgs())
    argument.setLoc(named("moved"));
  receive(loop.getRegionIterArgs(), before);
  runAll(now, before);
  if (!carried.empty())
    scf::YieldOp::create(b, loc, handOn(now));
  receive(loop.getResults(), first);
}

// One iteration: steps in their order, those of stage 1 for the tile before.
void Expansion::runAll(Tile &now, Tile &before) {
  SmallVector<StepOp> done;
  for (StepOp step : stepsInOrder())
    prepare(step, step.getStage() == 0 ? now : before);
  for (StepOp step : stepsInOrder())
    if (StepOp copy = run(step, step.getStage() == 0 ? now : before))
      done.push_back(copy);
  takeTurns(done);
}

// What `value` is computed from in a block that is about one tile.
void Expansion::copyScalars(Value value, Block *from, Tile &at) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != from || at.contains(value))
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      copyScalars(operand, from, at);
  });
  b.clone(*op, at);
}

// A branch that asks whether the tile is the first is one of its sides.
static void takeKnownBranches(StepOp step) {
  SmallVector<scf::IfOp> branches;
  step.walk([&](scf::IfOp branch) { branches.push_back(branch); });
  for (scf::IfOp branch : branches) {
    BoolAttr known;
    if (!matchPattern(branch.getCondition(), m_Constant(&known)))
      continue;
    Region &side = known.getValue() ? branch.getThenRegion() : branch.getElseRegion();
    if (!side.empty()) {
      Operation *yield = side.front().getTerminator();
      branch->replaceAllUsesWith(yield->getOperands());
      for (Operation &op : llvm::make_early_inc_range(side.front().without_terminator()))
        op.moveBefore(branch);
    }
    branch.erase();
  }
}

// What a step uses of its tile; before any step runs, so that nothing stands between its products
// and who waits for them.
void Expansion::prepare(StepOp step, Tile &at) {
  llvm::SetVector<Value> used;
  step->walk([&](Operation *op) { used.insert(op->operand_begin(), op->operand_end()); });
  for (Value value : used)
    copyScalars(value, stream.getBodyBlock(), at);
}

StepOp Expansion::run(StepOp step, Tile &at) {
  auto copy = cast<StepOp>(b.clone(*step, at));
  takeKnownBranches(copy);
  if (copy->getNumResults() != 0 || !copy.getBodyBlock()->without_terminator().empty())
    return copy;
  copy.erase();
  return {};
}

void Expansion::passOver(Value from, Value to, Value shift) {
  Location loc = rows.getLoc();
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Tile at = begin(loop.getInductionVar(), add(loop.getInductionVar(), shift), false);
  passTile(at);
}

// A group that lets a tile pass awaits and releases what comes with it, and takes turns as often as
// the groups that compute.
void Expansion::passTile(Tile &at) {
  Location loc = rows.getLoc();
  OpBuilder::InsertionGuard guard(b);
  auto pass = StepOp::create(b, loc, TypeRange(), "pass", 0);
  b.setInsertionPointToStart(&pass.getBody().emplaceBlock());
  // Everything is awaited before anything is released, but for parts: of these fewer may fit.
  SmallVector<Operation *> awaits, releases;
  for (StepOp step : stream.getBodyBlock()->getOps<StepOp>())
    for (Operation &op : *step.getBodyBlock())
      if (isa<AwaitOp, ReleaseOp>(op))
        (isa<AwaitOp>(op) ? awaits : releases).push_back(&op);
  auto copy = [&](Operation *op) {
    copyScalars(op->getOperand(1), op->getBlock(), at);
    b.clone(*op, at);
  };
  for (auto [i, op] : llvm::enumerate(awaits)) {
    copy(op);
    auto isOfPipe = [&](Operation *other) { return other->getOperand(0) == op->getOperand(0); };
    if (llvm::none_of(ArrayRef(awaits).drop_front(i + 1), isOfPipe))
      continue;
    Operation **release = llvm::find_if(releases, isOfPipe);
    copy(*release);
    releases.erase(release);
  }
  for (Operation *op : releases)
    copy(op);
  if (rows.getPingPong()) {
    takeTurn();
    passTurn();
  }
  YieldOp::create(b, loc, ValueRange());
}

//===----------------------------------------------------------------------===//
// Groups that take turns
//===----------------------------------------------------------------------===//

// Threads that meet at a group's barrier: its own, and those of the group before it.
static constexpr int64_t kTurnThreads = 256;

Value Expansion::groupNumber() {
  auto role = rows->getParentOfType<RoleOp>();
  return *role.getBodyBlock()->getOps<GroupOp>().begin();
}

// The first turn is the first group's.
void Expansion::startTurns() {
  Location loc = rows.getLoc();
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, groupNumber(), constant(0));
  auto branch = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  BarrierArriveOp::create(b, loc, constant(1), b.getI64IntegerAttr(kTurnThreads));
}

void Expansion::takeTurn() {
  BarrierSyncOp::create(b, rows.getLoc(), Type(), add(groupNumber(), 1),
                        b.getI64IntegerAttr(kTurnThreads), Value());
}

void Expansion::passTurn() {
  Location loc = rows.getLoc();
  Value next = add(groupNumber(), 2);
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, groupNumber(),
                                       constant(static_cast<int64_t>(rows.getGroups()) - 1));
  next = arith::SelectOp::create(b, loc, isLast, constant(1), next);
  BarrierArriveOp::create(b, loc, next, b.getI64IntegerAttr(kTurnThreads));
}

// Of steps that follow each other: those from the first to the last that is done in turn.
void Expansion::takeTurns(ArrayRef<StepOp> steps) {
  auto inTurn =
      llvm::to_vector(llvm::make_filter_range(steps, [](StepOp step) { return step.getTurn(); }));
  if (inTurn.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  auto awaits = llvm::to_vector(inTurn.front().getBodyBlock()->getOps<AwaitOp>());
  if (awaits.empty())
    b.setInsertionPointToStart(inTurn.front().getBodyBlock());
  else
    b.setInsertionPointAfter(awaits.back());
  takeTurn();
  b.setInsertionPointAfter(inTurn.back());
  passTurn();
}

void expandPipeline(KernelOp kernel) {
  expandAhead(kernel);
  SmallVector<RowTilesOp> all;
  for (RoleOp role : kernel.getBodyBlock()->getOps<RoleOp>())
    role.walk([&](RowTilesOp rows) { all.push_back(rows); });
  for (RowTilesOp rows : all)
    Expansion(rows).expand();
}

} // namespace attnc::schedule
