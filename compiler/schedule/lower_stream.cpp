#include "compiler/schedule/lower_stream.h"
#include "compiler/schedule/narrow_indices.h"
#include "compiler/schedule/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {

StreamLowering::StreamLowering(red::NestOp nest, StreamPlan plan, StreamSchedule schedule,
                               const KernelSignature &signature, tile::KernelOp kernel,
                               OpBuilder &builder)
    : nest(nest), plan(std::move(plan)), schedule(schedule), memory(nest, signature, kernel),
      kernel(kernel), b(builder), uniform(nest, memory, builder),
      warpRows(schedule.rowTile / schedule.warps) {}

void StreamLowering::build() {
  locateBlock();
  boundStream();
  placeTiles();
  for (const OperandTile &operand : plan.streamed)
    bases.push_back(operandBase(operand));
  llvm::DenseSet<Operation *> copied;
  for (const Contraction &contraction : plan.contractions) {
    Operation *read = OperandTile(contraction.resident).read;
    if (copied.insert(read).second)
      copyOperand(contraction.resident, operandBase(contraction.resident), row0, extent32(plan.row),
                  resident[read]);
  }
  for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage) {
    Value index = b.createOrFold<arith::AddIOp>(nest.getLoc(), firstTile, constant(stage));
    startCopies(index);
  }
  hoistUniform();
  createStates();
  loopOverStream();
  locateBlock(); // again: kept across the loop it would take registers
  completeStates();
  storeResults();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value StreamLowering::constant(int64_t value) {
  return arith::ConstantOp::create(b, nest.getLoc(), b.getI32IntegerAttr(value));
}

Value StreamLowering::real(double value) {
  return arith::ConstantOp::create(b, nest.getLoc(), b.getF32FloatAttr(value));
}

Value StreamLowering::widen(Value index, StringRef name) {
  return arith::ExtSIOp::create(b, named(name), b.getI64Type(), index);
}

Value StreamLowering::narrow(Value index, StringRef name) {
  return arith::TruncIOp::create(b, named(name), b.getI32Type(), index);
}

Value StreamLowering::registers(Location loc, Type type, std::optional<double> value) {
  return tile::RegistersOp::create(b, loc, type, value ? b.getF32FloatAttr(*value) : FloatAttr());
}

tile::FragmentType StreamLowering::scoreType() {
  return tile::FragmentType::get(b.getContext(), warpRows, schedule.streamTile);
}

tile::RowsType StreamLowering::rowsType() { return tile::RowsType::get(b.getContext(), warpRows); }

// index / tile for a non-negative i64 index, rounded up or down, as i32.
Value StreamLowering::tileNumber(Value index, int64_t tile, bool up, StringRef name) {
  Location loc = nest.getLoc();
  auto wide = [&](int64_t v) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v)).getResult();
  };
  if (up)
    index = arith::AddIOp::create(b, loc, index, wide(tile - 1));
  return narrow(arith::DivSIOp::create(b, named(name), index, wide(tile)), name);
}

//===----------------------------------------------------------------------===//
// Where the block works
//===----------------------------------------------------------------------===//

// Blocks of one cell follow each other, the last rows first: where a mask lets rows see more of the
// stream the later they come, these take longest.
void StreamLowering::locateBlock() {
  Location loc = nest.getLoc();
  std::string row = plan.row.getValue().str();
  for (StringAttr dim : {plan.row, plan.stream})
    extents[dim] = narrow(memory.extent(b, loc, dim), (dim.getValue() + "_end").str());
  Value tiles = tileNumber(memory.extent(b, loc, plan.row), schedule.rowTile, true, row + "_tiles");
  Value block = tile::BlockOp::create(b, named("block"));
  Value fromEnd = arith::RemSIOp::create(b, loc, block, tiles);
  Value last = arith::SubIOp::create(b, loc, tiles, constant(1));
  Value number = arith::SubIOp::create(b, loc, last, fromEnd);
  row0 = arith::MulIOp::create(b, named(row + "0"), number, constant(schedule.rowTile));
  bindCells(arith::DivSIOp::create(b, named("cell"), block, tiles));
  Value warp = tile::WarpOp::create(b, named("warp_number"));
  warpRow = arith::MulIOp::create(b, named("warp_row"), warp, constant(warpRows));
  rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, warpRow);
  indexValues.append({row0, rowBegin});
}

// The grid dims' indices, the last one fastest.
void StreamLowering::bindCells(Value cell) {
  Location loc = nest.getLoc();
  SmallVector<StringAttr> dims = attn::dimNames(nest.getGrid());
  Value rest = cell;
  for (size_t i = dims.size(); i-- > 0;) {
    Value index = rest;
    if (i > 0) {
      Value extent = narrow(memory.extent(b, loc, dims[i]), "extent");
      index = arith::RemSIOp::create(b, loc, rest, extent);
      rest = arith::DivSIOp::create(b, named("rest"), rest, extent);
    }
    uniform.bind(dims[i], widen(index, dims[i].getValue()));
  }
}

// The tiles of the stream that matter to the block's rows.
void StreamLowering::boundStream() {
  Location loc = nest.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value lo = zero, hi = memory.extent(b, loc, plan.stream);
  if (nest.getDomainBlock()) {
    Value last = arith::AddIOp::create(b, loc, row0, constant(schedule.rowTile));
    last = arith::MinSIOp::create(b, loc, last, extent32(plan.row));
    last = arith::SubIOp::create(b, loc, last, constant(1));
    SmallVector<Value> args;
    for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
      args.push_back(uniform.index(dim));
    args.push_back(widen(row0, "first"));
    args.push_back(widen(last, "last"));
    args.append({zero, zero});
    PointEvaluator::Domain domain = uniform.domain(args);
    lo = b.createOrFold<arith::MaxSIOp>(loc, domain.lo.front(), zero);
    hi = b.createOrFold<arith::MinSIOp>(loc, domain.hi.front(), hi);
    hi = b.createOrFold<arith::MaxSIOp>(loc, hi, zero);
  }
  firstTile = tileNumber(lo, schedule.streamTile, false, "first_tile");
  endTile = tileNumber(hi, schedule.streamTile, true, "end_tile");
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static std::string sourceName(attn::ReadOp read) {
  return cIdentifier(tensorOf(read.getSource()).name);
}

void StreamLowering::placeTiles() {
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
Value StreamLowering::operandBase(const OperandTile &operand) {
  attn::ReadOp read = operand.read;
  unsigned rank = tensorOf(read.getSource()).dims.size();
  SmallVector<Value> indices(rank);
  for (unsigned axis = 0; axis + 1 < rank; ++axis) {
    if (axis == operand.rowAxis)
      continue;
    StringAttr dim = read.subscriptDim(axis);
    indices[axis] = dim ? uniform.index(dim) : uniform.evaluate(read.subscriptValue(axis));
  }
  return memory.offset(b, named(sourceName(read) + "_base"), read.getSource(), indices);
}

void StreamLowering::copyOperand(const OperandTile &operand, Value base, Value first, Value end,
                                 Value into) {
  attn::ReadOp read = operand.read;
  Location loc = read.getLoc();
  Value stride = memory.stride(read.getSource(), operand.rowAxis);
  Value begin = arith::MulIOp::create(b, loc, widen(first, ""), stride);
  Value offset = arith::AddIOp::create(b, loc, base, begin);
  Value rows = arith::SubIOp::create(b, loc, end, first);
  // Contiguous rows follow each other, so what their length is a multiple of is what can be
  // assumed.
  int64_t rowBytes = operand.cols * (operand.element.getIntOrFloatBitWidth() / 8);
  tile::CopyOp::create(b, loc, memory.pointer(read.getSource()), offset, stride, rows, into,
                       b.getI64IntegerAttr(std::gcd<int64_t>(16, rowBytes)));
}

// Starts the copies of tile `index` of every streamed operand, if the stream has it, and closes the
// group in any case, so that groups count tiles.
void StreamLowering::startCopies(Value index) {
  Location loc = nest.getLoc();
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, endTile);
  auto guarded = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&guarded.getThenRegion().front());
    Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "_next"), index,
                                        constant(schedule.streamTile));
    for (auto [operand, base, ring] : llvm::zip(plan.streamed, bases, rings)) {
      Value stage = tile::StageOp::create(b, loc, cast<tile::RingType>(ring.getType()).getTile(),
                                          ring, index);
      copyOperand(operand, base, first, extent32(plan.stream), stage);
    }
  }
  tile::CommitOp::create(b, loc);
}

void StreamLowering::loopOverStream() {
  Location loc = nest.getLoc();
  auto loop = scf::ForOp::create(b, loc, firstTile, endTile, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  tileIndex = loop.getInductionVar();
  tile::WaitOp::create(b, loc, b.getI64IntegerAttr(schedule.stages - 2));
  tile::BarrierOp::create(b, loc);
  startCopies(arith::AddIOp::create(b, named("next"), tileIndex, constant(schedule.stages - 1)));
  step(tileIndex);
}

// Everything that depends on grid dims only is computed once, before the loop.
void StreamLowering::hoistUniform() {
  SmallVector<StringAttr> varying = {plan.row, plan.stream};
  llvm::append_range(varying, nest.getInner().getAsRange<StringAttr>());
  for (Operation &op : nest.getBodyBlock()->without_terminator())
    if (!isa<red::FoldOp>(op))
      uniform.hoist(op.getResult(0), varying);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

// True if computing one of the arrays reads a tensor at an index that depends on `dim`.
bool StreamLowering::readsAlong(ArrayRef<Value> arrays, StringAttr dim, ArrayRef<Input> known) {
  llvm::SetVector<Value> reached;
  reached.insert(arrays.begin(), arrays.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (!cast<attn::ArrayType>(value.getType()).hasDim(dim) ||
        llvm::any_of(known, [&](const Input &input) { return input.array == value; }))
      continue;
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != nest.getBodyBlock() || isa<attn::ReadOp>(op))
      return true;
    reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

void StreamLowering::map(Location loc, Over over, ArrayRef<Value> arrays, ArrayRef<Input> ins,
                         ValueRange outs, MapBody body) {
  SmallVector<Value> places;
  for (const Input &input : ins)
    places.push_back(input.place);
  auto op = tile::MapOp::create(b, loc, rowBegin, over.columnBegin, places, outs);
  Block &block = op.getBody().emplaceBlock();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  PointEvaluator evaluator = uniform;
  auto bindIndex = [&](StringAttr dim, bool partial) {
    Value index = block.addArgument(b.getI32Type(), named(dim.getValue()));
    if (partial && readsAlong(arrays, dim, ins)) {
      Value end = narrow(memory.extent(b, loc, dim), "");
      Value last = arith::SubIOp::create(b, loc, end, constant(1));
      index = arith::MinSIOp::create(b, loc, index, last);
    }
    evaluator.bind(dim, widen(index, ""));
  };
  bindIndex(plan.row, /*partial=*/true);
  if (over.column)
    bindIndex(over.column, over.partial);
  SmallVector<Value> elements;
  for (const Input &input : ins) {
    elements.push_back(block.addArgument(b.getF32Type(), input.place.getLoc()));
    if (input.array)
      evaluator.define(input.array, elements.back());
  }
  if (over.full)
    evaluator.assumeFull();
  SmallVector<Value> results = body(evaluator, elements);
  tile::YieldOp::create(b, loc, results);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

// Folds constants and erases what is not used: the two sides of a branch come from the same code.
// Then maps that write each element where they read it, and branches that are left empty, go too.
static void simplify(tile::KernelOp kernel) {
  (void)applyPatternsGreedily(kernel, FrozenRewritePatternSet());
  SmallVector<tile::MapOp> copies;
  kernel.walk([&](tile::MapOp map) {
    auto yield = cast<tile::YieldOp>(map.getBodyBlock()->getTerminator());
    for (auto [i, in] : llvm::enumerate(map.getIns()))
      if (map.getOuts().size() == 1 && in == map.getOuts().front() &&
          yield.getValues().front() == map.element(i))
        copies.push_back(map);
  });
  for (tile::MapOp map : copies)
    map.erase();
}

// The kernel's arguments that are sizes of the nest's row and stream dims.
static SmallVector<Value> tiledSizes(red::NestOp nest, const KernelSignature &signature,
                                     tile::KernelOp kernel) {
  SmallVector<Value> sizes;
  for (ArrayAttr role : {nest.getRow(), nest.getStream()})
    for (StringAttr dim : role.getAsRange<StringAttr>())
      if (!attn::programOf(nest).lookupDim(dim).isStatic())
        sizes.push_back(kernel.getBodyBlock()->getArgument(signature.size(dim)));
  return sizes;
}

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
  auto kernel = tile::KernelOp::create(builder, nest.getLoc(), kernelName(nest),
                                       argumentTypes(signature), builder.getArrayAttr({blocks}),
                                       32 * schedule.warps, sharedBytes(nest, *plan, schedule));
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  kernel->setAttr("schedule", schedule.toAttr(nest.getContext()));
  kernel.setMinBlocks(schedule.minBlocks);
  StreamLowering lowering(nest, std::move(*plan), schedule, signature, kernel, builder);
  lowering.build();
  SmallVector<Value> indices = tiledSizes(nest, signature, kernel);
  llvm::append_range(indices, lowering.indices());
  narrowIndices(kernel, indices);
  simplify(kernel);
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
  });
  return bytes;
}

} // namespace attnc::schedule
