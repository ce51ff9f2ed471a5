#include "compiler/schedule/threads/point_evaluator.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace attnc::schedule {

static attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

static Value constantOf(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

Value cloneScalars(OpBuilder &builder, attn::MapOp map, ValueRange operands, bool full) {
  IRMapping mapping;
  mapping.map(map.getBodyBlock()->getArguments(), operands);
  for (Operation &op : map.getBodyBlock()->without_terminator()) {
    auto side = op.getAttrOfType<BoolAttr>(red::kFullAttr);
    if (auto select = dyn_cast<arith::SelectOp>(op); full && side && select) {
      Value taken = side.getValue() ? select.getTrueValue() : select.getFalseValue();
      mapping.map(select.getResult(), mapping.lookupOrDefault(taken));
      continue;
    }
    Operation *copy = builder.clone(op, mapping);
    // Parts of a statement are told apart by their place in it, not by the statement's name.
    if (op.getResult(0) == map.getYielded())
      copy->setLoc(map.getLoc());
  }
  return mapping.lookupOrDefault(map.getYielded());
}

PointEvaluator::PointEvaluator(red::NestOp nest, const KernelMemory &memory, OpBuilder &builder)
    : nest(nest), memory(memory), builder(builder), scopes(1) {}

// What was known at another index of the dim is not what it is at this one.
void PointEvaluator::bind(StringAttr dim, Value index) {
  if (indices.contains(dim))
    for (Scope &scope : scopes)
      for (auto &[array, element] : llvm::make_early_inc_range(scope.elements))
        if (arrayType(array).hasDim(dim))
          scope.elements.erase(array);
  indices[dim] = index;
}

Value *PointEvaluator::remembered(Value array) {
  for (Scope &scope : llvm::reverse(scopes)) {
    if (auto found = scope.elements.find(array); found != scope.elements.end())
      return &found->second;
    if (scope.rebound && arrayType(array).hasDim(scope.rebound))
      return nullptr;
  }
  return nullptr;
}

Value PointEvaluator::evaluate(Value array) {
  if (Value *known = remembered(array))
    return *known;
  Value value = compute(array);
  scopes.back().elements[array] = value;
  return value;
}

Value PointEvaluator::compute(Value array) {
  if (auto found = provided.find(array); found != provided.end())
    return found->second(*this);
  Operation *op = array.getDefiningOp();
  if (!op || op->getBlock() != nest.getBodyBlock())
    return computeCaptured(array);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](attn::ReadOp read) { return computeRead(read); })
      .Case([&](attn::MapOp map) { return computeMap(map); })
      .Case([&](attn::IndexOp index) { return indices.lookup(index.getDimAttr()); })
      .Case([&](attn::SizeOp size) {
        return memory.extent(builder, size.getLoc(), size.getDimAttr());
      })
      .Case([&](red::FoldOp fold) {
        computeFolds(fold);
        return *remembered(array);
      });
}

// A param, or a tensor that the body names without subscripts.
Value PointEvaluator::computeCaptured(Value array) {
  if (array.getDefiningOp<attn::ParamOp>())
    return memory.param(array);
  if (auto size = array.getDefiningOp<attn::SizeOp>()) // of the domain
    return memory.extent(builder, size.getLoc(), size.getDimAttr());
  SmallVector<Value> subscripts;
  for (StringAttr dim : tensorOf(array).dims)
    subscripts.push_back(indices.lookup(dim));
  return load(array.getLoc(), array, subscripts, arrayType(array).getElementType(),
              readableAt(arrayType(array)), 0);
}

// What has to hold for an array of this type to be read, or null.
Value PointEvaluator::readableAt(attn::ArrayType type) const {
  for (auto [dim, condition] : readable)
    if (type.hasDim(dim))
      return condition;
  return {};
}

// The subscripts, and whether the tensor has such an element (null: always).
std::pair<SmallVector<Value>, Value> PointEvaluator::subscriptsOf(attn::ReadOp read) {
  Location loc = read.getLoc();
  Value source = read.getSource();
  SmallVector<Value> subscripts;
  Value inside;
  for (auto [axis, dim] : llvm::enumerate(tensorOf(source).dims)) {
    StringAttr plain = read.subscriptDim(axis);
    Value subscript = plain ? indices.lookup(plain) : evaluate(read.subscriptValue(axis));
    subscripts.push_back(subscript);
    if (!read.getOtherwise() || plain == dim)
      continue;
    // One unsigned comparison checks both ends.
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, subscript,
                                       memory.extent(builder, loc, dim));
    inside = inside ? arith::AndIOp::create(builder, loc, inside, fits).getResult() : fits;
  }
  if (Value readable = readableAt(read.getType()))
    inside = inside ? arith::AndIOp::create(builder, loc, inside, readable).getResult() : readable;
  return {subscripts, inside};
}

Value PointEvaluator::computeRead(attn::ReadOp read) {
  auto [subscripts, inside] = subscriptsOf(read);
  return load(read.getLoc(), read.getSource(), subscripts, read.getType().getElementType(), inside,
              read.getOtherwise() ? read.getOtherwise()->convertToDouble() : 0);
}

PointEvaluator::Place PointEvaluator::locate(attn::ReadOp read) {
  auto [subscripts, inside] = subscriptsOf(read);
  Value offset = memory.offset(builder, read.getLoc(), read.getSource(), subscripts);
  return {offset, subscripts, inside};
}

Value PointEvaluator::storeIndex(Value result, StringAttr dim) {
  red::PackOp pack = packOf(result);
  if (!pack || dim != pack.getDimAttr())
    return index(dim);
  Location loc = attn::renamed(result.getLoc(), dim.getValue().str() + "_row");
  Value first = memory.element(builder, loc, pack.getStart(), index(pack.over()));
  return arith::AddIOp::create(builder, loc, first, index(dim));
}

Value PointEvaluator::isStored(red::PackOp pack) {
  Location loc = attn::renamed(pack.getLoc(), pack.getDim().str() + "_stored");
  Value count = memory.element(builder, loc, pack.getCount(), index(pack.over()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index(pack.getDimAttr()),
                               count);
}

// The element at the subscripts if `inside` (null: always), else `otherwise`.
Value PointEvaluator::load(Location loc, Value source, ArrayRef<Value> subscripts, Type type,
                           Value inside, double otherwise) {
  auto element = [&](OpBuilder &b, Location at) -> Value {
    return tile::LoadOp::create(b, at, type, memory.pointer(source),
                                memory.offset(b, at, source, subscripts));
  };
  if (!inside)
    return element(builder, loc);
  auto guarded = scf::IfOp::create(
      builder, loc, inside,
      [&](OpBuilder &b, Location at) { scf::YieldOp::create(b, at, element(b, at)); },
      [&](OpBuilder &b, Location at) {
        TypedAttr value = isa<FloatType>(type) ? TypedAttr(b.getFloatAttr(type, otherwise))
                                               : TypedAttr(b.getIntegerAttr(type, otherwise));
        Value constant = arith::ConstantOp::create(b, at, value);
        scf::YieldOp::create(b, at, constant);
      });
  return guarded.getResult(0);
}

Value PointEvaluator::computeMap(attn::MapOp map) {
  SmallVector<Value> operands;
  for (Value operand : map.getOperands())
    operands.push_back(evaluate(operand));
  return cloneScalars(builder, map, operands, full);
}

void PointEvaluator::hoist(Value array, ArrayRef<StringAttr> varying, bool knowsStates) {
  auto varies = [&](StringAttr dim) { return llvm::is_contained(varying, dim); };
  llvm::SmallDenseSet<Value> seen; // an operand that is shared is walked once
  SmallVector<Value> work = {array};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (llvm::none_of(arrayType(value).getDims(), varies)) {
      if (knowsStates || !nest.dependsOnState(value))
        evaluate(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == nest.getBodyBlock() && isa<attn::ReadOp, attn::MapOp>(op))
      for (Value operand : llvm::reverse(op->getOperands()))
        if (!isa<attn::ReadOp>(op) || operand != cast<attn::ReadOp>(op).getSource())
          work.push_back(operand);
  }
}

void PointEvaluator::hoistExtremes() {
  Block *domain = nest.getDomainBlock();
  if (!domain)
    return;
  IRMapping mapping;
  auto grid = nest.getGrid().getAsRange<StringAttr>();
  for (auto [dim, argument] : llvm::zip(grid, domain->getArguments()))
    mapping.map(argument, indices.lookup(dim));
  auto isKnown = [&](Value index) { return mapping.lookupOrNull(index) != nullptr; };
  for (auto extreme : domain->getOps<red::ExtremeOp>())
    if (llvm::all_of(extreme.getFirst(), isKnown) &&
        llvm::equal(extreme.getFirst(), extreme.getLast()))
      extremes[extreme] = computeExtremes(extreme, mapping).front();
}

// True if they are of elements at the same places, as the smallest and the largest of a part are.
static bool haveOneBox(red::ExtremeOp x, red::ExtremeOp y) {
  return arrayType(x.getArray()).getDims() == arrayType(y.getArray()).getDims() &&
         tensorOf(x.getArray()).dims == tensorOf(y.getArray()).dims &&
         llvm::equal(x.getFirst(), y.getFirst()) && llvm::equal(x.getLast(), y.getLast());
}

// Of the slice those that are not known and read what the extreme does.
static SmallVector<red::ExtremeOp> ofOneBox(red::ExtremeOp extreme, ArrayRef<Operation *> slice,
                                            const IRMapping &known) {
  SmallVector<red::ExtremeOp> alike;
  for (Operation *op : slice)
    if (auto other = dyn_cast<red::ExtremeOp>(op);
        other && !known.contains(other.getResult()) && haveOneBox(extreme, other))
      alike.push_back(other);
  return alike;
}

SmallVector<Value> PointEvaluator::domain(ValueRange args, ValueRange wanted) {
  SmallVector<Operation *> slice = domainSlice(nest, wanted);
  IRMapping mapping;
  mapping.map(nest.getDomainBlock()->getArguments(), args);
  for (Operation *op : slice)
    if (auto known = extremes.find(op); known != extremes.end())
      mapping.map(op->getResult(0), known->second);
  for (Operation *op : slice)
    if (auto scalar = dyn_cast<red::ScalarOp>(op)) {
      mapping.map(scalar.getResult(), evaluate(scalar.getArray()));
    } else if (auto extreme = dyn_cast<red::ExtremeOp>(op)) {
      if (mapping.contains(extreme.getResult()))
        continue;
      SmallVector<red::ExtremeOp> alike = ofOneBox(extreme, slice, mapping);
      for (auto [each, value] : llvm::zip_equal(alike, computeExtremes(alike, mapping)))
        mapping.map(each.getResult(), value);
    } else if (!isa<attn::SizeOp>(op)) {
      builder.clone(*op, mapping);
    }
  SmallVector<Value> values;
  for (Value value : wanted)
    values.push_back(mapping.lookupOrDefault(value));
  return values;
}

// Loops over the box within the arrays' extents, one for each axis but those of grid dims: all
// extremes of a box read its elements side by side.
SmallVector<Value> PointEvaluator::computeExtremes(ArrayRef<red::ExtremeOp> alike,
                                                   IRMapping &mapping) {
  red::ExtremeOp box = alike.front();
  Location loc = box.getLoc();
  auto type = arrayType(box.getArray());
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> subscripts, running;
  for (red::ExtremeOp each : alike)
    running.push_back(emptyExtreme(builder, each.getLoc(), each.getKind()));
  SmallVector<scf::ForOp> loops;
  for (StringAttr dim : tensorOf(box.getArray()).dims) {
    unsigned axis = llvm::find(type.getDims(), dim) - type.getDims().begin();
    Value first = mapping.lookupOrDefault(box.getFirst()[axis]);
    Value last = mapping.lookupOrDefault(box.getLast()[axis]);
    if (first == last && first == indices.lookup(dim)) {
      subscripts.push_back(first);
      continue;
    }
    Value zero = constantOf(builder, loc, 0), one = constantOf(builder, loc, 1);
    Value end = builder.createOrFold<arith::AddIOp>(loc, last, one);
    Value lo = builder.createOrFold<arith::MaxSIOp>(loc, first, zero);
    Value hi = builder.createOrFold<arith::MinSIOp>(loc, end, memory.extent(builder, loc, dim));
    auto loop = scf::ForOp::create(builder, loc, lo, hi, one, running);
    loop.getInductionVar().setLoc(attn::renamed(loc, dim.getValue()));
    for (Value carried : loop.getRegionIterArgs())
      carried.setLoc(attn::renamed(loc, "extreme"));
    builder.setInsertionPointToStart(loop.getBody());
    subscripts.push_back(loop.getInductionVar());
    running = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    loops.push_back(loop);
  }
  for (size_t i = 0; i < alike.size(); ++i) {
    red::ExtremeOp each = alike[i];
    Value array = each.getArray(), at = memory.offset(builder, loc, array, subscripts);
    Value element = tile::LoadOp::create(builder, loc, attn::computeType(tensorOf(array).element),
                                         memory.pointer(array), at);
    running[i] = furtherExtreme(builder, loc, each.getKind(), running[i], element);
  }
  for (scf::ForOp loop : llvm::reverse(loops)) {
    scf::YieldOp::create(builder, loc, running);
    builder.setInsertionPointAfter(loop);
    running = llvm::to_vector_of<Value>(loop.getResults());
  }
  return running;
}

} // namespace attnc::schedule
