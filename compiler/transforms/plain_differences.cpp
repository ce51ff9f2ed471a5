#include "compiler/transforms/plain_differences.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "dialects/Attn/ScalarProperties.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

/// True if all that the expression is made of are sums of products, params and indices. Elements
/// that are read may be -inf.
static bool isOfProducts(const ScalarExpr *e) {
  llvm::SetVector<Value> reached = leavesOf(e);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    auto fold = dyn_cast<red::FoldOp>(op);
    if (auto map = dyn_cast<MapOp>(op))
      reached.insert(map->operand_begin(), map->operand_end());
    else if (!isa<ParamOp, IndexOp, SizeOp>(op) && !(fold && fold.getFactors().size() > 1))
      return false;
  }
  return true;
}

static void markIn(red::NestOp nest) {
  Terms terms(programOf(nest), dimNames(nest.getStream()),
              [&](Value array) { return nest.dependsOnState(array); });
  for (auto map : nest.getBodyBlock()->getOps<MapOp>())
    for (auto difference : map.getBodyBlock()->getOps<SubOp>()) {
      const ScalarExpr *first = terms.open(map, difference.getLhs());
      if (isOfProducts(first) && reachOf(terms, first) == Reach::Finite)
        difference->setAttr(kPlainAttr, UnitAttr::get(nest.getContext()));
    }
}

void markPlainDifferences(ProgramOp program) {
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    markIn(nest);
}

} // namespace attnc
