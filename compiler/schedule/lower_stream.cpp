#include "compiler/schedule/lower_stream.h"
#include "compiler/schedule/stream_lowering.h"
#include "compiler/schedule/stream_schedule.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {
namespace {

/// The portable kernel: every warp copies, multiplies and folds its own rows.
class WarpLowering : public StreamLowering {
public:
  WarpLowering(red::NestOp nest, StreamPlan plan, StreamSchedule schedule,
               const KernelSignature &signature, tile::KernelOp kernel, OpBuilder &builder)
      : StreamLowering(nest, std::move(plan),
                       {schedule.rowTile, schedule.streamTile, schedule.rowTile / schedule.warps,
                        schedule.slack, /*padded=*/true},
                       signature, kernel, builder),
        schedule(schedule) {}

  void build();

private:
  void locateBlock();
  void placeTiles();
  void boundStream();
  Value operandBase(const OperandTile &operand);
  Value operandEnd(const OperandTile &operand, StringAttr along);
  void copyOperand(const OperandTile &operand, Value base, Value first, Value end, Value into);
  Value nextLive(Value before);
  SmallVector<Value> startFirstCopies();
  void startCopies(Value index, Value slot);
  void loopOverStream();
  void loopOverLive(ArrayRef<Value> first);
  void step(Value index, Value slot);
  Value multiply(const Contraction &contraction);
  void followMaximum(unsigned number);
  void foldWeights();
  void storeFragment(Value array, Value result, bool last);

  StreamSchedule schedule;
  Value warpRow;                               ///< i32: the warp's first row in the block
  llvm::DenseMap<Operation *, Value> resident; ///< shared tile of a row x inner read
  SmallVector<Value> rings, bases, ends;       ///< of the streamed operands
  Value tileIndex;
  SmallVector<Value> stageTiles; ///< shared tiles of the streamed operands
};

void WarpLowering::build() {
  locateBlock();
  boundStream();
  placeTiles();
  for (const OperandTile &operand : plan.streamed) {
    bases.push_back(operandBase(operand));
    ends.push_back(operandEnd(operand, plan.stream));
  }
  llvm::DenseSet<Operation *> copied;
  for (const Contraction &contraction : plan.contractions) {
    Operation *read = OperandTile(contraction.resident).read;
    if (copied.insert(read).second)
      copyOperand(contraction.resident, operandBase(contraction.resident), row0,
                  operandEnd(contraction.resident, plan.row), resident[read]);
  }
  SmallVector<Value> first = startFirstCopies();
  hoistUniform();
  createStates(/*keepTops=*/true);
  if (skipsTiles())
    loopOverLive(first);
  else
    loopOverStream();
  locateBlock(); // again: kept across the loop it would take registers
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
  row0 = arith::MulIOp::create(b, named(row + "0"), number, constant(tiles.rows));
  bindCells(arith::DivSIOp::create(b, named("cell"), block, count));
  Value warp = tile::WarpOp::create(b, named("warp_number"));
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
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static std::string sourceName(attn::ReadOp read) {
  return cIdentifier(tensorOf(read.getSource()).name);
}

void WarpLowering::placeTiles() {
  int64_t offset = 0;
  auto place = [&](Type type, int64_t bytes, const std::string &name) -> Value {
    Value at = tile::SharedOp::create(b, named(name), type, b.getI64IntegerAttr(offset));
    offset += bytes;
    return at;
  };
  for (const Contraction &contraction : plan.contractions) {
    attn::ReadOp read = contraction.resident.read;
    tile::SharedType type = sharedTile(contraction.resident, schedule.rowTile);
    if (!resident.contains(read))
      resident[read] = place(type, type.getBytes(), sourceName(read) + "_tile");
  }
  for (const OperandTile &operand : plan.streamed) {
    tile::SharedType type = sharedTile(operand, schedule.streamTile);
    auto ring = tile::RingType::get(b.getContext(), schedule.stages, type);
    rings.push_back(
        place(ring, schedule.stages * type.getBytes(), sourceName(operand.read) + "_ring"));
  }
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
                               Value into) {
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
  int64_t rowBytes = operand.cols * (operand.element.getIntOrFloatBitWidth() / 8);
  tile::CopyOp::create(b, loc, memory.pointer(read.getSource()), offset, stride, rows, into,
                       b.getI64IntegerAttr(std::gcd<int64_t>(16, rowBytes)));
}

// The first tile after `before` that matters, or one beyond the last.
Value WarpLowering::nextLive(Value before) {
  Location loc = nest.getLoc();
  auto nameAll = [&](ValueRange carried) {
    carried[0].setLoc(named("live"));
    carried[1].setLoc(named("skips"));
  };
  auto skips = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried);
    scf::ConditionOp::create(b, loc, carried[1], carried);
  };
  auto pass = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried);
    Value tile = arith::AddIOp::create(b, loc, carried[0], constant(1));
    Value left = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, tile, endTile);
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    Value dead = arith::XOrIOp::create(b, loc, isLive(tile), yes);
    Value skip = arith::AndIOp::create(b, loc, left, dead);
    scf::YieldOp::create(b, loc, ValueRange{tile, skip});
  };
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  SmallVector<Type> types = {b.getI32Type(), b.getI1Type()};
  return scf::WhileOp::create(b, named("live"), types, ValueRange{before, yes}, skips, pass)
      .getResult(0);
}

// The tiles whose copies run before the loop.
SmallVector<Value> WarpLowering::startFirstCopies() {
  SmallVector<Value> first;
  for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage) {
    if (skipsTiles()) {
      Value before = b.createOrFold<arith::SubIOp>(nest.getLoc(), firstTile, constant(1));
      first.push_back(nextLive(stage == 0 ? before : first.back()));
      startCopies(first.back(), constant(stage));
      continue;
    }
    first.push_back(b.createOrFold<arith::AddIOp>(nest.getLoc(), firstTile, constant(stage)));
    startCopies(first.back(), first.back());
  }
  return first;
}

// Starts the copies of tile `index` of every streamed operand, if the stream has it, and closes the
// group in any case, so that groups count tiles. `slot` numbers the tiles that are copied.
void WarpLowering::startCopies(Value index, Value slot) {
  Location loc = nest.getLoc();
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, endTile);
  auto guarded = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&guarded.getThenRegion().front());
    Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "_next"), index,
                                        constant(schedule.streamTile));
    for (auto [operand, base, end, ring] : llvm::zip(plan.streamed, bases, ends, rings)) {
      Value stage =
          tile::StageOp::create(b, loc, cast<tile::RingType>(ring.getType()).getTile(), ring, slot);
      copyOperand(operand, base, first, end, stage);
    }
  }
  tile::CommitOp::create(b, loc);
}

void WarpLowering::loopOverStream() {
  Location loc = nest.getLoc();
  auto loop = scf::ForOp::create(b, loc, firstTile, endTile, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  tileIndex = loop.getInductionVar();
  tile::WaitOp::create(b, loc, b.getI64IntegerAttr(schedule.stages - 2));
  tile::BarrierOp::create(b, loc);
  Value next = arith::AddIOp::create(b, named("next"), tileIndex, constant(schedule.stages - 1));
  startCopies(next, next);
  step(tileIndex, tileIndex);
}

// The same over those tiles that matter. The numbers of the tiles that are on their way go along.
void WarpLowering::loopOverLive(ArrayRef<Value> first) {
  Location loc = nest.getLoc();
  SmallVector<Value> init(first);
  init.push_back(constant(0));
  auto nameAll = [&](ValueRange carried) {
    for (Value tile : carried.drop_back())
      tile.setLoc(named("t"));
    carried.back().setLoc(named("slot"));
  };
  auto isLeft = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried);
    Value left = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, carried[0], endTile);
    scf::ConditionOp::create(b, loc, left, carried);
  };
  auto tile = [&](OpBuilder &, Location, ValueRange carried) {
    nameAll(carried);
    tile::WaitOp::create(b, loc, b.getI64IntegerAttr(schedule.stages - 2));
    tile::BarrierOp::create(b, loc);
    Value slot = carried.back(), newest = carried[carried.size() - 2];
    Value next = nextLive(newest);
    startCopies(next, arith::AddIOp::create(b, named("next"), slot, constant(schedule.stages - 1)));
    step(carried[0], slot);
    SmallVector<Value> after(carried.drop_front().drop_back());
    after.push_back(next);
    after.push_back(arith::AddIOp::create(b, loc, slot, constant(1)));
    scf::YieldOp::create(b, loc, after);
  };
  SmallVector<Type> types(init.size(), b.getI32Type());
  scf::WhileOp::create(b, loc, types, init, isLeft, tile);
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

void WarpLowering::step(Value index, Value slot) {
  beginTile(index);
  stageTiles.clear();
  for (auto [operand, ring] : llvm::zip(plan.streamed, rings)) {
    std::string name = sourceName(operand.read) + "_tile";
    auto type = cast<tile::RingType>(ring.getType()).getTile();
    stageTiles.push_back(tile::StageOp::create(b, named(name), type, ring, slot));
  }
  for (const Contraction &contraction : plan.contractions)
    contractionFragments[red::FoldOp(contraction.fold)] = multiply(contraction);
  for (unsigned number = 0; number < plan.references.size(); ++number)
    followMaximum(number);
  foldScores();
  foldWeights();
}

Value WarpLowering::multiply(const Contraction &contraction) {
  red::FoldOp fold = contraction.fold;
  Value fragment = contractionPlace(contraction, 0);
  Value whole = resident[OperandTile(contraction.resident).read];
  auto type = cast<tile::SharedType>(whole.getType());
  auto stripType =
      tile::SharedType::get(b.getContext(), tiles.warpRows, type.getCols(), type.getElement());
  Value strip = tile::StripOp::create(b, fold.getLoc(), stripType, whole, warpRow);
  tile::MmaOp::create(b, fold.getLoc(), fragment, strip, stageTiles[contraction.streamed],
                      /*transposed=*/true);
  return fragment;
}

// Follows the maximum of the scores: the reference moves when some row of the warp exceeds it by
// more than the slack, and what was summed against it is rescaled. Weights stay below 2^slack.
void WarpLowering::followMaximum(unsigned number) {
  red::FoldOp fold = plan.references[number].fold;
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  tile::ReduceRowsOp::create(b, fold.getLoc(), tile::Combine::Max, score, top[number]);
  auto branch = scf::IfOp::create(b, fold.getLoc(), exceedsReference(number),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  tile::ReduceQuadOp::create(b, fold.getLoc(), tile::Combine::Max, top[number]);
  Value factor = registers(attn::renamed(fold.getLoc(), "rescale"), rowsType());
  moveReference(number, factor);
  rescaleFragments(number, factor);
  anchorExponents(number);
}

// Every weight is computed once; its row sums and products follow at once, so that its registers
// are free again for the next one.
void WarpLowering::foldWeights() {
  for (auto [number, weight] : llvm::enumerate(plan.weights)) {
    Value fragment = weightFragment(weight);
    sumRows(number, fragment);
    for (auto [s, place] : llvm::zip(plan.states, state)) {
      if (s.weight != static_cast<int>(number) || s.streamed == -1)
        continue;
      auto type = tile::OperandType::get(b.getContext(), tiles.warpRows, schedule.streamTile,
                                         plan.streamed[s.streamed].element);
      Value operand = tile::ToOperandOp::create(b, s.fold.getLoc(), type, fragment);
      tile::MmaOp::create(b, s.fold.getLoc(), place, operand, stageTiles[s.streamed],
                          /*transposed=*/false);
    }
  }
}

// A result per element goes out through shared memory, whose operands nobody reads any more, so
// that global memory sees whole rows.
void WarpLowering::storeFragment(Value array, Value result, bool last) {
  Location loc = array.getLoc();
  Tensor tensor = tensorOf(result);
  int64_t cols = attn::programOf(nest).lookupDim(tensor.dims.back()).getExtent();
  Value into = finishFragment(array, result, last);
  std::string name = cIdentifier(tensor.name);
  auto whole = tile::SharedType::get(b.getContext(), schedule.rowTile, cols, tensor.element);
  auto part = tile::SharedType::get(b.getContext(), tiles.warpRows, cols, tensor.element);
  tile::WaitOp::create(b, loc, b.getI64IntegerAttr(0));
  tile::BarrierOp::create(b, loc);
  Value shared = tile::SharedOp::create(b, named(name + "_tile"), whole, b.getI64IntegerAttr(0));
  Value strip = tile::StripOp::create(b, loc, part, shared, warpRow);
  tile::StoreFragmentOp::create(b, loc, into, strip);
  tile::BarrierOp::create(b, loc);

  auto [indices, rowAxis] = rowAxisOf(result);
  Value base = memory.offset(b, named(name + "_base"), result, indices);
  Value stride = memory.stride(result, rowAxis);
  Value offset = arith::AddIOp::create(
      b, loc, base, arith::MulIOp::create(b, loc, widen(row0, ""), stride).getResult());
  Value rows = arith::SubIOp::create(b, loc, extent32(plan.row), row0);
  int64_t rowBytes = cols * (tensor.element.getIntOrFloatBitWidth() / 8);
  tile::StoreTileOp::create(b, loc, shared, memory.pointer(result), offset, stride, rows,
                            b.getI64IntegerAttr(std::gcd<int64_t>(16, rowBytes)));
}

} // namespace

FailureOr<tile::KernelOp> lowerStreamNest(red::NestOp nest, OpBuilder &builder) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan))
    return nest.emitOpError("has no stream form: ") << why;
  StreamSchedule schedule = StreamSchedule::from(nest.getScheduleAttr());
  Attribute blocks = gridApply("ceildiv", gridExtent(nest, plan->row),
                               builder.getI64IntegerAttr(schedule.rowTile));
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
    blocks = gridApply("mul", blocks, gridExtent(nest, dim));

  OpBuilder::InsertionGuard guard(builder);
  KernelSignature signature(nest);
  auto kernel = tile::KernelOp::create(
      builder, nest.getLoc(), kernelName(nest), argumentTypes(signature, nest.getContext()),
      builder.getArrayAttr({blocks}), 32 * schedule.warps, sharedBytes(nest, *plan, schedule));
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  kernel->setAttr("schedule", schedule.toAttr(nest.getContext()));
  kernel.setMinBlocks(schedule.minBlocks);
  WarpLowering lowering(nest, std::move(*plan), schedule, signature, kernel, builder);
  lowering.build();
  simplifyStream(nest, signature, kernel, lowering.indices(), /*spreadsFactors=*/false);
  return kernel;
}

int64_t requiredAlignment(tile::KernelOp kernel, unsigned number) {
  int64_t bytes = 1;
  Value pointer = kernel.getBodyBlock()->getArgument(number);
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op); copy && copy.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, copy.getVectorBytes());
    if (auto store = dyn_cast<tile::StoreTileOp>(op); store && store.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, store.getVectorBytes());
    if (auto store = dyn_cast<tile::StoreFragmentRowsOp>(op);
        store && store.getPointer() == pointer)
      bytes = std::max<int64_t>(bytes, 16);
  });
  return bytes;
}

} // namespace attnc::schedule
