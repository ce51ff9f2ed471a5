#include "compiler/schedule/portable/lower_portable.h"
#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "compiler/schedule/portable/warp_lowering.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {

void WarpLowering::build() {
  locateBlock();
  boundStream();
  placeTiles();
  for (const OperandTile &operand : plan.streamed) {
    bases.push_back(operand.isComputed() ? Value() : streamedBase(bases.size()));
    ends.push_back(operand.isComputed() ? Value() : operandEnd(operand, plan.stream));
  }
  llvm::DenseSet<Operation *> copied;
  for (const Contraction &contraction : plan.contractions) {
    const OperandTile &operand = contraction.resident;
    if (!copied.insert(operand.source).second)
      continue;
    fillResident(operand);
  }
  stream = tile::StreamAheadOp::create(b, nest.getLoc(), firstTile, endTile, schedule.stages - 1);
  describeCopies();
  hoistUniform();
  createStates(/*keepTops=*/true);
  if (skipsTiles())
    askForTiles();
  stream->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  describeTile();
  if (plan.states.empty()) // what there is has been stored
    return;
  locateBlock(); // again: kept across the stream it would take registers
  completeStates();
  storeResults([&](Value array, Value result, bool last) { storeFragment(array, result, last); });
}

//===----------------------------------------------------------------------===//
// Where the block works
//===----------------------------------------------------------------------===//

// Blocks of one cell follow each other, the last rows first: where a mask lets rows see more of the
// stream the later they come, these take longest.
void WarpLowering::locateBlock() {
  Location loc = nest.getLoc();
  std::string row = plan.row.getValue().str();
  Value count = rowTiles();
  Value block = tile::BlockOp::create(b, named("block"));
  Value fromEnd = arith::RemSIOp::create(b, loc, block, count);
  Value last = arith::SubIOp::create(b, loc, count, constant(1));
  Value number = arith::SubIOp::create(b, loc, last, fromEnd);
  Value cell = arith::DivSIOp::create(b, named("cell"), block, count);
  if (!plan.pairs.empty())
    cell = takeStreamPart(cell);
  bool dividesWarps = schedule.warpsOfRows() > 1;
  bindCells(dividesWarps ? cell : takeColumnPart(cell));
  if (tiledPack)
    number = takeSequence(number);
  row0 = arith::MulIOp::create(b, named(row + "0"), number, constant(tiles.rows));
  Value warp = tile::WarpOp::create(b, named("warp_number"));
  if (dividesWarps)
    warp = takeWarpColumn(warp);
  warpRow = arith::MulIOp::create(b, named("warp_row"), warp, constant(tiles.warpRows));
  rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, warpRow);
  branchRow0 = row0;
  branchRows = tiles.rows;
  indexValues.append({row0, rowBegin});
}

// The tiles of the stream that matter to the block's rows.
void WarpLowering::boundStream() {
  auto [lo, hi] = streamRange(row0, tiles.rows);
  firstTile = tileNumber(lo, tiles.columns, false, "first_tile");
  endTile = tileNumber(hi, tiles.columns, true, "end_tile");
  if (streamPart)
    keepInPart();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

std::string sourceName(attn::ReadOp read) { return cIdentifier(tensorOf(read.getSource()).name); }

static std::string operandName(const OperandTile &operand) {
  if (!operand.isComputed())
    return sourceName(operand.read);
  if (operand.gathered)
    return sourceName(operand.gathered);
  StringRef name = attn::specName(operand.source->getLoc());
  return name.empty() ? "computed" : cIdentifier(name);
}

void WarpLowering::placeTiles() {
  int64_t offset = 0;
  auto place = [&](Type type, int64_t bytes, const std::string &name) -> Value {
    Value at = tile::SharedOp::create(b, named(name), type, b.getI64IntegerAttr(offset));
    offset += bytes;
    return at;
  };
  for (const Contraction &contraction : plan.contractions) {
    const OperandTile &operand = contraction.resident;
    tile::SharedType type = sharedTile(operand, schedule.rowTile);
    std::string name = operandName(operand);
    if (resident.contains(operand.source))
      continue;
    if (int64_t parts = partsOf(operand); parts > 1)
      resident[operand.source] = place(tile::RingType::get(b.getContext(), parts, type),
                                       parts * type.getBytes(), name + "_parts");
    else
      resident[operand.source] = place(type, type.getBytes(), name + "_tile");
  }
  if (sharesRows())
    return placeExchange(offset);
  for (auto [number, operand] : llvm::enumerate(plan.streamed)) {
    tile::SharedType type = sharedTile(operand, schedule.streamTile);
    bool copied = isCopied(operand);
    int64_t stages =
        (copied ? ringStages(plan, number, schedule) : 1) * columnTiles(plan, number, schedule);
    if (!copied && stages == 1) {
      rings.push_back(place(type, type.getBytes(), operandName(operand) + "_tile"));
      continue;
    }
    auto ring = tile::RingType::get(b.getContext(), stages, type);
    rings.push_back(place(ring, stages * type.getBytes(), operandName(operand) + "_ring"));
  }
  for (OpResult pair : plan.pairs) {
    tile::SharedType type = pairTile(pair, schedule);
    pairTiles.push_back(place(type, type.getBytes(), cIdentifier(tensorOf(pair).name) + "_tile"));
  }
  placeInputs(offset);
}

// The offset of the operand's row 0 for this cell.
Value WarpLowering::operandBase(const OperandTile &operand) {
  attn::ReadOp read = operand.read;
  return memory.offset(b, named(sourceName(read) + "_base"), read.getSource(),
                       operandIndices(read, operand.rowAxis));
}

// One past the operand's last row that is read: i32.
Value WarpLowering::operandEnd(const OperandTile &operand, StringAttr along) {
  if (!operand.length)
    return extent32(along);
  Location loc = named(along.getValue().str() + "_length");
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value length = arith::MaxSIOp::create(b, loc, uniform.evaluate(operand.length), zero);
  StringAttr axis = tensorOf(attn::ReadOp(operand.read).getSource()).dims[operand.rowAxis];
  for (StringAttr dim : {along, axis})
    length = b.createOrFold<arith::MinSIOp>(loc, length, memory.extent(b, loc, dim));
  return narrow(length, (along.getValue() + "_end").str());
}

void WarpLowering::copyOperand(const OperandTile &operand, Value base, Value first, Value end,
                               Value into, Value columns, int64_t tiles) {
  attn::ReadOp read = operand.read;
  Location loc = read.getLoc();
  Value stride = memory.stride(read.getSource(), operand.rowAxis);
  Value begin = arith::MulIOp::create(b, loc, widen(first, ""), stride);
  Value offset = arith::AddIOp::create(b, loc, base, begin);
  Value rows = arith::SubIOp::create(b, loc, end, first);
  if (operand.length) // may end before the tile
    rows = arith::MaxSIOp::create(b, loc, rows, constant(0));
  // Contiguous rows follow each other, so what their length is a multiple of is what can be
  // assumed.
  int64_t rowBytes = operand.wholeCols() * tile::elementType(operand.element).bytes;
  tile::CopyOp::create(b, loc, memory.pointer(read.getSource()), offset, stride, rows, columns,
                       into, std::gcd<int64_t>(16, rowBytes), tiles);
}

bool WarpLowering::isCopied(const OperandTile &operand) {
  return schedule::isCopied(plan, operand, schedule.columnWarps);
}

void WarpLowering::gatherStreamed(unsigned number, Value first, Value slot) {
  const OperandTile &operand = plan.streamed[number];
  attn::ReadOp read = operand.gathered;
  Location loc = read.getLoc();
  Value into = stage(named(operandName(operand) + "_into"), rings[number], slot);
  int64_t rowBytes = operand.cols * tile::elementType(operand.element).bytes;
  auto op = tile::CopyRowsOp::create(b, loc, memory.pointer(read.getSource()), first, into,
                                     std::gcd<int64_t>(16, rowBytes));
  describeRows(op.getBody(), read, plan.stream);
}

void WarpLowering::describeCopies() {
  OpBuilder::InsertionGuard guard(b);
  Block &copies = stream.getCopies().emplaceBlock();
  Value index = copies.addArgument(b.getI32Type(), named("t"));
  Value part = copies.addArgument(b.getI32Type(), named("part"));
  Value number = copies.addArgument(b.getI32Type(), named("number"));
  b.setInsertionPointToStart(&copies);
  Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "_next"), index,
                                      constant(schedule.streamTile));
  for (auto [i, operand] : llvm::enumerate(plan.streamed))
    if (!operand.isComputed() && isInParts())
      copyInPart(i, first, part, number);
    else if (!operand.isComputed())
      copyStreamed(i, first, number);
    else if (isCopied(operand))
      gatherStreamed(i, first, number);
  for (const StagedRing &from : staged)
    copyInput(from, first, number);
}

void WarpLowering::askForTiles() {
  OpBuilder::InsertionGuard guard(b);
  Block &ask = stream.getAsk().emplaceBlock();
  Value first = ask.addArgument(b.getI32Type(), named("chunk"));
  b.setInsertionPointToStart(&ask);
  tile::YieldOp::create(b, nest.getLoc(), askTiles(first, {{row0, tiles.rows}}));
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

void WarpLowering::describeTile() {
  OpBuilder::InsertionGuard guard(b);
  Block &body = stream.getBody().emplaceBlock();
  Value index = body.addArgument(b.getI32Type(), named("t"));
  Value number = body.addArgument(b.getI32Type(), named("number"));
  Value isFull =
      stream.isListed() ? Value(body.addArgument(b.getI1Type(), named("full"))) : Value();
  b.setInsertionPointToStart(&body);
  beginTile(index, isFull);
  step("operands", [&] { tabulateStreamed(); });
  for (auto [i, operand] : llvm::enumerate(plan.streamed))
    stageTiles.push_back(
        streamedTile(i, named(operandName(operand) + "_tile"), isInParts() ? constant(0) : number));
  beginInputs(number);
  if (isInParts())
    multiplyParts();
  else
    step("scores", [&] {
      for (const Contraction &contraction : plan.contractions)
        contractionFragments[red::FoldOp(contraction.fold)] = multiply(contraction);
    });
  step("fold", [&] {
    for (red::FoldOp fold : plan.direct)
      contractionFragments[fold] = foldDirectly(fold);
    for (unsigned reference = 0; reference < plan.references.size(); ++reference)
      followMaximum(reference);
    foldScores();
    keepLowerSums();
  });
  foldWeights();
  if (sharesRows())
    multiplyValues();
  if (!plan.pairs.empty())
    step("pairs", [&] { storePairs(); });
  sharePlaces(body);
}

// A step that does nothing is none.
void WarpLowering::step(StringRef name, llvm::function_ref<void()> build) {
  auto op = tile::StepOp::create(b, nest.getLoc(), TypeRange(), name, /*stage=*/0);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getBody().emplaceBlock());
  build();
  tile::YieldOp::create(b, nest.getLoc(), ValueRange());
  if (op.getBodyBlock()->without_terminator().empty())
    op.erase();
}

void WarpLowering::stepInParts(StringRef name, int64_t parts,
                               llvm::function_ref<void(Value part, Value number)> build) {
  step(name, [&] {
    Block *body = b.getInsertionBlock();
    cast<tile::StepOp>(body->getParentOp()).setParts(parts);
    Value part = body->addArgument(b.getI32Type(), named("part"));
    build(part, body->addArgument(b.getI32Type(), named("number")));
  });
}

Value WarpLowering::multiply(const Contraction &contraction) {
  red::FoldOp fold = contraction.fold;
  Value fragment = contractionPlace(fold, 0);
  Value strip = warpStrip(fold.getLoc(), resident[contraction.resident.source]);
  tile::MmaOp::create(b, fold.getLoc(), fragment, strip, stageTiles[contraction.streamed],
                      /*transposed=*/true);
  return fragment;
}

// Every weight is computed once. The row sums and products of one with an exponent follow at once,
// so that its registers are free again for the next one.
void WarpLowering::foldWeights() {
  SmallVector<Value> fragments;
  for (unsigned number = 0; number < plan.weights.size(); ++number)
    step("weights", [&] {
      Value fragment = fragments.emplace_back(weightFragment(number));
      sumRows(number, fragment);
      for (auto [s, place] : llvm::zip(plan.states, state))
        if (s.weight == static_cast<int>(number) && s.streamed != -1)
          multiplyWeights(s, place, fragment);
    });
  step("moments", [&] { foldMoments(fragments); });
}

void WarpLowering::multiplyWeights(const StreamState &state, Value place, Value weights) {
  if (sharesRows())
    return handOver(state, weights);
  Location loc = red::FoldOp(state.fold).getLoc();
  auto type = tile::OperandType::get(b.getContext(), tiles.warpRows, schedule.streamTile,
                                     plan.streamed[state.streamed].element);
  bool halves = schedule.halves && tile::elementType(type.getElement()).isSplit;
  Value operand = tile::ToOperandOp::create(b, loc, type, weights, halves);
  tile::MmaOp::create(b, loc, place, operand, stageTiles[state.streamed], /*transposed=*/false,
                      halves);
}

// A result per element goes out through shared memory, whose operands nobody reads any more, so
// that global memory sees whole rows.
void WarpLowering::storeFragment(Value array, Value result, bool last) {
  Location loc = array.getLoc();
  Tensor tensor = tensorOf(result);
  int64_t wholeCols = attn::programOf(nest).lookupDim(tensor.dims.back()).getExtent();
  int64_t cols = columnPart ? std::min(wholeCols, tiles.partColumns) : wholeCols;
  Value into = epilogueFragment(array, result, last);
  std::string name = cIdentifier(tensor.name);
  auto whole = tile::SharedType::get(b.getContext(), schedule.rowTile, cols, tensor.element);
  tile::WaitOp::create(b, loc, b.getI64IntegerAttr(0));
  tile::BarrierOp::create(b, loc);
  auto ring = tile::RingType::get(b.getContext(), schedule.warpsOfRows(), whole);
  Value shared = tile::SharedOp::create(
      b, named(name + "_tile"), warpColumn ? Type(ring) : Type(whole), b.getI64IntegerAttr(0));
  Value own = warpColumn ? stage(loc, shared, warpColumn) : shared;
  tile::StoreFragmentOp::create(b, loc, into, warpStrip(loc, own));
  tile::BarrierOp::create(b, loc);

  auto [indices, rowAxis] = rowAxisOf(result);
  Value base = memory.offset(b, named(name + "_base"), result, indices);
  Value stride = memory.stride(result, rowAxis);
  Value offset = arith::AddIOp::create(
      b, loc, base, arith::MulIOp::create(b, loc, widen(row0, ""), stride).getResult());
  Value rows = arith::SubIOp::create(b, loc, storeEnd(result), row0);
  int64_t rowBytes = wholeCols * tile::elementType(tensor.element).bytes;
  auto storePart = [&](Value part, Value begin, Value left) {
    Value from = begin ? arith::AddIOp::create(b, loc, offset, widen(begin, "")) : offset;
    tile::StoreTileOp::create(b, loc, part, memory.pointer(result), from, stride, rows, left,
                              b.getI64IntegerAttr(std::gcd<int64_t>(16, rowBytes)));
  };
  if (!warpColumn)
    return storePart(shared, columnPart ? partBegin() : Value(), columnsLeft(wholeCols, cols));
  for (int64_t part = 0; part * cols < wholeCols; ++part)
    storePart(stage(loc, shared, constant(part)), constant(part * cols),
              columnsOfPart(wholeCols, cols, part));
}

FailureOr<tile::KernelOp> lowerPortableNest(PlannedNest &planned, OpBuilder &builder) {
  red::NestOp nest = planned.op();
  if (!planned.stream())
    return nest.emitOpError("has no portable form: ") << planned.whyNoStream();
  PortableSchedule schedule = cast<tile::PortableAttr>(nest.getScheduleAttr()).getValue();
  StreamPlan plan = tiledPlan(*planned.stream(), schedule.headDimTile, schedule.depth);
  red::PackOp pack = packOfTiles(nest, plan);
  Attribute blocks = pack ? packedRowTiles(pack, schedule.rowTile, builder)
                          : gridApply("ceildiv", gridExtent(nest, plan.row),
                                      builder.getI64IntegerAttr(schedule.rowTile));
  if (!plan.pairs.empty())
    blocks = gridApply("mul", blocks,
                       gridApply("ceildiv", gridExtent(nest, plan.stream),
                                 builder.getI64IntegerAttr(columnsOfPairs(plan, schedule))));
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
    if (!pack || dim != pack.over())
      blocks = gridApply("mul", blocks, gridExtent(nest, dim));
  int64_t parts = schedule.warpsOfRows() > 1 ? 1 : headDimTiles(plan);
  blocks = gridApply("mul", builder.getI64IntegerAttr(parts), blocks);

  OpBuilder::InsertionGuard guard(builder);
  KernelSignature signature(planned);
  auto kernel = tile::KernelOp::create(
      builder, nest.getLoc(), kernelName(nest), argumentTypes(signature, nest.getContext()),
      builder.getArrayAttr({blocks}), 32 * schedule.warps, sharedBytes(nest, plan, schedule));
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  kernel.setScheduleAttr(nest.getScheduleAttr());
  kernel.setMinBlocks(schedule.minBlocks);
  WarpLowering lowering(nest, std::move(plan), schedule, signature, kernel, builder);
  lowering.build();
  askForCleanUp(kernel, nest, signature, lowering.indices(), /*spreadsFactors=*/false);
  return kernel;
}

int64_t requiredAlignment(tile::KernelOp kernel, unsigned number) {
  int64_t bytes = 1;
  Value pointer = kernel.getBodyBlock()->getArgument(number);
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op); copy && copy.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, copy.getVectorBytes());
    if (auto copy = dyn_cast<tile::CopyRowsOp>(op); copy && copy.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, copy.getVectorBytes());
    if (auto store = dyn_cast<tile::StoreTileOp>(op); store && store.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, store.getVectorBytes());
    if (auto store = dyn_cast<tile::StoreFragmentRowsOp>(op);
        store && store.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, 16);
    if (auto call = dyn_cast<tile::CallOp>(op))
      for (auto [i, operand] : llvm::enumerate(call.getOperands()))
        if (operand == pointer)
          bytes = std::max(bytes, requiredAlignment(tile::calledKernel(call), i));
  });
  return bytes;
}

} // namespace attnc::schedule
