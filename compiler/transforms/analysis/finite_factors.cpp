#include "compiler/transforms/analysis/finite_factors.h"
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
    case ScalarExpr::Kind::Equal:
      return false;
    }
  }
  return true;
}

} // namespace attnc
