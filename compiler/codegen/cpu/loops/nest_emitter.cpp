#include "compiler/codegen/cpu/loops/nest_emitter.h"
#include "compiler/codegen/cpu/loops/domain_emitter.h"
#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "compiler/codegen/cpu/loops/scratch_layout.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::cpu {

namespace {

// Ops of loops that compute several values: a body that LLVM still vectorises in little time.
constexpr unsigned kLongestBody = 256;

// Emits the body of one cell: the tile of rows that scope.ranges describes.
class CellEmitter {
public:
  CellEmitter(TileScope &scope, const ScratchLayout &scratch)
      : scope(scope), plan(scope.plan), builder(scope.builder), loc(plan.nest->getLoc()),
        scratch(scratch) {}

  void emit() {
    emitPhase(Phase::Prologue);
    for (red::FoldOp state : nest().states())
      fill(state, scope.buffers.find(state.getResult())->second);
    for (Value centre : plan.momentCentres())
      startCentre(centre);
    emitStream();
    settleMoments();
    emitPhase(Phase::Epilogue);
    emitYields(/*streamed=*/false);
  }

private:
  red::NestOp nest() const { return plan.nest; }

  void emitPhase(Phase phase);
  void emitStream();
  void emitLiveStep();
  void emitStep();
  void emitState(red::FoldOp fold);
  void emitValue(Value value);
  void emitTogether();
  void emitReference(red::FoldOp fold);
  void fill(red::FoldOp fold, const Buffer &buffer);
  void accumulate(red::FoldOp fold);
  Value inlined(Region &region, ValueRange x,
                arith::FastMathFlags flags = arith::FastMathFlags::none);
  Value term(red::FoldOp fold, LoopNest &loops);
  const Buffer &exponential(const red::FoldOp::Frame &frame);
  void rescale(red::FoldOp fold);
  void startCentre(Value centre);
  void moveCentre(Value centre, bool last);
  void keepLower(red::FoldOp fold);
  void shiftMoment(red::FoldOp fold);
  void settleMoments();
  void emitYields(bool streamed);
  SmallVector<Range> streamBounds();
  Range clip(StringAttr dim, Value low, Value high);

  TileScope &scope;
  const NestPlan &plan;
  OpBuilder &builder;
  Location loc;
  const ScratchLayout &scratch;
  llvm::DenseSet<ExponentPair> ready;
  llvm::DenseSet<Value> moved; // centres that know of the tile
  SmallVector<Value> together; // consecutive values of the same loops, still to be emitted
  ElementCost togetherCost;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values and folds
//===----------------------------------------------------------------------===//

void CellEmitter::emitPhase(Phase phase) {
  for (Operation &op : nest().getBodyBlock()->without_terminator()) {
    Value value = op.getResult(0);
    if (plan.phase(value) == phase && !plan.isState(value) && plan.bufferDims(value))
      emitValue(value);
  }
  emitTogether();
}

// Computes a buffered value that is no state: a fold at once, another together with its neighbours.
void CellEmitter::emitValue(Value value) {
  auto fold = value.getDefiningOp<red::FoldOp>();
  if (fold) {
    emitTogether();
    const Buffer buffer = scratch.buffer(value);
    fill(fold, buffer);
    scope.buffers[value] = buffer;
    accumulate(fold);
    return;
  }
  ElementCost cost = plan.costOf(value);
  if (!together.empty() &&
      (*plan.bufferDims(value) != *plan.bufferDims(together.front()) ||
       cost.calls != togetherCost.calls || cost.ops + togetherCost.ops > kLongestBody))
    emitTogether();
  together.push_back(value);
  togetherCost = {cost.ops + (together.size() > 1 ? togetherCost.ops : 0), cost.calls};
}

// One nest of loops that stores several values: those that later ones use stay in registers.
void CellEmitter::emitTogether() {
  if (together.empty())
    return;
  {
    LoopNest loops(scope, *plan.bufferDims(together.front()));
    for (Value value : together) {
      Value element = loops.evaluate(value);
      loops.store(element, scratch.buffer(value));
    }
  }
  for (Value value : together)
    scope.buffers[value] = scratch.buffer(value);
  together.clear();
}

void CellEmitter::fill(red::FoldOp fold, const Buffer &buffer) {
  LoopNest loops(scope, buffer.dims);
  loops.store(inlined(fold.getEmpty(), {}), buffer);
}

// What a part of an update makes of scalars; its sums and products may be treated as `flags` say.
Value CellEmitter::inlined(Region &region, ValueRange x, arith::FastMathFlags flags) {
  auto attribute = arith::FastMathFlagsAttr::get(builder.getContext(), flags);
  auto emit = [&](OpBuilder &b, Operation &op, IRMapping &mapping) {
    emitScalarOp(b, op, mapping);
    if (isa<arith::AddFOp, arith::MulFOp>(op))
      mapping.lookup(op.getResult(0)).getDefiningOp()->setAttr("fastmath", attribute);
  };
  return red::inlineUpdate(builder, loc, region, x, emit);
}

// What one element contributes.
Value CellEmitter::term(red::FoldOp fold, LoopNest &loops) {
  SmallVector<Value> x;
  for (Value factor : fold.getFactors())
    x.push_back(loops.evaluate(factor));
  for (const red::FoldOp::Frame &frame : fold.frames()) {
    if (!frame.takesLower) {
      x.push_back(loops.loadHoisted(scratch.exponential({frame.element, frame.reference})));
      continue;
    }
    Value element = loops.evaluate(frame.element);
    x.push_back(inlined(*frame.distance, {element, loops.load(scratch.centre(frame.reference))}));
  }
  return inlined(fold.getLift(), x, arith::FastMathFlags::contract);
}

// Adds the tile's contributions to the fold's buffer.
void CellEmitter::accumulate(red::FoldOp fold) {
  for (const red::FoldOp::Frame &frame : fold.frames())
    if (!frame.takesLower)
      exponential(frame);
  // A score may be computed by several nests, which have to get the same bits.
  auto contract = arith::FastMathFlags::contract, reorder = contract;
  if (plan.isState(fold.getResult()))
    reorder = reorder | arith::FastMathFlags::reassoc;
  const Buffer result = scope.buffers.find(fold.getResult())->second;
  DimList order = plan.foldOrder(fold);
  StringAttr last = order.back();
  if (llvm::is_contained(result.dims, last)) {
    LoopNest loops(scope, order);
    Value contribution = term(fold, loops);
    loops.store(inlined(fold.getMerge(), {loops.load(result), contribution}, contract), result);
    return;
  }
  LoopNest loops(scope, ArrayRef(order).drop_back());
  Value running = loops.openReduction(last, loops.load(result));
  Value contribution = term(fold, loops);
  Value next = inlined(fold.getMerge(), {running, contribution}, reorder);
  loops.store(loops.closeReduction(next), result);
}

// How far the tile's elements are from their reference, computed once for all folds that use it.
const Buffer &CellEmitter::exponential(const red::FoldOp::Frame &frame) {
  ExponentPair pair{frame.element, frame.reference};
  const Buffer &buffer = scratch.exponential(pair);
  if (!ready.insert(pair).second)
    return buffer;
  LoopNest loops(scope, buffer.dims);
  Value element = loops.evaluate(frame.element), reference = loops.evaluate(frame.reference);
  loops.store(inlined(*frame.distance, {element, reference}), buffer);
  return buffer;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

// Folds the tile into a state that others are relative to, and keeps how far it has moved.
void CellEmitter::emitReference(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  const Buffer &scale = scratch.scale(fold.getResult());
  {
    LoopNest loops(scope, state.dims);
    loops.store(loops.load(state), scale);
  }
  accumulate(fold);
  LoopNest loops(scope, state.dims);
  Value before = loops.load(scale), after = loops.load(state);
  const auto *pair = llvm::find_if(
      plan.exponentials(), [&](ExponentPair known) { return known.second == fold.getResult(); });
  red::FoldOp::Frame frame = red::frameOf(nest(), pair->first, pair->second);
  loops.store(inlined(*frame.distance, {before, after}), scale);
}

void CellEmitter::rescale(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  const Buffer &scale = scratch.scale(fold.getReference());
  LoopNest loops(scope, state.dims);
  loops.store(inlined(fold.getRescale(), {loops.load(state), loops.load(scale)}), state);
}

void CellEmitter::emitState(red::FoldOp fold) {
  emitTogether();
  if (plan.isReference(fold.getResult()))
    return emitReference(fold);
  if (fold.getExponent())
    rescale(fold);
  if (plan.isLower(fold.getResult()))
    keepLower(fold);
  if (fold.getBase()) {
    if (moved.insert(fold.getCentre()).second)
      moveCentre(fold.getCentre(), /*last=*/false);
    shiftMoment(fold);
  }
  accumulate(fold);
}

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

void CellEmitter::startCentre(Value centre) {
  const Buffer &running = scratch.centre(centre);
  LoopNest loops(scope, running.dims);
  loops.store(floatConstant(builder, loc, running.element, 0), running);
}

// The centre that the states so far make, and by how much it has moved. In the end it is what the
// states say.
void CellEmitter::moveCentre(Value centre, bool last) {
  red::FoldOp moment = *llvm::find_if(
      nest().states(), [&](red::FoldOp state) { return state.getCentre() == centre; });
  const Buffer &running = scratch.centre(centre);
  LoopNest loops(scope, running.dims);
  Value next = loops.evaluate(centre), old = loops.load(running);
  if (!last)
    next = inlined(moment.getFollowCentre(), {old, next});
  loops.store(inlined(moment.getDifference(), {old, next}), scratch.shift(centre));
  loops.store(next, running);
}

// A moment before it moves and takes in the tile, for those of higher degree.
void CellEmitter::keepLower(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  LoopNest loops(scope, state.dims);
  loops.store(loops.load(state), scratch.before(fold.getResult()));
}

// The moment about where its centre has moved.
void CellEmitter::shiftMoment(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  LoopNest loops(scope, state.dims);
  SmallVector<Value> x = {loops.load(state)};
  for (Value lower : fold.getLower())
    x.push_back(loops.load(scratch.before(lower)));
  x.push_back(loops.load(scratch.shift(fold.getCentre())));
  loops.store(inlined(fold.getShift(), x), state);
}

// After the stream the moments are about the centre that all of it makes.
void CellEmitter::settleMoments() {
  for (Value centre : plan.momentCentres())
    moveCentre(centre, /*last=*/true);
  for (red::FoldOp state : nest().states()) {
    if (plan.isLower(state.getResult()))
      keepLower(state);
    if (state.getBase())
      shiftMoment(state);
  }
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

void CellEmitter::emitStep() {
  ready.clear();
  moved.clear();
  for (Operation &op : nest().getBodyBlock()->without_terminator()) {
    Value value = op.getResult(0);
    if (plan.isState(value))
      emitState(cast<red::FoldOp>(op));
    else if (plan.phase(value) == Phase::Step && plan.bufferDims(value))
      emitValue(value);
  }
  emitTogether();
  emitYields(/*streamed=*/true);
}

Range CellEmitter::clip(StringAttr dim, Value low, Value high) {
  Value zero = index64(builder, loc, 0);
  Value extent = scope.args.size(builder, dim);
  return {arith::MaxSIOp::create(builder, loc, low, zero),
          arith::MinSIOp::create(builder, loc, high, extent)};
}

// For each stream dim its first index and the one past its last (not a count).
SmallVector<Range> CellEmitter::streamBounds() {
  SmallVector<Range> bounds;
  Block *domain = nest().getDomainBlock();
  Value zero = index64(builder, loc, 0);
  if (!domain) {
    for (StringAttr dim : plan.stream)
      bounds.push_back({zero, scope.args.size(builder, dim)});
    return bounds;
  }
  auto terminator = cast<red::BoundsOp>(domain->getTerminator());
  SmallVector<Value> stream(2 * plan.stream.size(), zero), ends(terminator.getLo());
  llvm::append_range(ends, terminator.getHi());
  ends = emitDomain(scope, stream, ends);
  for (auto [i, dim] : llvm::enumerate(plan.stream))
    bounds.push_back(clip(dim, ends[i], ends[plan.stream.size() + i]));
  return bounds;
}

// The step, where the domain does not say that the tile can be skipped.
void CellEmitter::emitLiveStep() {
  Value live = schedule::liveCondition(nest());
  if (!live) {
    emitStep();
    return;
  }
  SmallVector<Value> stream;
  for (StringAttr dim : plan.stream) {
    Range range = scope.ranges.find(dim)->second;
    Value end = arith::AddIOp::create(builder, loc, range.origin, range.count);
    stream.push_back(range.origin);
    stream.push_back(arith::SubIOp::create(builder, loc, end, index64(builder, loc, 1)));
  }
  Value matters = emitDomain(scope, stream, live).front();
  auto branch = scf::IfOp::create(builder, loc, matters, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitStep();
}

// Nested loops over the stream dims; the last one goes by tiles.
void CellEmitter::emitStream() {
  if (plan.stream.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Range> bounds = streamBounds();
  for (auto [dim, bound] : llvm::zip(plan.stream, bounds)) {
    Value step = index64(builder, loc, *plan.tile(dim));
    auto loop = scf::ForOp::create(builder, loc, bound.origin, bound.count, step);
    scope.storage.loops().annotateOuter(loop);
    builder.setInsertionPointToStart(loop.getBody());
    Value origin = loop.getInductionVar();
    Value rest = arith::SubIOp::create(builder, loc, bound.count, origin);
    scope.ranges[dim] = {origin, arith::MinSIOp::create(builder, loc, rest, step)};
  }
  emitLiveStep();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void CellEmitter::emitYields(bool streamed) {
  auto yield = cast<red::YieldOp>(nest().getBodyBlock()->getTerminator());
  for (auto [value, result] : llvm::zip(yield.getValues(), nest().getResults())) {
    if ((plan.phase(value) == Phase::Step) != streamed)
      continue;
    DimList order = plan.tileDims(schedule::tensorOf(result).dims);
    LoopNest loops(scope, order);
    Value element = loops.evaluate(value);
    loops.storeResult(element, result);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static LLVM::LLVMFuncOp openFunction(OpBuilder &b, ModuleOp module, Location loc, StringRef name,
                                     Type result, ArrayRef<Type> inputs) {
  b.setInsertionPointToEnd(module.getBody());
  auto function =
      LLVM::LLVMFuncOp::create(b, loc, name, LLVM::LLVMFunctionType::get(result, inputs));
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

namespace {
// How many cells each cell dim has, and how many indices one cell covers.
struct CellDim {
  StringAttr dim;
  Value count, tile;
};
} // namespace

static SmallVector<CellDim> cellDims(OpBuilder &b, const NestPlan &plan,
                                     const KernelArguments &args) {
  Location loc = plan.nest->getLoc();
  SmallVector<CellDim> result;
  for (ArrayRef<StringAttr> dims :
       {ArrayRef<StringAttr>(plan.grid), ArrayRef<StringAttr>(plan.row)})
    for (StringAttr dim : dims) {
      Value tile = index64(b, loc, *plan.tile(dim));
      Value padded =
          arith::AddIOp::create(b, loc, args.size(b, dim), index64(b, loc, *plan.tile(dim) - 1));
      result.push_back({dim, arith::DivUIOp::create(b, loc, padded, tile), tile});
    }
  return result;
}

// Sets the ranges of grid, row and inner dims for the cell of this linear number.
static void setRanges(TileScope &scope, Value cell, ArrayRef<CellDim> dims) {
  OpBuilder &b = scope.builder;
  Location loc = scope.plan.nest->getLoc();
  for (const CellDim &d : llvm::reverse(dims)) {
    Value number = arith::RemUIOp::create(b, loc, cell, d.count);
    cell = arith::DivUIOp::create(b, loc, cell, d.count);
    Value origin = arith::MulIOp::create(b, loc, number, d.tile);
    Value rest = arith::SubIOp::create(b, loc, scope.args.size(b, d.dim), origin);
    scope.ranges[d.dim] = {origin, arith::MinSIOp::create(b, loc, rest, d.tile)};
  }
  for (StringAttr dim : scope.plan.inner)
    scope.ranges[dim] = {index64(b, loc, 0), scope.args.size(b, dim)};
}

static void emitKernel(OpBuilder &b, LLVM::LLVMFuncOp function, const NestPlan &plan) {
  Location loc = plan.nest->getLoc();
  KernelArguments args(b, plan.nest, function.getArgument(0));
  Storage storage(b.getContext());
  TileScope scope{b, plan, args, storage};
  ScratchLayout scratch(b, plan, args, function.getArgument(3));
  SmallVector<CellDim> dims = cellDims(b, plan, args);
  auto loop = scf::ForOp::create(b, loc, function.getArgument(1), function.getArgument(2),
                                 index64(b, loc, 1));
  storage.loops().annotateOuter(loop);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    setRanges(scope, loop.getInductionVar(), dims);
    for (red::FoldOp state : red::NestOp(plan.nest).states())
      scope.buffers[state.getResult()] = scratch.buffer(state.getResult());
    CellEmitter(scope, scratch).emit();
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

llvm::Error emitNest(ModuleOp module, red::NestOp nest, StringRef name) {
  llvm::Expected<NestPlan> plan = NestPlan::make(nest);
  if (!plan)
    return plan.takeError();
  MLIRContext *context = module.getContext();
  OpBuilder b(context);
  Location loc = nest.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type();
  Type none = LLVM::LLVMVoidType::get(context);

  auto kernel = openFunction(b, module, loc, name, none, {pointer, i64, i64, pointer});
  emitKernel(b, kernel, *plan);

  auto cells = openFunction(b, module, loc, (name + "_cells").str(), i64, {pointer});
  KernelArguments cellArgs(b, nest, cells.getArgument(0));
  Value count = index64(b, loc, 1);
  for (const CellDim &d : cellDims(b, *plan, cellArgs))
    count = arith::MulIOp::create(b, loc, count, d.count);
  LLVM::ReturnOp::create(b, loc, count);

  auto bytes = openFunction(b, module, loc, (name + "_scratch").str(), i64, {pointer});
  KernelArguments scratchArgs(b, nest, bytes.getArgument(0));
  LLVM::ReturnOp::create(b, loc, ScratchLayout(b, *plan, scratchArgs, {}).bytes());
  return llvm::Error::success();
}

} // namespace attnc::cpu
