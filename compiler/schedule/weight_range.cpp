#include "compiler/schedule/weight_range.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {

// Of a value that is always 0: the identity of the merge.
static constexpr Magnitudes kNone = {INFINITY, 0};

static std::optional<Magnitudes> magnitudesOf(attn::MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return literalMagnitudes(map.getOperand(argument.getArgNumber()));
  FloatAttr literal;
  if (matchPattern(scalar, m_Constant(&literal))) {
    double magnitude = std::abs(literal.getValueAsDouble());
    return magnitude == 0 ? kNone : Magnitudes{magnitude, magnitude};
  }
  Operation *op = scalar.getDefiningOp();
  if (isa<arith::UIToFPOp>(op) && op->getOperand(0).getType().isInteger(1))
    return Magnitudes{1, 1};
  if (isa<arith::NegFOp>(op))
    return magnitudesOf(map, op->getOperand(0));
  bool isSelect = isa<arith::SelectOp>(op);
  if (!isSelect && !isa<arith::MulFOp>(op))
    return std::nullopt;
  std::optional<Magnitudes> x = magnitudesOf(map, op->getOperand(isSelect ? 1 : 0));
  std::optional<Magnitudes> y = magnitudesOf(map, op->getOperand(isSelect ? 2 : 1));
  if (!x || !y)
    return std::nullopt;
  if (isSelect)
    return Magnitudes{std::min(x->smallest, y->smallest), std::max(x->largest, y->largest)};
  return Magnitudes{x->smallest * y->smallest, x->largest * y->largest};
}

std::optional<Magnitudes> literalMagnitudes(Value array) {
  auto map = array.getDefiningOp<attn::MapOp>();
  return map ? magnitudesOf(map, map.getYielded()) : std::nullopt;
}

} // namespace attnc::schedule
