#include "compiler/schedule/weight_range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {
namespace {

std::optional<double> literal(Value scalar) {
  FloatAttr value;
  if (!matchPattern(scalar, m_Constant(&value)))
    return std::nullopt;
  return value.getValueAsDouble();
}

// A value that is never below this.
std::optional<double> lowerBound(Value scalar) {
  if (std::optional<double> value = literal(scalar))
    return value;
  Operation *op = scalar.getDefiningOp();
  if (isa_and_nonnull<math::ExpOp, math::Exp2Op, math::SqrtOp, math::AbsFOp>(op))
    return 0;
  if (!isa_and_nonnull<arith::AddFOp>(op))
    return std::nullopt;
  std::optional<double> x = lowerBound(op->getOperand(0)), y = lowerBound(op->getOperand(1));
  return x && y ? std::optional(*x + *y) : std::nullopt;
}

std::optional<double> boundOf(attn::MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return magnitudeBound(map.getOperand(argument.getArgNumber()));
  if (std::optional<double> value = literal(scalar))
    return std::abs(*value);
  Operation *op = scalar.getDefiningOp();
  auto operand = [&](unsigned i) { return boundOf(map, op->getOperand(i)); };
  if (isa<math::TanhOp, math::ErfOp>(op))
    return 1;
  if (isa<arith::NegFOp>(op))
    return operand(0);
  if (isa<arith::UIToFPOp>(op) && op->getOperand(0).getType().isInteger(1))
    return 1;
  if (op->getNumOperands() < 2)
    return std::nullopt;
  if (isa<arith::DivFOp>(op)) {
    std::optional<double> x = operand(0), below = lowerBound(op->getOperand(1));
    return x && below && *below > 0 ? std::optional(*x / *below) : std::nullopt;
  }
  bool isSelect = isa<arith::SelectOp>(op);
  if (!isSelect && !isa<arith::MulFOp, arith::AddFOp, attn::SubOp>(op))
    return std::nullopt;
  std::optional<double> x = operand(isSelect ? 1 : 0), y = operand(isSelect ? 2 : 1);
  if (!x || !y)
    return std::nullopt;
  if (isSelect)
    return std::max(*x, *y);
  return isa<arith::MulFOp>(op) ? *x * *y : *x + *y;
}

} // namespace

std::optional<double> magnitudeBound(Value array) {
  auto map = array.getDefiningOp<attn::MapOp>();
  return map ? boundOf(map, map.getYielded()) : std::nullopt;
}

} // namespace attnc::schedule
