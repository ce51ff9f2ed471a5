#include "compiler/schedule/steps/seesaw_steps.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Threads of a group, and of the block's two.
static constexpr int64_t kGroupThreads = 128, kAllThreads = 256;
// Numbered barriers: 1 and 2 are the groups' own.
static constexpr int64_t kFirstGroupBarrier = 1, kMeetBarrier = 3;

//===----------------------------------------------------------------------===//
// Who has what
//===----------------------------------------------------------------------===//

// Both groups have the block's rows.
void SeesawSteps::locateGroup() {
  Location loc = nest.getLoc();
  Value warp = add(tile::WarpOp::create(b, named("warp")), -4);
  Value inGroup = arith::RemUIOp::create(b, loc, warp, constant(4));
  warpRow = arith::MulIOp::create(b, named("warp_row"), inGroup, constant(16));
  branchRow0 = row0;
  branchRows = tiles.rows;
  rowBegin = arith::AddIOp::create(b, named(plan.row.getValue().str() + "_begin"), row0, warpRow);
  indexValues.push_back(rowBegin);
}

Value SeesawSteps::peer() { return arith::SubIOp::create(b, named("peer"), constant(1), group); }

// Of the tiles that the two groups take together, the group's own.
void SeesawSteps::beginStreamTile() {
  Value first = arith::MulIOp::create(b, named("first"), stream.getTile(), constant(2));
  beginTile(add(first, group, "own_tile"));
  createExchange();
}

// The rows that both groups have a share of when the stream has ended: sums, and maxima that
// results depend on.
SmallVector<std::pair<Value, red::FoldOp>> SeesawSteps::sharedRows() {
  SmallVector<std::pair<Value, red::FoldOp>> rows;
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (isa<tile::RowsType>(place.getType()))
      rows.push_back({place, s.fold});
  for (auto [r, place] : llvm::zip(plan.references, top))
    if (place)
      rows.push_back({place, r.fold});
  return rows;
}

void SeesawSteps::placeShared() {
  auto type = tile::SharedType::get(b.getContext(), 1, tiles.rows, b.getF32Type(), 0);
  for (int64_t i = 0, count = seesawRowShares(nest, plan); i < count; ++i) {
    auto create = [&](StringRef name) {
      return tile::SharedOp::create(b, named(name), type, b.getI64IntegerAttr(0)).getResult();
    };
    vectors.push_back({create("share0"), create("share1")});
  }
}

void SeesawSteps::placeRegisters() {
  createPlaces();
  const StreamState &state =
      *llvm::find_if(plan.states, [](const StreamState &s) { return s.streamed != -1; });
  weight = state.weight;
  next = registers(attn::renamed(red::FoldOp(state.fold).getLoc(), "next_weights"),
                   operands[weight].getType());
  for (Reference &r : plan.references) {
    Location loc = r.fold.getLoc();
    std::string name = attn::specName(loc).str();
    agreed.push_back(registers(attn::renamed(loc, name + "_agreed"), rowsType(),
                               identityOf(red::FoldKind::Max)));
    proposed.push_back(registers(attn::renamed(loc, name + "_peer"), rowsType()));
  }
}

void SeesawSteps::createExchange() {
  Type element = cast<tile::OperandType>(next.getType()).getElement();
  SmallVector<Type> types = {
      tile::SharedType::get(b.getContext(), tiles.rows, tiles.columns, element, tiles.rows)};
  types.append(plan.references.size(),
               tile::SharedType::get(b.getContext(), 1, tiles.rows, b.getF32Type(), 0));
  exchange = tile::ExchangeOp::create(b, named("exchanged"), types, types);
}

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

// The tiles of the scores come a step ahead, then the values of the peer's tile and of the group's
// own, which has to be multiplied last: it leaves registers that the next weights take.
void SeesawSteps::fetchStreamed() {
  int64_t order = kScoreOperands;
  SmallVector<OperandMap> maps = mapsOf(OperandMap::Kind::Streamed);
  tilesOf.resize(maps.size());
  for (auto [i, map] : llvm::enumerate(maps)) {
    if (!isScoreOperand(plan, i))
      continue;
    Value begin = depthBegin();
    tile::FetchOp op = fetch(map, column0, begin ? begin : constant(0));
    op.setParts(scoreParts(i));
    op.setOrder(order++);
    op.setByGroup(true);
    op.setInRing(true);
    tilesOf[i] = op;
  }
  // Inputs come between: the steps that read them let go of slots that values need.
  order = kValues;
  for (Whose whose : {Peer, Own})
    for (auto [i, map] : llvm::enumerate(maps))
      if (!isScoreOperand(plan, i)) {
        tile::FetchOp op = fetchValues(map, i, whose);
        op.setOrder(order++);
        valuesOf[{i, whose}] = op;
      }
}

Value SeesawSteps::depthBegin() {
  if (!schedule.cluster)
    return {};
  Value rank = tile::ClusterRankOp::create(b, named("rank"));
  return arith::MulIOp::create(b, named("depth_begin"), rank,
                               constant(plan.contractions.front().resident.wholeCols()));
}

tile::FetchOp SeesawSteps::fetchValues(const OperandMap &map, unsigned streamed, Whose whose) {
  Value first = column0;
  if (whose == Peer) {
    Value pair = arith::MulIOp::create(b, named("first"), stream.getTile(), constant(2));
    first = arith::MulIOp::create(b, named("peer_" + plan.stream.getValue().str() + "0"),
                                  add(pair, peer(), "peer_tile"), constant(tiles.columns));
  }
  tile::FetchOp op = fetch(map, first, partBegin());
  op.setStage(1);
  op.setParts(tiles.columns / map.rows);
  op.setAlong(std::distance(op.getCoordinates().begin(), llvm::find(op.getCoordinates(), first)));
  op.setByGroup(true);
  op.setInRing(true);
  return op;
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

// While the weights of a tile are computed, the products with the peer's weights of the tile before
// run; those with the group's own weights start behind them, so that the next ones need registers
// of their own until these are done.
void SeesawSteps::describeSteps() {
  scoreSteps();
  auto send = partialStep<tile::SendPartialOp>("send");
  auto add = partialStep<tile::AddPartialOp>("add");
  tile::StepOp fold = foldStep(), convert = convertNextStep(), handOver = handOverStep();
  tile::StepOp agree = agreeStep();
  SmallVector<tile::StepOp> withPeer = valueSteps(Peer), withOwn = valueSteps(Own);
  tile::StepOp takeOver = takeOverStep();
  withPeer.front().setPending(1); // the scores
  // A group hands over when the other one has let go of what it was handed before, so it lets go
  // itself of what its products with the peer's weights have read.
  auto ownGroups = static_cast<int64_t>(withOwn.size());
  withOwn.back().setPending(std::min<int64_t>(*withOwn.back().getPending(), ownGroups));
  handOver.setPending(1);
  SmallVector<tile::StepOp> order = scoreGroup;
  if (agree)
    order.push_back(agree);
  // Products run while sums are on their way.
  order.push_back(withPeer.front());
  if (send)
    order.push_back(send);
  llvm::append_range(order, llvm::drop_begin(withPeer));
  if (add)
    order.push_back(add);
  order.append({fold, convert});
  llvm::append_range(order, withOwn);
  order.append({handOver, takeOver});
  setOrder(order);
}

// With the scores, where blocks have parts of the depth; else null.
template <class Op> tile::StepOp SeesawSteps::partialStep(StringRef name) {
  if (!schedule.cluster)
    return {};
  return step(name, 0, [&]() -> SmallVector<Value> {
    Op::create(b, nest.getLoc(), places.front());
    return {};
  });
}

tile::StepOp SeesawSteps::convertNextStep() {
  return step("convert", 0, [&]() -> SmallVector<Value> {
    tile::ConvertOp::create(b, nest.getLoc(), fragments[weight], next);
    return {};
  });
}

// To the peer: the weights, and what they are relative to.
tile::StepOp SeesawSteps::handOverStep() {
  return step("hand over", 0, [&]() -> SmallVector<Value> {
    Location loc = nest.getLoc();
    tile::StoreOperandOp::create(b, loc, next, warpStrip(loc, exchange.getMine().front()));
    for (auto [rows, vector] : llvm::zip(reference, llvm::drop_begin(exchange.getMine())))
      tile::WriteVectorOp::create(b, loc, rows, vector, warpRow);
    return {};
  });
}

// i1: this row's references are not all what was agreed on.
Value SeesawSteps::proposalsDiffer() {
  Location loc = nest.getLoc();
  SmallVector<Value> rows;
  for (auto [each, own, other] : llvm::zip(agreed, reference, proposed))
    rows.append({each, own, other});
  auto any = tile::AnyOp::create(b, named("differs"), b.getI1Type(), rows);
  OpBuilder::InsertionGuard guard(b);
  Block &block = any.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  for (Value row : rows)
    block.addArgument(b.getF32Type(), row.getLoc());
  Value differs;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % 3 == 0)
      continue;
    Value is = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, block.getArgument(i),
                                     block.getArgument(i - i % 3));
    differs = differs ? arith::OrIOp::create(b, loc, differs, is).getResult() : is;
  }
  tile::YieldOp::create(b, loc, differs);
  return any.getResult();
}

// Before the weights of both groups are summed against one reference. All warps of a group decide
// alike, and so do both groups, since both see the same three vectors.
tile::StepOp SeesawSteps::agreeStep() {
  if (plan.references.empty())
    return {};
  return step("agree", 1, [&]() -> SmallVector<Value> {
    Location loc = nest.getLoc();
    for (auto [rows, vector] : llvm::zip(proposed, llvm::drop_begin(exchange.getTheirs())))
      tile::ReadVectorOp::create(b, loc, rows, vector, warpRow);
    Value barrier = add(group, kFirstGroupBarrier, "own_barrier");
    auto threads = b.getI64IntegerAttr(kGroupThreads);
    Value moved = tile::BarrierSyncOp::create(b, named("moved"), b.getI1Type(), barrier, threads,
                                              proposalsDiffer())
                      .getResult();
    auto branch = scf::IfOp::create(b, loc, moved, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (unsigned i = 0; i < plan.references.size(); ++i)
      followPeer(i);
    // Products read the tile of all the group's warps.
    tile::PublishOp::create(b, loc);
    tile::BarrierSyncOp::create(b, loc, Type(), barrier, threads, Value());
    return {};
  });
}

// Everything against a reference becomes relative to the larger proposal.
void SeesawSteps::followPeer(unsigned number) {
  Location loc = plan.references[number].fold.getLoc();
  auto rows = [&](StringRef name) { return registers(named(name), rowsType()); };
  Value bySum = rows("by_sum"), byOwn = rows("by_own"), byPeer = rows("by_peer");
  Value own = reference[number], each = agreed[number], other = proposed[number];
  map(loc, {}, {}, {{each, {}}, {own, {}}, {other, {}}}, {bySum, byOwn, byPeer, each, own},
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        red::FoldOp fold = plan.references[number].fold;
        Value larger = red::inlineUpdate(b, loc, fold.getMerge(), {x[1], x[2]});
        auto by = [&](Value from) {
          return distance(number, loc, loc, from, larger, /*shifted=*/false);
        };
        return {by(x[0]), by(x[1]), by(x[2]), larger, larger};
      });
  // A kept maximum is not below the reference, or the next tile would move it down again.
  if (Value kept = top[number])
    map(loc, {}, {}, {{kept, {}}, {own, {}}}, kept,
        [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
          return {red::inlineUpdate(b, loc, plan.references[number].fold.getMerge(), x)};
        });
  rescaleFragments(number, bySum);
  rescaleRows(number, byOwn);
  if (plan.weights[weight].reference == static_cast<int>(number)) {
    Value strip = warpStrip(loc, exchange.getTheirs().front());
    tile::ScalePackedOp::create(b, loc, operands[weight], byOwn);
    tile::ScalePackedOp::create(b, loc, strip, byPeer);
  }
  anchorRows(number);
}

// The products of one group's weights with the columns of this one, as their parts arrive.
SmallVector<tile::StepOp> SeesawSteps::valueSteps(Whose whose) {
  SmallVector<tile::StepOp> steps;
  for (auto [s, place] : llvm::zip(plan.states, state)) {
    if (s.streamed == -1)
      continue;
    Location loc = red::FoldOp(s.fold).getLoc();
    tile::FetchOp values = valuesOf.lookup({s.streamed, whose});
    Value weights = whose == Own ? operands[weight] : exchange.getTheirs().front();
    for (uint64_t part = 0; part < values.getParts(); ++part) {
      steps.push_back(
          step(whose == Own ? "own values" : "peer's values", 1, [&]() -> SmallVector<Value> {
            int64_t depth = values.getType().getRows();
            Value left = columnsOf(weights, part * depth, depth, loc);
            Value right =
                values.getParts() == 1
                    ? values.getResult()
                    : tile::PartOp::create(b, loc, values, b.getI64IntegerAttr(part)).getResult();
            tile::MmaStartOp::create(b, loc, place, left, right, /*transposed=*/false,
                                     /*fresh=*/false);
            return {};
          }));
      if (part > 0 || whose == Own)
        steps.back().setPending(schedule.pendingParts());
    }
  }
  return steps;
}

Value SeesawSteps::columnsOf(Value weights, int64_t first, int64_t count, Location loc) {
  Type type;
  if (auto shared = dyn_cast<tile::SharedType>(weights.getType()))
    type = tile::SharedType::get(b.getContext(), shared.getRows(), count, shared.getElement(),
                                 shared.getPanelRows());
  else
    type = tile::OperandType::get(b.getContext(), tiles.warpRows, count,
                                  cast<tile::OperandType>(weights.getType()).getElement());
  return type == weights.getType()
             ? weights
             : tile::ColumnsOp::create(b, loc, type, weights, constant(first)).getResult();
}

tile::StepOp SeesawSteps::takeOverStep() {
  return step("take over", 0, [&]() -> SmallVector<Value> {
    tile::MoveOp::create(b, nest.getLoc(), next, operands[weight]);
    return {};
  });
}

//===----------------------------------------------------------------------===//
// After the stream
//===----------------------------------------------------------------------===//

// Each group has folded its own tiles. Their references agree.
void SeesawSteps::completeRowTile() {
  // Where the block works, once more: the stream needs all registers.
  locate(stream->getParentOfType<tile::RowTilesOp>().getNumber());
  locateGroup();
  auto rows = sharedRows();
  assert(rows.size() == vectors.size());
  for (auto [share, places] : llvm::zip_equal(rows, vectors)) {
    auto [place, fold] = share;
    tile::ReduceQuadOp::create(b, fold.getLoc(), combineOf(fold.getKind()), place);
    Value own = tile::ChooseOp::create(b, named("own_share"), places[0].getType(), group, places);
    tile::WriteVectorOp::create(b, fold.getLoc(), place, own, warpRow);
  }
  if (!rows.empty())
    tile::BarrierSyncOp::create(b, nest.getLoc(), Type(), constant(kMeetBarrier),
                                b.getI64IntegerAttr(kAllThreads), Value());
  for (auto [share, places] : llvm::zip_equal(rows, vectors))
    mergeShares(share.first, share.second, places);
  completeReferences();
}

void SeesawSteps::mergeShares(Value place, red::FoldOp fold, ArrayRef<Value> places) {
  Location loc = fold.getLoc();
  Value theirs =
      tile::ChooseOp::create(b, named("peer_share"), places[0].getType(), peer(), places);
  Value other = registers(attn::renamed(loc, "other"), rowsType());
  tile::ReadVectorOp::create(b, loc, other, theirs, warpRow);
  mergeRows(fold, place, other);
}

} // namespace attnc::schedule
