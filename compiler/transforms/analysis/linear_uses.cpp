#include "compiler/transforms/analysis/linear_uses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc {
namespace {

/// Follows the uses of an array through maps and sums.
class LinearUses {
public:
  bool reachOutputs(Value array) {
    add(array);
    while (!left.empty())
      if (!llvm::all_of(left.pop_back_val().getUses(), [&](OpOperand &use) { return follow(use); }))
        return false;
    return true;
  }

private:
  void add(Value array) {
    if (seen.insert(array).second)
      left.push_back(array);
  }

  bool follow(OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<attn::OutputOp>(user))
      return true;
    if (auto fold = dyn_cast<red::FoldOp>(user)) {
      bool isPlainSum = fold.getKind() == red::FoldKind::Add && fold->getNumOperands() == 1;
      return isPlainSum && (add(fold), true);
    }
    auto map = dyn_cast<attn::MapOp>(user);
    if (!map || !isLinear(map, map.getBodyBlock()->getArgument(use.getOperandNumber())))
      return false;
    add(map.getResult());
    return true;
  }

  // Whether what `map` yields is linear in its argument `x`, with factors that depend on no fold.
  bool isLinear(attn::MapOp map, Value x) {
    return llvm::all_of(x.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (isa<attn::YieldOp>(user))
        return true;
      bool isChosen = isa<arith::SelectOp>(user) && use.getOperandNumber() > 0;
      bool isAdded = isa<arith::AddFOp, arith::SubFOp, attn::SubOp, arith::NegFOp, arith::ExtFOp,
                         arith::TruncFOp>(user);
      bool isFactor =
          isa<arith::MulFOp>(user) || (isa<arith::DivFOp>(user) && use.getOperandNumber() == 0);
      bool isMultiplied =
          isFactor && !dependsOnFold(map, user->getOperand(1 - use.getOperandNumber()));
      return (isChosen || isAdded || isMultiplied) && isLinear(map, user->getResult(0));
    });
  }

  bool dependsOnFold(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return dependsOnFold(map.getOperand(argument.getArgNumber()));
    return llvm::any_of(scalar.getDefiningOp()->getOperands(),
                        [&](Value operand) { return dependsOnFold(map, operand); });
  }

  bool dependsOnFold(Value array) {
    auto [known, isNew] = onFolds.try_emplace(array, false);
    if (!isNew)
      return known->second;
    Operation *op = array.getDefiningOp();
    bool depends =
        op && (isa<red::FoldOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                 return dependsOnFold(operand);
               }));
    return onFolds[array] = depends;
  }

  llvm::SmallVector<Value> left;
  llvm::DenseSet<Value> seen;
  llvm::DenseMap<Value, bool> onFolds;
};

} // namespace

bool isUsedLinearly(Value value) { return LinearUses().reachOutputs(value); }

} // namespace attnc
