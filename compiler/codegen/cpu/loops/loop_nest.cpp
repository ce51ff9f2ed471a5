#include "compiler/codegen/cpu/loops/loop_nest.h"
#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::cpu {

LoopNest::LoopNest(TileScope &scope, ArrayRef<StringAttr> dims)
    : scope(scope), builder(scope.builder), loc(scope.plan.nest->getLoc()),
      outside(builder.saveInsertionPoint()) {
  for (StringAttr dim : dims)
    open(dim, {});
}

LoopNest::~LoopNest() {
  const LoopAnnotations &annotations = scope.storage.loops();
  if (!loops.empty())
    annotations.annotateInnermost(loops.back().op);
  for (Loop loop : ArrayRef(loops).drop_back(loops.empty() ? 0 : 1))
    annotations.annotateOuter(loop.op);
  // Not merely behind the outermost loop: the result of a reduction is stored behind it too.
  builder.restoreInsertionPoint(outside);
}

scf::ForOp LoopNest::open(StringAttr dim, ValueRange init) {
  standInside();
  Value zero = index64(builder, loc, 0), one = index64(builder, loc, 1);
  auto loop =
      scf::ForOp::create(builder, loc, zero, scope.ranges.find(dim)->second.count, one, init);
  loops.push_back({dim, loop});
  standInside();
  return loop;
}

Value LoopNest::openReduction(StringAttr dim, Value init) {
  return open(dim, init).getRegionIterArg(0);
}

Value LoopNest::closeReduction(Value next) {
  standInside();
  scf::YieldOp::create(builder, loc, next);
  scf::ForOp loop = loops.back().op;
  builder.setInsertionPointAfter(loop);
  return loop.getResult(0);
}

// Behind everything emitted so far at this depth, before the next deeper loop.
void LoopNest::standAt(unsigned depth) {
  if (depth < loops.size()) {
    builder.setInsertionPoint(loops[depth].op);
  } else if (loops.empty()) {
    builder.restoreInsertionPoint(outside);
  } else {
    Block *body = loops.back().op.getBody();
    if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
      builder.setInsertionPoint(&body->back());
    else
      builder.setInsertionPointToEnd(body);
  }
}

unsigned LoopNest::depthOf(ArrayRef<StringAttr> dims) const {
  for (unsigned depth = loops.size(); depth > 0; --depth)
    if (llvm::is_contained(dims, loops[depth - 1].dim))
      return depth;
  return 0;
}

// The index within the tile; null for a dim without a loop, whose only position is 0.
Value LoopNest::position(StringAttr dim) const {
  for (const Loop &loop : loops)
    if (loop.dim == dim)
      return loop.op->getRegion(0).getArgument(0);
  return {};
}

Value LoopNest::index(StringAttr dim) {
  if (Value value = indices.lookup(dim))
    return value;
  Value origin = scope.ranges.find(dim)->second.origin;
  Value within = position(dim);
  standAt(depthOf(dim));
  Value value = within ? arith::AddIOp::create(builder, loc, origin, within).getResult() : origin;
  indices[dim] = value;
  return value;
}

//===----------------------------------------------------------------------===//
// Buffers and results
//===----------------------------------------------------------------------===//

Value LoopNest::bufferIndex(const Buffer &buffer) {
  Value sum = index64(builder, loc, 0);
  for (auto [dim, stride] : llvm::zip(buffer.dims, buffer.strides))
    if (Value within = position(dim)) {
      Value offset = arith::MulIOp::create(builder, loc, within, stride);
      sum = arith::AddIOp::create(builder, loc, sum, offset);
    }
  return sum;
}

Value LoopNest::load(const Buffer &buffer) {
  Value index = bufferIndex(buffer);
  return scope.storage.load(builder, loc, buffer.element, buffer.pointer, index);
}

Value LoopNest::loadHoisted(const Buffer &buffer) {
  standAt(depthOf(buffer.dims));
  Value value = load(buffer);
  standInside();
  return value;
}

void LoopNest::store(Value value, const Buffer &buffer) {
  Value index = bufferIndex(buffer);
  scope.storage.store(builder, loc, value, buffer.element, buffer.pointer, index);
}

void LoopNest::storeResult(Value value, Value result) {
  schedule::Tensor tensor = schedule::tensorOf(result);
  standInside();
  Value offset = index64(builder, loc, 0);
  for (auto [axis, dim] : llvm::enumerate(tensor.dims)) {
    Value term = index(dim);
    standInside();
    if (axis + 1 < tensor.dims.size())
      term = arith::MulIOp::create(builder, loc, term, scope.args.stride(result, axis));
    offset = arith::AddIOp::create(builder, loc, offset, term);
  }
  scope.storage.store(builder, loc, value, tensor.element, scope.args.pointer(result), offset);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Value LoopNest::evaluate(Value array) {
  if (Value value = known.lookup(array))
    return value;
  Value value = compute(array);
  known[array] = value;
  standInside();
  return value;
}

Value LoopNest::compute(Value array) {
  if (auto buffer = scope.buffers.find(array); buffer != scope.buffers.end())
    return loadHoisted(buffer->second);
  Operation *op = array.getDefiningOp();
  if (auto index = dyn_cast<attn::IndexOp>(op))
    return this->index(index.getDimAttr());
  if (auto size = dyn_cast<attn::SizeOp>(op)) {
    standAt(0);
    return scope.args.size(builder, size.getDimAttr());
  }
  if (isa<attn::ParamOp>(op))
    return scope.args.param(array);
  if (auto read = dyn_cast<attn::ReadOp>(op))
    return computeRead(read);
  return computeMap(cast<attn::MapOp>(op));
}

Value LoopNest::computeMap(attn::MapOp map) {
  IRMapping mapping;
  for (auto [operand, scalar] : llvm::zip(map.getOperands(), map.getBodyBlock()->getArguments()))
    mapping.map(scalar, evaluate(operand));
  standAt(depthOf(map.getType().getDims()));
  for (Operation &op : map.getBodyBlock()->without_terminator())
    emitScalarOp(builder, op, mapping);
  return mapping.lookup(map.getYielded());
}

Value LoopNest::insideExtents(attn::ReadOp read, ValueRange indices) {
  Value inside;
  for (auto [axis, dim] : llvm::enumerate(read.getSource().getType().getDims())) {
    if (read.subscriptDim(axis) == dim)
      continue;
    // One unsigned comparison: a negative index is a huge one.
    Value extent = scope.args.size(builder, dim);
    Value fits =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, indices[axis], extent);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, fits).getResult() : fits;
  }
  return inside;
}

Value LoopNest::computeRead(attn::ReadOp read) {
  Value source = read.getSource();
  schedule::Tensor tensor = schedule::tensorOf(source);
  SmallVector<Value> indices;
  for (unsigned axis = 0; axis < tensor.dims.size(); ++axis)
    indices.push_back(read.isPlain() || !read.subscriptValue(axis)
                          ? index(read.subscriptDim(axis))
                          : evaluate(read.subscriptValue(axis)));
  standAt(depthOf(read.getType().getDims()));
  auto emitLoad = [&] {
    Value offset = index64(builder, loc, 0);
    for (auto [axis, index] : llvm::enumerate(indices)) {
      Value term = index;
      if (axis + 1 < indices.size())
        term = arith::MulIOp::create(builder, loc, term, scope.args.stride(source, axis));
      offset = arith::AddIOp::create(builder, loc, offset, term);
    }
    return scope.storage.load(builder, loc, tensor.element, scope.args.pointer(source), offset);
  };
  std::optional<APFloat> otherwise = read.getOtherwise();
  Value inside = otherwise ? insideExtents(read, indices) : Value();
  if (!inside)
    return emitLoad();
  Type type = read.getType().getElementType();
  double fallback = otherwise->convertToDouble();
  auto guarded = scf::IfOp::create(builder, loc, type, inside, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    scf::YieldOp::create(builder, loc, emitLoad());
    builder.setInsertionPointToStart(guarded.elseBlock());
    Value other = isa<FloatType>(type)
                      ? floatConstant(builder, loc, type, fallback)
                      : intConstant(builder, loc, type, static_cast<int64_t>(fallback));
    scf::YieldOp::create(builder, loc, other);
  }
  return guarded.getResult(0);
}

} // namespace attnc::cpu
