#include "compiler/transforms/arrays/substitution.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

class Substituter {
public:
  Substituter(ArrayBuilder &arrays, const Substitution &at, bool areInside)
      : arrays(arrays), at(at), areInside(areInside) {}

  Value of(Value value) {
    if (llvm::none_of(dimsOf(value), [&](StringAttr dim) { return at.contains(dim); }))
      return value;
    if (Value known = done.lookup(value))
      return known;
    Value result = build(value);
    done[value] = result;
    return result;
  }

private:
  Value build(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast<IndexOp>(op))
      return at.lookup(index.getDimAttr());
    if (auto map = dyn_cast<MapOp>(op))
      return ofMap(map);
    if (auto read = dyn_cast<ReadOp>(op); read && read.getSource().getDefiningOp<InputOp>())
      return ofRead(read);
    return arrays.read(value, at);
  }

  Value ofMap(MapOp map) {
    IRMapping mapping;
    SmallVector<Value> operands;
    for (Value operand : map.getOperands()) {
      operands.push_back(of(operand));
      mapping.map(operand, operands.back());
    }
    auto copy = cast<MapOp>(arrays.builder().clone(*map, mapping));
    copy.getResult().setType(attn::ArrayType::get(
        map.getContext(), unionDims(arrays.programOp(), operands), map.getType().getElementType()));
    return copy;
  }

  Value ofRead(ReadOp read) {
    Substitution axes;
    for (auto [axis, dim] : llvm::enumerate(read.getSource().getType().getDims()))
      if (Value subscript = read.subscriptValue(axis))
        axes[dim] = of(subscript);
      else if (Value replaced = at.lookup(read.subscriptDim(axis)))
        axes[dim] = replaced;
      else if (read.subscriptDim(axis) != dim)
        axes[dim] = arrays.index(read.subscriptDim(axis));
    Value result = arrays.read(read.getSource(), axes);
    if (auto otherwise = read.getOtherwiseAttr(); otherwise || areInside)
      result.getDefiningOp<ReadOp>().setOtherwiseAttr(otherwise);
    result.getDefiningOp()->setLoc(read.getLoc());
    return result;
  }

  ArrayBuilder &arrays;
  const Substitution &at;
  bool areInside;
  llvm::DenseMap<Value, Value> done;
};

std::optional<int64_t> slopeOf(Value scalar, StringAttr dim);

std::optional<int64_t> slopeOfProduct(Value x, Value y, StringAttr dim) {
  APInt factor;
  if (matchPattern(x, m_ConstantInt(&factor)))
    std::swap(x, y);
  else if (!matchPattern(y, m_ConstantInt(&factor)))
    return slopeOf(x, dim) == 0 && slopeOf(y, dim) == 0 ? std::optional<int64_t>(0) : std::nullopt;
  std::optional<int64_t> slope = slopeOf(x, dim);
  return slope ? std::optional<int64_t>(*slope * factor.getSExtValue()) : std::nullopt;
}

/// Of a scalar in the region of a map.
std::optional<int64_t> slopeOf(Value scalar, StringAttr dim) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return slopeAlong(argument.getOwner()->getParentOp()->getOperand(argument.getArgNumber()), dim);
  Operation *op = scalar.getDefiningOp();
  auto of = [&](unsigned operand) { return slopeOf(op->getOperand(operand), dim); };
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    std::optional<int64_t> x = of(0), y = of(1);
    if (!x || !y)
      return std::nullopt;
    return isa<arith::AddIOp>(op) ? *x + *y : *x - *y;
  }
  if (isa<arith::MulIOp>(op))
    return slopeOfProduct(op->getOperand(0), op->getOperand(1), dim);
  bool isSteady =
      llvm::all_of(op->getOperands(), [&](Value operand) { return slopeOf(operand, dim) == 0; });
  return isSteady ? std::optional<int64_t>(0) : std::nullopt;
}

} // namespace

Value substitute(ArrayBuilder &arrays, Value value, const Substitution &at, bool areInside) {
  return Substituter(arrays, at, areInside).of(value);
}

std::optional<int64_t> slopeAlong(Value value, StringAttr dim) {
  if (!llvm::is_contained(dimsOf(value), dim))
    return 0;
  if (value.getDefiningOp<IndexOp>())
    return 1;
  auto map = value.getDefiningOp<MapOp>();
  return map ? slopeOf(map.getYielded(), dim) : std::nullopt;
}

bool hasUnitSlope(Value value) {
  return llvm::any_of(dimsOf(value), [&](StringAttr dim) {
    std::optional<int64_t> slope = slopeAlong(value, dim);
    return slope && std::abs(*slope) == 1;
  });
}

} // namespace attnc
