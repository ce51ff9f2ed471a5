#include "compiler/transforms/finite_factors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

namespace attnc {

bool keepsFinite(const ScalarExpr *whole) {
  SmallVector<const ScalarExpr *> left = {whole};
  llvm::SmallPtrSet<const ScalarExpr *, 16> seen;
  while (!left.empty()) {
    const ScalarExpr *e = left.pop_back_val();
    if (!seen.insert(e).second)
      continue;
    switch (e->kind) {
    case ScalarExpr::Kind::Leaf:
      break;
    case ScalarExpr::Kind::Constant:
      if (!std::isfinite(e->constant))
        return false;
      break;
    case ScalarExpr::Kind::Select: // whatever the condition
      llvm::append_range(left, ArrayRef(e->args).drop_front());
      break;
    case ScalarExpr::Kind::Neg:
    case ScalarExpr::Kind::Add:
    case ScalarExpr::Kind::Sub:
    case ScalarExpr::Kind::Mul:
    case ScalarExpr::Kind::Max:
      llvm::append_range(left, e->args);
      break;
    case ScalarExpr::Kind::Op:
    case ScalarExpr::Kind::Div:
    case ScalarExpr::Kind::Exp:
    case ScalarExpr::Kind::Log:
    case ScalarExpr::Kind::Empty:
      return false;
    }
  }
  return true;
}

// where(x == 0, y, 1 / x) with a finite y, as the quotient by the sum of a softmax is written.
static bool isGuardedInverse(const ScalarExpr *e) {
  if (e->kind != ScalarExpr::Kind::Select || !keepsFinite(e->args[1]))
    return false;
  const ScalarExpr *condition = e->args[0], *inverse = e->args[2];
  auto equal = dyn_cast_or_null<arith::CmpFOp>(condition->op);
  if (!equal || equal.getPredicate() != arith::CmpFPredicate::OEQ ||
      inverse->kind != ScalarExpr::Kind::Div)
    return false;
  const ScalarExpr *tested = condition->args[0], *zero = condition->args[1];
  const ScalarExpr *divisor = inverse->args[1];
  return (tested == divisor || (tested->leaf && tested->leaf == divisor->leaf)) &&
         zero->kind == ScalarExpr::Kind::Constant && zero->constant == 0 &&
         keepsFinite(inverse->args[0]);
}

bool mayBeInfiniteOverNothing(const ScalarExpr *factor) {
  if (isGuardedInverse(factor))
    return false;
  return !keepsFinite(factor) || llvm::any_of(leavesOf(factor), [](Value leaf) {
    auto fold = leaf.getDefiningOp<red::FoldOp>();
    return fold && fold.getKind() != red::FoldKind::Add;
  });
}

} // namespace attnc
