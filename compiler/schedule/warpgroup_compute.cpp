#include "compiler/schedule/warpgroup_frame.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

/// Each warpgroup folds the stream into the states of its 64 rows. The products of a tile's scores
/// are started before those of the tile before with its weights, and run while the weights are
/// computed.
class Compute : public WarpgroupFrame {
public:
  using WarpgroupFrame::WarpgroupFrame;
  void build();

private:
  /// A reference that moves in this tile: whether it does, and what its fragments are scaled by.
  struct Move {
    unsigned reference;
    Value moved, factor;
  };

  Counters computeRowTile(Counters before);
  void locateRows();
  void createPlaces();
  void firstTileOfRows(Value tile, Value number);
  void loopOverTiles(Value from, Value to, Value shift);
  void pipelinedTile(Value tile, Value number);
  void lastProducts(Value number);
  void passOver(Value from, Value to, Value shift);

  void startScores(Value number);
  void startStates(Value number);
  void commit() { tile::MmaCommitOp::create(b, nest.getLoc()); }
  void wait(int64_t pending, ArrayRef<Value> settled);
  void awaitOperands(bool early, Value number);
  void releaseOperands(bool ofStates, Value number);
  void takeTurn();
  void passTurn();
  SmallVector<Move> foldTile(bool first, Value number);
  void awaitInputs(Value number);
  void firstReference(unsigned number);
  Move followMaximum(unsigned number);
  void convertWeights();
  void storeFragment(Value array, Value result, bool last);
  SmallVector<Value> statePlaces();

  Value group;                  ///< i32: number of the warpgroup in its role
  SmallVector<Value> places;    ///< fragments of the products of scores, by contraction
  SmallVector<Value> operands;  ///< of each weight that states multiply; null for others
  SmallVector<Value> fragments; ///< of each weight, in the tile at hand
};

} // namespace

void Compute::build() {
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
  forEachWork([&](Value work, Counters before) {
    locate(work);
    locateRows();
    return computeRowTile(before);
  });
}

void Compute::locateRows() {
  Location loc = nest.getLoc();
  std::string row = plan.row.getValue().str();
  Value first = arith::MulIOp::create(b, loc, group, constant(64));
  branchRow0 = arith::AddIOp::create(b, named(row + "_group"), row0, first);
  branchRows = 64;
  Value warp = tile::WarpOp::create(b, named("warp"));
  Value offset = arith::MulIOp::create(b, loc, add(warp, -4), constant(16));
  rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, offset);
  indexValues.append({branchRow0, rowBegin});
}

// The block's tiles pass through the pipes for all groups; those that matter to none of a group's
// rows it lets pass.
WarpgroupFrame::Counters Compute::computeRowTile(Counters before) {
  Location loc = nest.getLoc();
  std::tie(firstTile, endTile) = tileRange(row0, tiles.rows);
  Value ownFirst = firstTile, ownEnd = endTile;
  Value last = add(endTile, -1);
  bool differs = nest.getDomainBlock() && schedule.groups > 1;
  if (differs) {
    std::tie(ownFirst, ownEnd) = tileRange(branchRow0, branchRows);
    ownFirst = arith::MaxSIOp::create(b, loc, ownFirst, firstTile);
    ownFirst = arith::MinSIOp::create(b, named("own_first"), ownFirst, last);
    ownEnd = arith::MinSIOp::create(b, loc, ownEnd, endTile);
    ownEnd = arith::MaxSIOp::create(b, named("own_end"), ownEnd, add(ownFirst, 1));
  }
  Value shift = b.createOrFold<arith::SubIOp>(named("shift"), before.streamed, firstTile);
  hoistUniform();
  createPlaces();
  for (auto &[read, pipe] : block.residents)
    tile::AwaitOp::create(b, loc, pipe, before.resident);
  if (differs)
    passOver(firstTile, ownFirst, shift);
  firstTileOfRows(ownFirst, add(ownFirst, shift));
  loopOverTiles(add(ownFirst, 1), ownEnd, shift);
  for (auto &[read, pipe] : block.residents)
    tile::ReleaseOp::create(b, loc, pipe, before.resident);
  lastProducts(add(add(ownEnd, shift), -1));
  completeStates();
  storeResults(
      [&](Value array, Value result, bool isLast) { storeFragment(array, result, isLast); });
  if (differs)
    passOver(ownEnd, endTile, shift);
  return {add(endTile, shift), add(before.resident, 1)};
}

void Compute::createPlaces() {
  reference.clear();
  top.clear();
  state.clear();
  scaleParam.clear();
  perScore.clear();
  createStates(/*keepTops=*/false);
  places.clear();
  for (const Contraction &contraction : plan.contractions)
    places.push_back(contractionPlace(contraction, {}));
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
void Compute::firstTileOfRows(Value tile, Value number) {
  beginTile(tile);
  awaitOperands(/*early=*/true, number);
  startScores(number);
  commit();
  wait(0, places);
  releaseOperands(/*ofStates=*/false, number);
  foldTile(/*first=*/true, number);
  convertWeights();
}

void Compute::loopOverTiles(Value from, Value to, Value shift) {
  Location loc = nest.getLoc();
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  pipelinedTile(loop.getInductionVar(), add(loop.getInductionVar(), shift));
}

void Compute::pipelinedTile(Value tile, Value number) {
  Location loc = nest.getLoc();
  Value before = add(number, -1);
  beginTile(tile);
  awaitOperands(/*early=*/true, number);
  takeTurn();
  startScores(number);
  commit();
  awaitOperands(/*early=*/false, before);
  startStates(before);
  commit();
  passTurn();
  wait(1, places);
  releaseOperands(/*ofStates=*/false, number);
  SmallVector<Move> moves = foldTile(/*first=*/false, number);
  SmallVector<Value> settled = statePlaces();
  for (Value fragment : fragments)
    if (!llvm::is_contained(settled, fragment))
      settled.push_back(fragment);
  wait(0, settled);
  releaseOperands(/*ofStates=*/true, before);
  convertWeights();
  for (const Move &move : moves) {
    auto branch = scf::IfOp::create(b, loc, move.moved, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    rescaleFragments(move.reference, move.factor);
  }
}

void Compute::lastProducts(Value number) {
  awaitOperands(/*early=*/false, number);
  startStates(number);
  commit();
  wait(0, statePlaces());
  releaseOperands(/*ofStates=*/true, number);
}

// Takes turns as often as the groups that compute.
void Compute::passOver(Value from, Value to, Value shift) {
  Location loc = nest.getLoc();
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = add(loop.getInductionVar(), shift);
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

void Compute::awaitOperands(bool early, Value number) {
  for (auto [i, pipe] : llvm::enumerate(block.streamed))
    if (isEarly(i) == early)
      tile::AwaitOp::create(b, attn::ReadOp(plan.streamed[i].read).getLoc(), pipe, number);
}

// An operand of both kinds of products is released after the later one.
void Compute::releaseOperands(bool ofStates, Value number) {
  for (auto [i, pipe] : llvm::enumerate(block.streamed))
    if (isStateOperand(i) == ofStates)
      tile::ReleaseOp::create(b, attn::ReadOp(plan.streamed[i].read).getLoc(), pipe, number);
}

void Compute::startScores(Value number) {
  Location loc = nest.getLoc();
  tile::MmaFenceOp::create(b, loc);
  for (auto [contraction, place] : llvm::zip(plan.contractions, places)) {
    red::FoldOp fold = contraction.fold;
    contractionFragments[fold] = place;
    Value pipe = block.residents[attn::ReadOp(contraction.resident.read)];
    tile::SharedType whole = cast<tile::PipeType>(pipe.getType()).getTile();
    Value resident = tile::StageOp::create(b, loc, whole, pipe, constant(0));
    auto part = tile::SharedType::get(b.getContext(), 64, whole.getCols(), whole.getElement(),
                                      whole.getRows());
    Value row = arith::MulIOp::create(b, loc, group, constant(64));
    Value strip = tile::StripOp::create(b, loc, part, resident, row);
    Value ring = block.streamed[contraction.streamed];
    Value streamed =
        tile::StageOp::create(b, loc, cast<tile::PipeType>(ring.getType()).getTile(), ring, number);
    tile::MmaStartOp::create(b, fold.getLoc(), place, strip, streamed, /*transposed=*/true,
                             /*fresh=*/true);
  }
}

void Compute::startStates(Value number) {
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

void Compute::wait(int64_t pending, ArrayRef<Value> settled) {
  tile::MmaWaitOp::create(b, nest.getLoc(), b.getI64IntegerAttr(pending), settled);
}

SmallVector<Value> Compute::statePlaces() {
  SmallVector<Value> list;
  for (Value place : state)
    if (isa<tile::FragmentType>(place.getType()))
      list.push_back(place);
  return list;
}

// Groups start their products one after the other, so that the products of one run while the others
// compute weights.
void Compute::takeTurn() {
  if (schedule.alternate)
    tile::MeetOp::create(b, nest.getLoc(), Type(), add(group, 1), b.getI64IntegerAttr(256),
                         Value());
}

void Compute::passTurn() {
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

// With `first` the states are empty.
SmallVector<Compute::Move> Compute::foldTile(bool first, Value number) {
  SmallVector<Move> moves;
  awaitInputs(number);
  for (unsigned reference = 0; reference < plan.references.size(); ++reference) {
    if (first)
      firstReference(reference);
    else
      moves.push_back(followMaximum(reference));
  }
  foldScores();
  fragments.clear();
  for (auto [i, weight] : llvm::enumerate(plan.weights)) {
    fragments.push_back(weightFragment(weight));
    sumRows(i, fragments.back());
  }
  for (auto &[read, pipe] : block.inputs)
    tile::ReleaseOp::create(b, read->getLoc(), pipe, number);
  return moves;
}

// The warp's rows of the tensors that arrive with the scores.
void Compute::awaitInputs(Value number) {
  inputTiles.clear();
  for (auto &[read, pipe] : block.inputs) {
    Location loc = read->getLoc();
    tile::AwaitOp::create(b, loc, pipe, number);
    tile::SharedType whole = cast<tile::PipeType>(pipe.getType()).getTile();
    Value stage = tile::StageOp::create(b, loc, whole, pipe, number);
    auto part = tile::SharedType::get(b.getContext(), tiles.warpRows, whole.getCols(),
                                      whole.getElement(), whole.getRows());
    Value row = arith::SubIOp::create(b, loc, rowBegin, row0);
    inputTiles[read->getResult(0)] = tile::StripOp::create(b, loc, part, stage, row);
  }
}

void Compute::firstReference(unsigned number) {
  red::FoldOp fold = plan.references[number].fold;
  Location loc = fold.getLoc();
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  Value into = top[number] ? top[number] : reference[number];
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, score, into);
  tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, into);
  if (top[number])
    map(loc, {}, {}, {{into, {}}}, reference[number],
        [](PointEvaluator &, ValueRange x) -> SmallVector<Value> { return {x[0]}; });
}

// The reference moves when some row of the warp exceeds it by more than the slack; weights stay
// below 2^slack. Fragments, which products still change, are rescaled later.
Compute::Move Compute::followMaximum(unsigned number) {
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
  Move move{number, exceedsReference(number), registers(attn::renamed(loc, "rescale"), rowsType())};
  auto branch = scf::IfOp::create(b, loc, move.moved, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, top[number]);
    moveReference(number, move.factor);
  }
  top[number] = kept;
  return move;
}

void Compute::convertWeights() {
  for (auto [fragment, operand] : llvm::zip(fragments, operands))
    if (operand)
      tile::ConvertOp::create(b, nest.getLoc(), fragment, operand);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Compute::storeFragment(Value array, Value result, bool last) {
  Location loc = array.getLoc();
  Value into = finishFragment(array, result, last);
  auto [indices, rowAxis] = rowAxisOf(result);
  Value base =
      memory.offset(b, named(cIdentifier(tensorOf(result).name) + "_base"), result, indices);
  tile::StoreFragmentRowsOp::create(b, loc, into, rowBegin, extent32(plan.row),
                                    memory.pointer(result), base, memory.stride(result, rowAxis));
}

SmallVector<Value> buildCompute(red::NestOp nest, const StreamPlan &plan,
                                const WarpgroupSchedule &schedule, const KernelSignature &signature,
                                tile::KernelOp kernel, OpBuilder &builder,
                                const BlockPlaces &block) {
  Compute compute(nest, plan, schedule, signature, kernel, builder);
  compute.use(block);
  compute.build();
  return llvm::to_vector(compute.indices());
}

} // namespace attnc::schedule
