#include "compiler/schedule/steps/lower_to_steps.h"
#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "compiler/schedule/steps/seesaw_steps.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

void StepsLowering::build() {
  encoded = hasEncoded(plan);
  countWork();
  maps = operandMaps(plan, schedule);
  placeResults();
  placeShared();
  placeDifferences();
  placeAddends();
  if (schedule.stagedWeights)
    weightStagesOf = weightStages(nest, plan);
  Location loc = nest.getLoc();
  auto flag = [&](bool is) { return is ? b.getUnitAttr() : UnitAttr(); };
  auto rows = tile::RowTilesOp::create(
      b, loc, works, schedule.dynamicScheduler ? memory.counter() : Value(), Value(), first, run,
      flag(schedule.persistent), flag(schedule.pingPong), b.getI64IntegerAttr(schedule.groups),
      b.getI64IntegerAttr(schedule.producerRegisters),
      b.getI64IntegerAttr(schedule.consumerRegisters),
      b.getI64IntegerAttr(schedule.adderRegisters));
  {
    OpBuilder::InsertionGuard guard(b);
    Block &body = rows.getBody().emplaceBlock();
    body.addArgument(b.getI32Type(), named("work"));
    body.addArgument(b.getI32Type(), named("turn"));
    b.setInsertionPointToStart(&body);
    describeRowTile(rows);
  }
  if (!resultTiles.empty())
    awaitStores();
  for (Value index : indexValues)
    if (Operation *op = index.getDefiningOp())
      op->setAttr(kIndexAttr, b.getUnitAttr());
}

void StepsLowering::placeResults() {
  for (const ResultMap &map : resultMaps(plan, schedule)) {
    auto type = tile::SharedType::get(b.getContext(), map.rows, map.cols, map.element, map.rows);
    std::string name = cIdentifier(tensorOf(map.result).name);
    resultTiles[map.result] =
        tile::SharedOp::create(b, named(name + "_tile"), type, b.getI64IntegerAttr(0));
  }
}

void StepsLowering::describeRowTile(tile::RowTilesOp rows) {
  group = tile::GroupOp::create(b, named("group"));
  locate(rows.getNumber());
  TileRange range = tileRange(row0, tiles.rows);
  firstTile = range.first;
  endTile = range.end;
  // Whoever copies does so for all groups: these may differ in the index of a packed dim.
  for (const OperandMap &map : maps) {
    attn::ReadOp read = map.read;
    if (map.byRows)
      continue;
    indicesOf[read] = operandIndices(read, map.rowAxis);
    takeSlabIndices(read.getSource(), indicesOf[read]);
  }
  fetchRows();
  chooseDirection();
  stream = tile::StreamOp::create(b, nest.getLoc(), firstTile, endTile);
  if (mayHaveNoTile())
    stream.getAnyMutable().assign(arith::CmpIOp::create(b, named("any"), arith::CmpIPredicate::slt,
                                                        firstTile, range.exactEnd));
  if (skipsTiles())
    askForTiles();
  locateGroup();
  hoistUniform();
  placeRegisters();
  stream->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  foldStream();
  completeRowTile();
  multiplyBands();
  if (!plan.pairs.empty())
    return storeZeros();
  storeResults(
      [&](Value array, Value result, bool isLast) { storeFragment(array, result, isLast); });
}

bool StepsLowering::mayHaveNoTile() {
  bool fetchesBefore = llvm::any_of(rowTilesOf, [](const auto &rows) {
    auto fetch = rows.second.template getDefiningOp<tile::FetchOp>();
    return !fetch || !fetch.getLate();
  });
  if (schedule.persistent || skipsTiles() || fetchesBefore ||
      !mapsOf(OperandMap::Kind::Finish).empty() || !mapsOf(OperandMap::Kind::Band).empty())
    return false;
  if (tiledPack)
    return true;
  if (!nest.getDomainBlock())
    return false;
  auto bounds = cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator());
  return readsTensors(nest, {bounds.getLo().front(), bounds.getHi().front()});
}

void StepsLowering::locateGroup() {
  locateRows();
  ownRange();
}

Value StepsLowering::groupRow() {
  return arith::MulIOp::create(b, nest.getLoc(), group, constant(64));
}

// Which tiles matter, to the rows of the block or of each group.
void StepsLowering::askForTiles() {
  stream.setEntryBits(listBits());
  stream.setFromEnd(readsTensors(nest, liveCondition(nest)));
  SmallVector<AskedRows> rows = askingRows();
  OpBuilder::InsertionGuard guard(b);
  Block &ask = stream.getAsk().emplaceBlock();
  Value first = ask.addArgument(b.getI32Type(), named("chunk"));
  b.setInsertionPointToStart(&ask);
  tile::YieldOp::create(b, nest.getLoc(), askTiles(first, rows));
}

// The tiles that the group's rows need, of those that the block's rows need. Weights that are
// handed over are those of all groups.
void StepsLowering::ownRange() {
  if (!nest.getDomainBlock() || schedule.groups == 1 || skipsTiles() || !mayPassTiles() ||
      !plan.rowSums.empty())
    return;
  Value last = add(endTile, -1, "last_tile");
  auto [first, end, exactEnd] = tileRange(branchRow0, branchRows);
  first = arith::MaxSIOp::create(b, named("own_lo"), first, firstTile);
  first = arith::MinSIOp::create(b, named("own_first"), first, last);
  end = arith::MinSIOp::create(b, named("own_hi"), end, endTile);
  end = arith::MaxSIOp::create(b, named("own_end"), end, add(first, 1));
  if (isDescending) {
    Value begin = first;
    first = arith::SelectOp::create(b, named("own_first"), isDescending, fromEnd(end), begin);
    end = arith::SelectOp::create(b, named("own_end"), isDescending, fromEnd(begin), end);
  }
  stream.getOwnFirstMutable().assign(first);
  stream.getOwnEndMutable().assign(end);
}

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

SmallVector<OperandMap> StepsLowering::mapsOf(OperandMap::Kind kind) const {
  SmallVector<OperandMap> list;
  llvm::copy_if(maps, std::back_inserter(list),
                [&](const OperandMap &map) { return map.kind == kind; });
  return list;
}

tile::FetchOp StepsLowering::fetch(const OperandMap &map, Value first, Value column) {
  attn::ReadOp read = map.read;
  auto type = tile::SharedType::get(b.getContext(), map.rows, map.cols, map.element, map.rows);
  Location loc = named(cIdentifier(tensorOf(read.getSource()).name));
  if (map.byRows) {
    auto op =
        tile::FetchOp::create(b, loc, type, memory.pointer(read.getSource()), first, map.stages);
    op.setRun(map.run);
    describeRows(op.getRows(), read,
                 map.kind == OperandMap::Kind::Resident ? plan.row : plan.stream,
                 map.run ? memory.tensorMap(read, map.half) : Value());
    return op;
  }
  SmallVector<Value> at;
  for (auto [axis, index] : llvm::enumerate(indicesOf.lookup(read)))
    if (axis == map.rowAxis)
      at.push_back(first);
    else if (index)
      at.push_back(narrow(index, ""));
  std::reverse(at.begin(), at.end());
  if (column)
    at.insert(at.begin(), column);
  return tile::FetchOp::create(b, loc, type, memory.tensorMap(read, map.half), at, map.stages);
}

// Of operands in parts fewer may fit than a tile has, and none is released before the rows are
// there: then the rows come first.
void StepsLowering::fetchRows() {
  bool anyParts = false;
  for (unsigned i = 0; i < plan.streamed.size(); ++i)
    anyParts |= scoreParts(i) > 1;
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Resident)) {
    tile::FetchOp tile = fetch(map, row0, depthBegin());
    tile.setLate(!anyParts);
    (map.half == Half::Low ? lowRowTilesOf : rowTilesOf)[map.read] = tile;
  }
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Input)) {
    if (!map.stays)
      continue;
    tile::FetchOp tile = fetch(map, row0, {});
    tile.setLate(true);
    tile.setOfRun(true);
    inputsOf[map.read] = tile;
  }
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Finish))
    finishTiles[map.read->getResult(0)] = fetch(map, row0, {});
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Band)) {
    const BandProduct &band =
        *llvm::find_if(plan.bands, [&](const BandProduct &each) { return each.read == map.read; });
    bandTiles[map.read] = fetch(map, add(row0, band.begin), {});
  }
}

// What scores need comes a tile ahead of what is summed with them, whole tiles before those in
// parts: they are awaited before any part is released.
void StepsLowering::fetchStreamed() {
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Streamed)) {
    unsigned i = map.half == Half::Low ? tilesOf.size() - 1 : tilesOf.size();
    bool isLate = !isScoreOperand(plan, i);
    bool isAhead = multipliesTiles(plan) || (weightStagesOf.empty() ? !isLate : isOfFirstStage(i));
    Value column = columnPart && isLate ? partBegin() : scoreParts(i) > 1 ? constant(0) : Value();
    tile::FetchOp op = fetch(map, column0, column);
    if (map.half == Half::Low) {
      lowTilesOf.back() = op;
    } else {
      tilesOf.push_back(op);
      lowTilesOf.push_back({});
    }
    op.setParts(scoreParts(i));
    if (sharesRing(plan)) {
      op.setInRing(true);
      op.setStages(map.stages * static_cast<int64_t>(plan.streamed.size()));
    }
    op.setStage(!isAhead);
    op.setOrder(!weightStagesOf.empty() ? isAhead ? kValues : kScoreOperands
                : isLate                ? kValues
                : scoreParts(i) > 1     ? kScoreOperandsInParts
                                        : kScoreOperands);
  }
}

void StepsLowering::fetchInputs() {
  SmallVector<attn::ReadOp> turned = turnedWeights(plan);
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Input)) {
    if (map.stays)
      continue;
    bool isTurned = llvm::is_contained(turned, map.read);
    tile::FetchOp tile = isTurned ? fetch(map, column0, row0) : fetch(map, row0, column0);
    tile.setOrder(kInputs);
    tile.setStage(schedule.stagedWeights || !plan.pairs.empty());
    tile.setByGroup(schedule.seesaw);
    inputsOf[map.read] = tile;
  }
  for (const OperandMap &map : mapsOf(OperandMap::Kind::Vector)) {
    tile::FetchOp tile = fetch(map, {}, column0);
    tile.setOrder(kInputs);
    tile.setStage(schedule.stagedWeights || !plan.pairs.empty());
    tile.setByGroup(schedule.seesaw);
    stagedTiles[map.read->getResult(0)] = {tile, /*turned=*/false, /*isVector=*/true};
  }
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

void StepsLowering::foldStream() {
  OpBuilder::InsertionGuard guard(b);
  Block &body = stream.getBody().emplaceBlock();
  body.addArgument(b.getI32Type(), named("t"));
  body.addArgument(b.getI32Type(), named("number"));
  body.addArgument(b.getI1Type(), named("is_first"));
  body.addArgument(b.getI1Type(), named("is_last"));
  if (stream.isListed())
    body.addArgument(b.getI1Type(), named("is_full"));
  b.setInsertionPointToStart(&body);
  beginStreamTile();
  fetchStreamed();
  if (encoded)
    loadTileScales();
  fetchInputs();
  stageDifferences();
  describeSteps();
  sharePlaces(body);
}

void StepsLowering::beginStreamTile() {
  Value tile = stream.getTile();
  if (isDescending)
    tile = arith::SelectOp::create(b, named("tile"), isDescending, fromEnd(add(tile, 1)), tile);
  beginTile(tile, stream.isListed() ? Value(stream.getIsFull()) : Value());
}

// The products of a tile's scores are started before those of the tile before with its weights, and
// run while the weights are computed.
void StepsLowering::describeSteps() {
  if (schedule.stagedWeights)
    return describeStagedSteps();
  if (multipliesTiles(plan))
    return tileStep();
  if (!plan.pairs.empty())
    return describePairSteps();
  tile::StepOp addends = addendStep();
  scoreSteps();
  tile::StepOp differences = differenceStep();
  tile::StepOp fold = foldStep();
  convertStep();
  SmallVector<tile::StepOp> order = scoreGroup;
  ValueRange moved = fold.getResults().take_front(plan.references.size());
  if (tile::StepOp rescale = rescaleStep(moved)) {
    // Behind the scores it is hidden by them, and holds up the group whose turn is next: narrow
    // fragments, soon done, come before.
    order.insert(rescalesBehindScores() ? order.end() : order.begin(), rescale);
  }
  if (addends)
    order.insert(order.begin(), addends);
  tile::StepOp values = valueStep();
  if (values)
    order.push_back(values);
  if (differences) // while products run
    order.push_back(differences);
  if (values) {
    // Registers of weights are free, and sums of a tile complete, before the next weights.
    if (llvm::any_of(plan.weights, [](const Weight &weight) { return weight.inHalves; }))
      order.append({fold, promoteStep(fold.getResults().drop_front(moved.size()))});
  }
  setOrder(order);
}

// The group's rows of a weight, and whether they are columns of what arrives.
std::pair<Value, bool> StepsLowering::weightTile(const Weight &weight) {
  TileWeight tile = tileWeight(plan, weight);
  Location loc = tile.input.read.getLoc();
  Value arrived = inputsOf.lookup(tile.input.read);
  if (!tile.isTurned)
    return {strip(loc, arrived, 64, groupRow()), false};
  auto type = cast<tile::SharedType>(arrived.getType());
  auto columns = tile::SharedType::get(b.getContext(), type.getRows(), 64, type.getElement(),
                                       type.getPanelRows());
  return {tile::ColumnsOp::create(b, loc, columns, arrived, groupRow()), true};
}

// Nothing but products: those of a tile run until those of the next have been started.
void StepsLowering::tileStep() {
  tile::StepOp products = step("values", 0, [&]() -> SmallVector<Value> {
    for (auto [s, place] : llvm::zip(plan.states, state)) {
      auto [weights, isTurned] = weightTile(plan.weights[s.weight]);
      tile::MmaStartOp::create(b, red::FoldOp(s.fold).getLoc(), place, weights, tilesOf[s.streamed],
                               /*transposed=*/false, /*fresh=*/false, isTurned);
    }
    return {};
  });
  products.setPending(1);
}

void StepsLowering::setOrder(ArrayRef<tile::StepOp> order) {
  auto all = llvm::to_vector(order);
  for (tile::StepOp rest : stream.getBodyBlock()->getOps<tile::StepOp>())
    if (!llvm::is_contained(all, rest))
      all.push_back(rest);
  for (auto [place, op] : llvm::enumerate(all))
    op.setOrder(place);
}

tile::StepOp StepsLowering::step(StringRef name, int64_t stage,
                                 llvm::function_ref<SmallVector<Value>()> build,
                                 TypeRange results) {
  auto op = tile::StepOp::create(b, nest.getLoc(), results, name, stage);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getBody().emplaceBlock());
  tile::YieldOp::create(b, nest.getLoc(), build());
  return op;
}

Value StepsLowering::rowsOf(const Contraction &contraction,
                            const DenseMap<Operation *, Value> &tiles) {
  Value resident = tiles.lookup(contraction.resident.tensorRead());
  return strip(nest.getLoc(), resident, 64, groupRow());
}

void StepsLowering::scoreProducts(const Contraction &contraction, Value place) {
  red::FoldOp fold = contraction.fold;
  const Addend *addend = addendOf(contraction);
  contractionFragments[addend ? addend->sum : fold->getResult(0)] = place;
  Value rows = rowsOf(contraction, rowTilesOf), tile = tilesOf[contraction.streamed];
  auto hasLow = [&](const OperandTile &operand) {
    return isEncoded(operand) && takesLowHalves(schedule.accuracy);
  };
  bool areHalves = hasLow(plan.streamed[contraction.streamed]);
  Value lowRows = hasLow(contraction.resident) ? rowsOf(contraction, lowRowTilesOf) : Value();
  Value lowTile = areHalves ? lowTilesOf[contraction.streamed] : Value();
  startHalves(fold.getLoc(), place, {rows, lowRows}, {tile, lowTile}, /*transposed=*/true);
  if (addend)
    tile::MmaStartOp::create(b, addend->sum.getLoc(), place, slopes.lookup(addend->sum),
                             distances.lookup(addend->step),
                             /*transposed=*/false, /*fresh=*/false);
}

void StepsLowering::scoreSteps() {
  auto isWhole = [&](const Contraction &c) { return scoreParts(c.streamed) == 1; };
  if (llvm::any_of(plan.contractions, isWhole))
    scoreGroup.push_back(step("scores", 0, [&]() -> SmallVector<Value> {
      for (auto [contraction, place] : llvm::zip(plan.contractions, places))
        if (isWhole(contraction))
          scoreProducts(contraction, place);
      return {};
    }));
  for (auto [contraction, place] : llvm::zip(plan.contractions, places))
    if (!isWhole(contraction))
      partSteps(contraction, place);
  for (tile::StepOp op : scoreGroup)
    op.setTurn(schedule.pingPong);
}

// The products of the parts are started as they arrive. A part is free when the products with it
// are complete, while those with the next one run.
void StepsLowering::partSteps(const Contraction &contraction, Value place) {
  red::FoldOp fold = contraction.fold;
  Location loc = fold.getLoc();
  contractionFragments[fold] = place;
  const OperandTile &operand = plan.streamed[contraction.streamed];
  Value tile = tilesOf[contraction.streamed];
  auto type = cast<tile::SharedType>(tile.getType());
  for (int64_t part = 0, parts = scoreParts(contraction.streamed); part < parts; ++part) {
    tile::StepOp op = step("scores", 0, [&]() -> SmallVector<Value> {
      Value rows = rowsOf(contraction, rowTilesOf);
      auto whole = cast<tile::SharedType>(rows.getType());
      int64_t begin = part * operand.cols;
      int64_t cols = std::min(operand.cols, operand.wholeCols() - begin);
      auto columns = [&](tile::SharedType of) {
        return tile::SharedType::get(b.getContext(), of.getRows(), cols, of.getElement(),
                                     of.getPanelRows());
      };
      Value left = tile::ColumnsOp::create(b, loc, columns(whole), rows, constant(begin));
      Value right = tile::PartOp::create(b, loc, tile, b.getI64IntegerAttr(part));
      if (cols != operand.cols)
        right = tile::ColumnsOp::create(b, loc, columns(type), right, constant(0));
      tile::MmaStartOp::create(b, loc, place, left, right, /*transposed=*/true,
                               /*fresh=*/part == 0);
      return {};
    });
    if (part > 0)
      op.setPending(1);
    scoreGroup.push_back(op);
  }
}

tile::StepOp StepsLowering::foldStep() {
  SmallVector<Value> moved;
  SmallVector<Type> results(plan.references.size(), b.getI1Type());
  if (encoded) // products with the values come a tile later
    results.append(knownTileScales().size(), b.getF32Type());
  auto build = [&]() -> SmallVector<Value> {
    if (encoded)
      scaleScores();
    for (auto [read, tile] : inputsOf)
      inputTiles[read->getResult(0)] = columnsAtHand(warpStrip(read->getLoc(), tile));
    moved = followReferences();
    foldScores();
    fragments.clear();
    keepLowerSums();
    for (unsigned i = 0; i < plan.weights.size(); ++i) {
      fragments.push_back(weightFragment(i));
      sumRows(i, fragments.back());
    }
    foldMoments(fragments);
    llvm::append_range(moved, knownTileScales());
    return moved;
  };
  return step("fold", 0, build, results);
}

// Those of the tile of the stream, where a tile in shared memory has all of the stream.
Value StepsLowering::columnsAtHand(Value tile) {
  auto type = cast<tile::SharedType>(tile.getType());
  if (type.getCols() == tiles.columns)
    return tile;
  auto some = tile::SharedType::get(b.getContext(), type.getRows(), tiles.columns,
                                    type.getElement(), type.getPanelRows());
  return tile::ColumnsOp::create(b, tile.getLoc(), some, tile, column0);
}

// The first tile's maximum is the first reference; nothing has been summed against another one.
SmallVector<Value> StepsLowering::followReferences() {
  if (plan.references.empty())
    return {};
  Location loc = nest.getLoc();
  for (Reference &r : plan.references)
    (void)scores(r.fold.getFactors().front(), red::FoldKind::Max);
  SmallVector<Type> flags(plan.references.size(), b.getI1Type());
  auto branch = scf::IfOp::create(b, loc, flags, stream.getIsFirst(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (unsigned i = 0; i < plan.references.size(); ++i)
    firstReference(i);
  Value none = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  scf::YieldOp::create(b, loc, SmallVector<Value>(plan.references.size(), none));
  b.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> moved;
  for (unsigned i = 0; i < plan.references.size(); ++i)
    moved.push_back(followMaximum(i, factors[i]));
  scf::YieldOp::create(b, loc, moved);
  return llvm::to_vector(ValueRange(branch.getResults()));
}

void StepsLowering::convertStep() {
  if (llvm::any_of(operands, [](Value operand) { return bool(operand); }))
    step("convert", 0, [&]() -> SmallVector<Value> {
      encoded ? convertHalves() : convertWeights();
      return {};
    });
}

tile::StepOp StepsLowering::rescaleStep(ValueRange moved) {
  if (moved.empty() || statePlaces().empty())
    return {};
  return step("rescale", 1, [&]() -> SmallVector<Value> {
    rescaleMoved(moved);
    return {};
  });
}

tile::StepOp StepsLowering::valueStep() {
  if (llvm::none_of(plan.states, [](const StreamState &s) { return s.streamed != -1; }))
    return {};
  tile::StepOp op = step("values", 1, [&]() -> SmallVector<Value> {
    for (auto [s, place] : llvm::zip(plan.states, state))
      if (s.streamed != -1 && !plan.weights[s.weight].inHalves)
        tile::MmaStartOp::create(b, red::FoldOp(s.fold).getLoc(), place, operands[s.weight],
                                 tilesOf[s.streamed], /*transposed=*/false, /*fresh=*/false);
    if (encoded)
      startHalvesOfValues();
    return {};
  });
  op.setTurn(schedule.pingPong);
  return op;
}

void lowerToSteps(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
                  const KernelSignature &signature, tile::KernelOp kernel, OpBuilder &builder) {
  if (schedule.seesaw)
    SeesawSteps(nest, plan, schedule, signature, kernel, builder).build();
  else
    StepsLowering(nest, plan, schedule, signature, kernel, builder).build();
}

} // namespace attnc::schedule
