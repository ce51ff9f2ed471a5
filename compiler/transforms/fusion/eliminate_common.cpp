#include "compiler/transforms/fusion/eliminate_common.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace attnc {

static constexpr StringLiteral kFingerprint = "fingerprint";

// The same for maps with equal regions.
static int64_t fingerprint(attn::MapOp map) {
  llvm::DenseMap<Value, size_t> numbers;
  for (BlockArgument argument : map.getBodyBlock()->getArguments())
    numbers[argument] = numbers.size() + 1;
  llvm::hash_code hash = 0;
  for (Operation &op : *map.getBodyBlock()) {
    hash = llvm::hash_combine(hash, op.getName(), op.getDiscardableAttrDictionary(),
                              op.hashProperties());
    for (Value operand : op.getOperands())
      hash = llvm::hash_combine(hash, numbers.lookup(operand));
    for (Value result : op.getResults()) {
      hash = llvm::hash_combine(hash, result.getType());
      numbers[result] = numbers.size() + 1;
    }
  }
  return static_cast<int64_t>(size_t(hash));
}

void eliminateCommon(Operation *root) {
  Builder b(root->getContext());
  root->walk(
      [&](attn::MapOp map) { map->setAttr(kFingerprint, b.getI64IntegerAttr(fingerprint(map))); });
  IRRewriter rewriter(root->getContext());
  DominanceInfo dominance(root);
  eliminateCommonSubExpressions(rewriter, dominance, root);
  root->walk([&](attn::MapOp map) { map->removeAttr(kFingerprint); });
}

} // namespace attnc
