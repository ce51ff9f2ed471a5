#include "dialects/Red/MaskedRead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc::red {

attn::ReadOp maskedRead(Value array) {
  if (auto read = array.getDefiningOp<attn::ReadOp>())
    return read;
  auto map = array.getDefiningOp<attn::MapOp>();
  auto select = map ? map.getYielded().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  if (!select)
    return {};
  bool hidesFalse = matchPattern(select.getFalseValue(), m_AnyZeroFloat());
  if (!hidesFalse && !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return {};
  auto kept = dyn_cast<BlockArgument>(hidesFalse ? select.getTrueValue() : select.getFalseValue());
  return kept ? maskedRead(map.getOperand(kept.getArgNumber())) : attn::ReadOp();
}

} // namespace attnc::red
