#include "compiler/schedule/warpgroup_compute.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Measured: 128 columns and more gain 2 % from a rescale that products hide, 64 columns lose 2 %.
static constexpr int64_t kWideState = 96;

void WarpgroupCompute::build() {
  Location loc = nest.getLoc();
  auto role = tile::RoleOp::create(b, loc, b.getStringAttr("compute"), b.getI64IntegerAttr(4),
                                   b.getI64IntegerAttr(4 * schedule.groups),
                                   b.getI64IntegerAttr(schedule.groupRegisters));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  group = tile::GroupOp::create(b, named("group"));
  if (schedule.alternate) {
    Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group, constant(0));
    auto branch = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    tile::SignalOp::create(b, loc, constant(1), b.getI64IntegerAttr(256));
  }
  auto body = [&](Value work, Counters before) {
    locate(work);
    locateRows();
    return computeRowTile(before);
  };
  forEachWork(body, [&](Value turn) { return takeNext(turn); });
  if (!block.results.empty())
    awaitStores();
}

Value WarpgroupCompute::takeNext(Value turn) {
  Location loc = nest.getLoc();
  tile::AwaitOp::create(b, loc, block.queue, turn);
  Value next = tile::TakeOp::create(b, named("next"), block.queue, turn);
  tile::ReleaseOp::create(b, loc, block.queue, turn);
  return next;
}

void WarpgroupCompute::locateRows() {
  Location loc = nest.getLoc();
  std::string row = plan.row.getValue().str();
  auto div = [&](Value x, int64_t y) -> Value {
    return b.createOrFold<arith::DivUIOp>(loc, x, constant(y));
  };
  auto rem = [&](Value x, int64_t y) -> Value {
    return arith::RemUIOp::create(b, loc, x, constant(y));
  };
  Value first = arith::MulIOp::create(b, loc, group, constant(64));
  Value warp = tile::WarpOp::create(b, named("warp"));
  warpRow = arith::MulIOp::create(b, named("warp_row"), add(warp, -4), constant(16));
  branchRows = std::min<int64_t>(64, tiles.rows);
  if (tiles.pack == 1) {
    branchRow0 = arith::AddIOp::create(b, named(row + "_group"), row0, first);
    rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, warpRow);
  } else {
    // The tile has the rows of one index of the packed dim after those of the other.
    StringAttr dim = plan.packing->dim;
    Value index = widen(div(warpRow, tiles.rows), "");
    index = arith::AddIOp::create(b, named(dim.getValue()), uniform.index(dim), index);
    uniform.bind(dim, index);
    branchRow0 = arith::AddIOp::create(b, named(row + "_group"), row0, rem(first, tiles.rows));
    rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, rem(warpRow, tiles.rows));
  }
  indexValues.append({branchRow0, rowBegin});
}

// The block's tiles pass through the pipes for all groups; those that matter to none of a group's
// rows it lets pass.
WarpgroupFrame::Counters WarpgroupCompute::computeRowTile(Counters before) {
  Location loc = nest.getLoc();
  // Tiles that are not copied are skipped by all groups alike.
  bool skips = skipsTiles();
  if (skips)
    firstTile = endTile = constant(0); // of no use
  else
    std::tie(firstTile, endTile) = tileRange(row0, tiles.rows);
  Value ownFirst = firstTile, ownEnd = endTile;
  Value last = add(endTile, -1, "last_tile");
  bool differs = nest.getDomainBlock() && schedule.groups > 1 && !skips && mayPassTiles();
  if (differs) {
    std::tie(ownFirst, ownEnd) = tileRange(branchRow0, branchRows);
    ownFirst = arith::MaxSIOp::create(b, named("own_lo"), ownFirst, firstTile);
    ownFirst = arith::MinSIOp::create(b, named("own_first"), ownFirst, last);
    ownEnd = arith::MinSIOp::create(b, named("own_hi"), ownEnd, endTile);
    ownEnd = arith::MaxSIOp::create(b, named("own_end"), ownEnd, add(ownFirst, 1));
  }
  Value shift = b.createOrFold<arith::SubIOp>(named("shift"), before.streamed, firstTile);
  rowTileNumber = before.resident;
  hoistUniform();
  createPlaces();
  for (auto &[read, pipe] : block.residents)
    tile::AwaitOp::create(b, loc, pipe, before.resident);
  if (differs)
    passOver(firstTile, ownFirst, shift);
  SmallVector<Value> moved;
  Value after;
  if (skips) {
    after = foldListed(before);
  } else {
    firstTileOfRows(ownFirst, add(ownFirst, shift));
    moved = loopOverTiles(add(ownFirst, 1), ownEnd, shift);
    after = add(ownEnd, shift);
  }
  for (auto &[read, pipe] : block.residents)
    tile::ReleaseOp::create(b, loc, pipe, before.resident);
  if (!skips)
    lastProducts(add(after, -1, "last"), moved);
  completeStates();
  storeResults(
      [&](Value array, Value result, bool isLast) { storeFragment(array, result, isLast); });
  if (differs)
    passOver(ownEnd, endTile, shift);
  return {skips ? after : add(endTile, shift), add(before.resident, 1)};
}

void WarpgroupCompute::createPlaces() {
  reference.clear();
  top.clear();
  state.clear();
  scaleParam.clear();
  perScore.clear();
  createStates(/*keepTops=*/false);
  places.clear();
  for (const Contraction &contraction : plan.contractions)
    places.push_back(contractionPlace(red::FoldOp(contraction.fold), {}));
  factors.clear();
  for (const Reference &r : plan.references)
    factors.push_back(
        registers(attn::renamed(red::FoldOp(r.fold).getLoc(), "rescale"), rowsType()));
  operands.assign(plan.weights.size(), Value());
  for (const StreamState &s : plan.states)
    if (s.streamed != -1 && !operands[s.weight]) {
      auto type = tile::OperandType::get(b.getContext(), tiles.warpRows, tiles.columns,
                                         plan.streamed[s.streamed].element);
      operands[s.weight] = registers(attn::renamed(red::FoldOp(s.fold).getLoc(), "weights"), type);
    }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

// Nothing to overlap with yet.
void WarpgroupCompute::firstTileOfRows(Value tile, Value number) {
  beginTile(tile);
  awaitOperands(/*early=*/true, number);
  startScores(number);
  commit();
  wait(0, places);
  releaseOperands(/*ofStates=*/false, number);
  foldTile(/*first=*/true, number);
  convertWeights();
}

// Returns which references have moved in the last tile, i1 each.
SmallVector<Value> WarpgroupCompute::loopOverTiles(Value from, Value to, Value shift) {
  Location loc = nest.getLoc();
  Value none = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  SmallVector<Value> noneMoved(plan.references.size(), none);
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1), noneMoved);
  loop.getInductionVar().setLoc(named("t"));
  for (Value moved : loop.getRegionIterArgs())
    moved.setLoc(named("moved"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = add(loop.getInductionVar(), shift);
  SmallVector<Value> moved =
      pipelinedTile(loop.getInductionVar(), number, loop.getRegionIterArgs());
  if (!moved.empty())
    scf::YieldOp::create(b, loc, moved);
  return llvm::to_vector(ValueRange(loop.getResults()));
}

// Fragments whose reference has moved are rescaled while the products of the next scores run, which
// holds up the group whose turn is next; narrow ones, soon done, before.
bool WarpgroupCompute::rescalesBehindScores() const {
  return llvm::any_of(plan.states, [&](const StreamState &s) {
    return s.streamed != -1 && plan.streamed[s.streamed].cols >= kWideState;
  });
}

SmallVector<Value> WarpgroupCompute::pipelinedTile(Value tile, Value number, ValueRange moved,
                                                   Value isKnownFull) {
  Value before = add(number, -1, "before");
  beginTile(tile, isKnownFull);
  if (!rescalesBehindScores())
    rescaleMoved(moved);
  awaitOperands(/*early=*/true, number);
  takeTurn();
  startScores(number);
  commit();
  if (rescalesBehindScores())
    rescaleMoved(moved);
  awaitOperands(/*early=*/false, before);
  startStates(before);
  commit();
  passTurn();
  wait(1, places);
  releaseOperands(/*ofStates=*/false, number);
  SmallVector<Value> movedNow = foldTile(/*first=*/false, number);
  SmallVector<Value> settled = statePlaces();
  for (Value fragment : fragments)
    if (!llvm::is_contained(settled, fragment))
      settled.push_back(fragment);
  wait(0, settled);
  releaseOperands(/*ofStates=*/true, before);
  convertWeights();
  return movedNow;
}

void WarpgroupCompute::lastProducts(Value number, ValueRange moved) {
  rescaleMoved(moved);
  awaitOperands(/*early=*/false, number);
  startStates(number);
  commit();
  wait(0, statePlaces());
  releaseOperands(/*ofStates=*/true, number);
}

void WarpgroupCompute::rescaleMoved(ValueRange moved) {
  for (auto [number, flag] : llvm::enumerate(moved)) {
    auto branch = scf::IfOp::create(b, nest.getLoc(), flag, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    rescaleFragments(number, factors[number]);
  }
}

// Takes turns as often as the groups that compute.
void WarpgroupCompute::passOver(Value from, Value to, Value shift) {
  Location loc = nest.getLoc();
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  passTile(add(loop.getInductionVar(), shift));
}

void WarpgroupCompute::passTile(Value number) {
  passParts(number);
  for (bool early : {true, false})
    awaitOperands(early, number);
  releaseOperands(/*ofStates=*/false, number);
  releaseOperands(/*ofStates=*/true, number);
  for (auto &[read, pipe] : block.inputs) {
    tile::AwaitOp::create(b, read->getLoc(), pipe, number);
    tile::ReleaseOp::create(b, read->getLoc(), pipe, number);
  }
  takeTurn();
  passTurn();
}

//===----------------------------------------------------------------------===//
// Operands and products
//===----------------------------------------------------------------------===//

void WarpgroupCompute::awaitOperands(bool early, Value number) {
  for (auto [i, pipe] : llvm::enumerate(block.streamed))
    if (isEarly(i) == early && scoreParts(i) == 1)
      tile::AwaitOp::create(b, attn::ReadOp(plan.streamed[i].read).getLoc(), pipe, number);
}

// An operand of both kinds of products is released after the later one.
void WarpgroupCompute::releaseOperands(bool ofStates, Value number) {
  for (auto [i, pipe] : llvm::enumerate(block.streamed))
    if (isStateOperand(i) == ofStates)
      tile::ReleaseOp::create(b, attn::ReadOp(plan.streamed[i].read).getLoc(), pipe,
                              lastPart(i, number));
}

void WarpgroupCompute::startScores(Value number) {
  Location loc = nest.getLoc();
  auto isWhole = [&](const Contraction &c) { return scoreParts(c.streamed) == 1; };
  if (llvm::any_of(plan.contractions, isWhole)) // parts have fences of their own
    tile::MmaFenceOp::create(b, loc);
  for (auto [contraction, place] : llvm::zip(plan.contractions, places)) {
    red::FoldOp fold = contraction.fold;
    contractionFragments[fold] = place;
    Value pipe = block.residents[attn::ReadOp(contraction.resident.read)];
    tile::SharedType whole = cast<tile::PipeType>(pipe.getType()).getTile();
    Value resident = tile::StageOp::create(b, loc, whole, pipe, rowTileNumber);
    auto part = tile::SharedType::get(b.getContext(), 64, whole.getCols(), whole.getElement(),
                                      whole.getRows());
    Value row = arith::MulIOp::create(b, loc, group, constant(64));
    Value strip = tile::StripOp::create(b, loc, part, resident, row);
    Value ring = block.streamed[contraction.streamed];
    if (!isWhole(contraction)) {
      startParts(contraction, place, strip, number);
      continue;
    }
    Value streamed =
        tile::StageOp::create(b, loc, cast<tile::PipeType>(ring.getType()).getTile(), ring, number);
    tile::MmaStartOp::create(b, fold.getLoc(), place, strip, streamed, /*transposed=*/true,
                             /*fresh=*/true);
  }
}

void WarpgroupCompute::startStates(Value number) {
  Location loc = nest.getLoc();
  tile::MmaFenceOp::create(b, loc);
  for (auto [s, place] : llvm::zip(plan.states, state)) {
    if (s.streamed == -1)
      continue;
    Value ring = block.streamed[s.streamed];
    Value streamed =
        tile::StageOp::create(b, loc, cast<tile::PipeType>(ring.getType()).getTile(), ring, number);
    tile::MmaStartOp::create(b, red::FoldOp(s.fold).getLoc(), place, operands[s.weight], streamed,
                             /*transposed=*/false, /*fresh=*/false);
  }
}

void WarpgroupCompute::commit() { tile::MmaCommitOp::create(b, nest.getLoc()); }

void WarpgroupCompute::wait(int64_t pending, ArrayRef<Value> settled) {
  tile::MmaWaitOp::create(b, nest.getLoc(), b.getI64IntegerAttr(pending), settled);
}

SmallVector<Value> WarpgroupCompute::statePlaces() {
  SmallVector<Value> list;
  for (Value place : state)
    if (isa<tile::FragmentType>(place.getType()))
      list.push_back(place);
  return list;
}

// Groups start their products one after the other, so that the products of one run while the others
// compute weights.
void WarpgroupCompute::takeTurn() {
  if (schedule.alternate)
    tile::MeetOp::create(b, nest.getLoc(), Type(), add(group, 1), b.getI64IntegerAttr(256),
                         Value());
}

void WarpgroupCompute::passTurn() {
  if (!schedule.alternate)
    return;
  Location loc = nest.getLoc();
  Value next = add(group, 2);
  Value isLast =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group, constant(schedule.groups - 1));
  next = arith::SelectOp::create(b, loc, isLast, constant(1), next);
  tile::SignalOp::create(b, loc, next, b.getI64IntegerAttr(256));
}

//===----------------------------------------------------------------------===//
// Scores, references, weights
//===----------------------------------------------------------------------===//

// With `first` the states are empty. Else returns which references have moved.
SmallVector<Value> WarpgroupCompute::foldTile(bool first, Value number) {
  SmallVector<Value> moved;
  awaitInputs(number);
  for (unsigned reference = 0; reference < plan.references.size(); ++reference) {
    if (first)
      firstReference(reference);
    else
      moved.push_back(followMaximum(reference));
  }
  foldScores();
  fragments.clear();
  keepLowerSums();
  for (auto [i, weight] : llvm::enumerate(plan.weights)) {
    fragments.push_back(weightFragment(weight));
    sumRows(i, fragments.back());
  }
  foldMoments(fragments);
  // One lane releases what all have read.
  if (!block.inputs.empty())
    tile::WarpMeetOp::create(b, nest.getLoc());
  for (auto &[read, pipe] : block.inputs)
    tile::ReleaseOp::create(b, read->getLoc(), pipe, number);
  return moved;
}

// The warp's rows of the tensors that arrive with the scores.
void WarpgroupCompute::awaitInputs(Value number) {
  inputTiles.clear();
  for (auto &[read, pipe] : block.inputs) {
    Location loc = read->getLoc();
    tile::AwaitOp::create(b, loc, pipe, number);
    tile::SharedType whole = cast<tile::PipeType>(pipe.getType()).getTile();
    Value stage = tile::StageOp::create(b, loc, whole, pipe, number);
    auto part = tile::SharedType::get(b.getContext(), tiles.warpRows, whole.getCols(),
                                      whole.getElement(), whole.getRows());
    inputTiles[read->getResult(0)] = tile::StripOp::create(b, loc, part, stage, warpRow);
  }
}

void WarpgroupCompute::firstReference(unsigned number) {
  red::FoldOp fold = plan.references[number].fold;
  Location loc = fold.getLoc();
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  Value into = top[number] ? top[number] : reference[number];
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, score, into);
  tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, into);
  if (top[number])
    map(loc, {}, {}, {{into, {}}}, reference[number],
        [](PointEvaluator &, ValueRange x) -> SmallVector<Value> { return {x[0]}; });
  anchorExponents(number);
}

// The reference moves when some row of the warp exceeds it by more than the slack; weights stay
// below 2^slack. Fragments, which products still change, are rescaled later.
Value WarpgroupCompute::followMaximum(unsigned number) {
  red::FoldOp fold = plan.references[number].fold;
  Location loc = fold.getLoc();
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  Value kept = top[number];
  if (!kept) {
    std::string name = attn::specName(loc).str();
    top[number] = registers(attn::renamed(loc, name + "_top"), rowsType());
    map(loc, {}, {}, {{reference[number], {}}}, top[number],
        [](PointEvaluator &, ValueRange x) -> SmallVector<Value> { return {x[0]}; });
  }
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, score, top[number]);
  Value moved = exceedsReference(number);
  auto branch = scf::IfOp::create(b, loc, moved, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, top[number]);
    moveReference(number, factors[number]);
    anchorExponents(number);
  }
  top[number] = kept;
  return moved;
}

void WarpgroupCompute::convertWeights() {
  for (auto [fragment, operand] : llvm::zip(fragments, operands))
    if (operand)
      tile::ConvertOp::create(b, nest.getLoc(), fragment, operand);
}

SmallVector<Value> buildCompute(red::NestOp nest, const StreamPlan &plan,
                                const WarpgroupSchedule &schedule, const KernelSignature &signature,
                                tile::KernelOp kernel, OpBuilder &builder,
                                const BlockPlaces &block) {
  WarpgroupCompute compute(nest, plan, schedule, signature, kernel, builder);
  compute.use(block);
  compute.build();
  return llvm::to_vector(compute.indices());
}

} // namespace attnc::schedule
