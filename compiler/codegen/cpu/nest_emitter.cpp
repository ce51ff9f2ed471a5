#include "compiler/codegen/cpu/nest_emitter.h"
#include "compiler/codegen/cpu/domain_emitter.h"
#include "compiler/codegen/cpu/scalar_ops.h"
#include "compiler/codegen/cpu/scratch_layout.h"
#include "compiler/schedule/domain_slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

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
    emitPhase(Phase::Finish);
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
  Value term(red::FoldOp fold, LoopNest &loops);
  const Buffer &exponential(ExponentPair pair);
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
  loops.store(foldIdentity(builder, loc, fold.getKind(), fold.getType().getElementType()), buffer);
}

// What one element contributes: the product of the factors and of the exponential.
Value CellEmitter::term(red::FoldOp fold, LoopNest &loops) {
  auto contract =
      arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::contract);
  Value product;
  auto multiply = [&](Value factor) {
    if (!product)
      product = factor;
    else if (isa<FloatType>(factor.getType()))
      product = arith::MulFOp::create(builder, loc, product, factor, contract);
    else
      product = arith::MulIOp::create(builder, loc, product, factor);
  };
  if (fold.getExponent())
    multiply(loops.loadHoisted(scratch.exponential({fold.getExponent(), fold.getReference()})));
  for (Value factor : fold.getFactors())
    multiply(loops.evaluate(factor));
  if (fold.getBase()) {
    Value base = loops.evaluate(fold.getBase());
    Value centre = loops.load(scratch.centre(fold.getCentre()));
    Value difference = arith::SubFOp::create(builder, loc, base, centre);
    for (unsigned power = 0; power < fold.degree(); ++power)
      multiply(difference);
  }
  return product;
}

// Adds the tile's contributions to the fold's buffer.
void CellEmitter::accumulate(red::FoldOp fold) {
  if (fold.getExponent())
    exponential({fold.getExponent(), fold.getReference()});
  const Buffer result = scope.buffers.find(fold.getResult())->second;
  DimList order = plan.foldOrder(fold);
  StringAttr last = order.back();
  if (llvm::is_contained(result.dims, last)) {
    LoopNest loops(scope, order);
    Value contribution = term(fold, loops);
    Value sum = foldCombine(builder, loc, fold.getKind(), loops.load(result), contribution,
                            /*inAnyOrder=*/false);
    loops.store(sum, result);
    return;
  }
  LoopNest loops(scope, ArrayRef(order).drop_back());
  Value running = loops.openReduction(last, loops.load(result));
  Value contribution = term(fold, loops);
  // A score may be computed by several nests, which have to get the same bits.
  Value next = foldCombine(builder, loc, fold.getKind(), running, contribution,
                           /*inAnyOrder=*/plan.isState(fold.getResult()));
  loops.store(loops.closeReduction(next), result);
}

// exp(exponent - reference) of the tile, computed once for all folds that use it.
const Buffer &CellEmitter::exponential(ExponentPair pair) {
  const Buffer &buffer = scratch.exponential(pair);
  if (!ready.insert(pair).second)
    return buffer;
  LoopNest loops(scope, buffer.dims);
  Value exponent = loops.evaluate(pair.first), reference = loops.evaluate(pair.second);
  loops.store(emitExp(builder, loc, emitSub(builder, loc, exponent, reference)), buffer);
  return buffer;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

// Folds the tile into a maximum that exponents refer to, and keeps by how much it rescales them:
// exp(old - new), and 1 where there is no old maximum, so that no factor touches an identity.
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
  Value low =
      floatConstant(builder, loc, before.getType(), -std::numeric_limits<double>::infinity());
  Value empty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, before, low);
  Value factor = emitExp(builder, loc, arith::SubFOp::create(builder, loc, before, after));
  Value one = floatConstant(builder, loc, before.getType(), 1.0);
  loops.store(arith::SelectOp::create(builder, loc, empty, one, factor), scale);
}

void CellEmitter::rescale(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  const Buffer &scale = scratch.scale(fold.getReference());
  LoopNest loops(scope, state.dims);
  Value scaled = arith::MulFOp::create(builder, loc, loops.load(state), loops.load(scale));
  loops.store(scaled, state);
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

// The centre that the states so far make, and by how much it has moved. While nothing finite has
// been made it stays where it is; in the end it is what the states say.
void CellEmitter::moveCentre(Value centre, bool last) {
  const Buffer &running = scratch.centre(centre);
  LoopNest loops(scope, running.dims);
  Value next = loops.evaluate(centre), old = loops.load(running);
  if (!last) {
    Value none = arith::SubFOp::create(builder, loc, next, next);
    Value zero = floatConstant(builder, loc, running.element, 0);
    Value finite = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, none, zero);
    next = arith::SelectOp::create(builder, loc, finite, next, old);
  }
  loops.store(arith::SubFOp::create(builder, loc, old, next), scratch.shift(centre));
  loops.store(next, running);
}

// A moment before it moves and takes in the tile, for those of higher degree.
void CellEmitter::keepLower(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  LoopNest loops(scope, state.dims);
  loops.store(loops.load(state), scratch.before(fold.getResult()));
}

// c_k + sum over i < k of binomial(k, i) * shift^(k - i) * c_i.
void CellEmitter::shiftMoment(red::FoldOp fold) {
  const Buffer &state = scope.buffers.find(fold.getResult())->second;
  LoopNest loops(scope, state.dims);
  Value sum = loops.load(state), shift = loops.load(scratch.shift(fold.getCentre()));
  Value power;
  double binomial = 1;
  for (unsigned i = fold.degree(); i-- > 0;) {
    binomial *= double(i + 1) / (fold.degree() - i);
    power = power ? Value(arith::MulFOp::create(builder, loc, power, shift)) : shift;
    Value lower = loops.load(scratch.before(fold.getLower()[i]));
    Value part = arith::MulFOp::create(builder, loc, power, lower);
    if (binomial != 1)
      part = arith::MulFOp::create(builder, loc, part,
                                   floatConstant(builder, loc, part.getType(), binomial));
    sum = arith::AddFOp::create(builder, loc, sum, part);
  }
  loops.store(sum, state);
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
