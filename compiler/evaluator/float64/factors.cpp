#include "compiler/evaluator/float64/factors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::evaluator {

std::vector<Factor> productFactors(attn::MapOp map, const ArraySource &arrays) {
  std::vector<Factor> factors;
  SmallVector<std::pair<attn::MapOp, Value>> open{{map, map.getYielded()}};
  while (!open.empty()) {
    auto [region, scalar] = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      Value array = region.getOperand(argument.getArgNumber());
      if (attn::MapOp expanded = arrays.expanded(array))
        open.push_back({expanded, expanded.getYielded()});
      else
        factors.push_back({array, {}, {}});
    } else if (auto times = scalar.getDefiningOp<arith::MulFOp>()) {
      open.push_back({region, times.getRhs()});
      open.push_back({region, times.getLhs()});
    } else if (auto over = scalar.getDefiningOp<arith::DivFOp>()) {
      factors.push_back({{}, region, over.getRhs(), true});
      open.push_back({region, over.getLhs()});
    } else {
      factors.push_back({{}, region, scalar});
    }
  }
  return factors;
}

} // namespace attnc::evaluator
