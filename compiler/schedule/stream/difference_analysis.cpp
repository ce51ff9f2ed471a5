#include "compiler/schedule/stream/difference_analysis.h"
#include "compiler/schedule/nest/signature.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc::schedule {

static attn::ArrayType typeOf(Value array) { return cast<attn::ArrayType>(array.getType()); }

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

// Of a function of both.
DifferenceAnalysis::Dependence DifferenceAnalysis::join(Dependence x, Dependence y) {
  auto isEither = [](Dependence z) { return z.isUniform() || z.isOfDifference(); };
  if (!isEither(x) || !isEither(y))
    return {.kind = Dependence::Other};
  bool isUniform = x.isUniform() && y.isUniform();
  return {.kind = isUniform ? Dependence::Affine : Dependence::OfDifference};
}

DifferenceAnalysis::Dependence DifferenceAnalysis::sumOf(Dependence x, Dependence y, int64_t sign) {
  if (x.kind != Dependence::Affine || y.kind != Dependence::Affine)
    return join(x, y);
  return {.row = x.row + sign * y.row, .stream = x.stream + sign * y.stream};
}

DifferenceAnalysis::Dependence DifferenceAnalysis::timesOf(Dependence x, int64_t factor) {
  if (x.kind != Dependence::Affine || !llvm::isInt<31>(factor))
    return join(x, {});
  return {.row = factor * x.row, .stream = factor * x.stream};
}

// Which of two integers is larger their difference says, but not of their bits without a sign.
DifferenceAnalysis::Dependence DifferenceAnalysis::ofComparison(arith::CmpIPredicate predicate,
                                                                Dependence x, Dependence y) {
  bool isSigned = predicate <= arith::CmpIPredicate::sge;
  return join(isSigned ? sumOf(x, y, -1) : join(x, y), {});
}

DifferenceAnalysis::Dependence DifferenceAnalysis::dependence(Value array) {
  auto isInner = [&](StringAttr dim) { return typeOf(array).hasDim(dim); };
  if (llvm::any_of(attn::dimNames(nest.getInner()), isInner) || nest.dependsOnState(array))
    return {.kind = Dependence::Other};
  if (!typeOf(array).hasDim(row) && !typeOf(array).hasDim(stream))
    return {};
  if (auto found = known.find(array); found != known.end())
    return found->second;
  Dependence result = {.kind = Dependence::Other};
  Operation *op = array.getDefiningOp();
  if (auto index = dyn_cast_or_null<attn::IndexOp>(op))
    result = index.getDimAttr() == row ? Dependence{.row = 1} : Dependence{.stream = 1};
  else if (auto map = dyn_cast_or_null<attn::MapOp>(op))
    result = dependence(map, map.getYielded());
  else if (auto read = dyn_cast_or_null<attn::ReadOp>(op))
    result = ofRead(read);
  return known[array] = result;
}

DifferenceAnalysis::Dependence DifferenceAnalysis::ofRead(attn::ReadOp read) {
  Dependence all;
  for (unsigned axis = 0, rank = tensorOf(read.getSource()).dims.size(); axis < rank; ++axis) {
    StringAttr dim = read.subscriptDim(axis);
    if (dim && (dim == row || dim == stream))
      return {.kind = Dependence::Other};
    if (!dim)
      all = join(all, dependence(read.subscriptValue(axis)));
  }
  return all;
}

DifferenceAnalysis::Dependence DifferenceAnalysis::dependence(attn::MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return dependence(map.getOperand(argument.getArgNumber()));
  if (auto found = known.find(scalar); found != known.end())
    return found->second;
  Dependence result = ofScalar(map, scalar.getDefiningOp());
  return known[scalar] = result;
}

DifferenceAnalysis::Dependence DifferenceAnalysis::ofScalar(attn::MapOp map, Operation *op) {
  auto operand = [&](unsigned i) { return dependence(map, op->getOperand(i)); };
  APInt factor;
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return sumOf(operand(0), operand(1), isa<arith::SubIOp>(op) ? -1 : 1);
  if (isa<arith::ExtSIOp, arith::TruncIOp>(op))
    return operand(0);
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return ofComparison(comparison.getPredicate(), operand(0), operand(1));
  if (isa<arith::MulIOp>(op))
    for (unsigned i : {0, 1})
      if (matchPattern(op->getOperand(i), m_ConstantInt(&factor)))
        return timesOf(operand(1 - i), factor.getSExtValue());
  Dependence all;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    all = join(all, operand(i));
  return all;
}

std::optional<int64_t> DifferenceAnalysis::stepOf(attn::MapOp map, Value scalar) {
  Dependence found = dependence(map, scalar);
  return found.kind == Dependence::Affine ? std::optional(found.stream) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

// A quotient by what all differences share is the product with its reciprocal.
ScalarCost DifferenceAnalysis::costOf(attn::MapOp map, Operation *op) {
  if (isa<arith::DivFOp>(op) && dependence(map, op->getOperand(1)).isUniform())
    return {0, 1};
  return scalarCost(op);
}

void DifferenceAnalysis::addCost(Value array, llvm::DenseSet<Value> &seen, Cost &cost) {
  if (!isOfDifference(array) || !seen.insert(array).second)
    return;
  if (auto map = array.getDefiningOp<attn::MapOp>())
    return addCost(map, map.getYielded(), seen, cost);
  cost.reads = true;
  cost.all += kReadCost;
  for (Value index : cast<attn::ReadOp>(array.getDefiningOp()).getIndices())
    addCost(index, seen, cost);
}

void DifferenceAnalysis::addCost(attn::MapOp map, Value scalar, llvm::DenseSet<Value> &seen,
                                 Cost &cost) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return addCost(map.getOperand(argument.getArgNumber()), seen, cost);
  if (!isOfDifference(map, scalar) || !seen.insert(scalar).second)
    return;
  cost.all += costOf(map, scalar.getDefiningOp());
  for (Value operand : scalar.getDefiningOp()->getOperands())
    addCost(map, operand, seen, cost);
}

DifferenceAnalysis::Cost DifferenceAnalysis::costOf(Value array) {
  llvm::DenseSet<Value> seen;
  Cost cost;
  addCost(array, seen, cost);
  return cost;
}

DifferenceAnalysis::Cost DifferenceAnalysis::costOf(attn::MapOp map, Value scalar) {
  llvm::DenseSet<Value> seen;
  Cost cost;
  addCost(map, scalar, seen, cost);
  return cost;
}

} // namespace attnc::schedule
