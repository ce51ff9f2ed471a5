// Which expressions have exponentials that only a maximum of their own keeps in range.
#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "compiler/transforms/fusion/compared_elements.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

double exponentialBase(const ScalarExpr *e) {
  if (e->kind == ScalarExpr::Kind::Exp)
    return M_E;
  auto properties =
      e->kind == ScalarExpr::Kind::Op ? dyn_cast<ScalarProperties>(e->op) : ScalarProperties();
  return properties ? properties.getExponentialBase() : 0;
}

static bool isZero(const ScalarExpr *e) {
  return e->kind == ScalarExpr::Kind::Constant && e->constant == 0;
}

bool Terms::hasWeight(const ScalarExpr *e) {
  if (!e->stream)
    return false;
  auto [known, isNew] = weights.try_emplace(e, false);
  if (!isNew)
    return known->second;
  bool result = findWeight(e);
  return weights[e] = result;
}

bool Terms::findWeight(const ScalarExpr *e) {
  if (exponentialBase(e) != 0)
    return !isBoundedAbove(e->args[0]);
  if (const ScalarExpr *n = powerOf(e))
    return n->neutral() && signOf(n) == Sign::Positive && hasWeight(e->args[0]);
  if (const ScalarExpr *x = homogeneousIn(e))
    return hasWeight(x);
  switch (e->kind) {
  case ScalarExpr::Kind::Leaf:
    return hasWeight(e->leaf);
  case ScalarExpr::Kind::Add:
  case ScalarExpr::Kind::Sub:
  case ScalarExpr::Kind::Mul:
    return hasWeight(e->args[0]) || hasWeight(e->args[1]);
  case ScalarExpr::Kind::Div:
    return !e->args[1]->stream && hasWeight(e->args[0]);
  case ScalarExpr::Kind::Neg:
    return hasWeight(e->args[0]);
  case ScalarExpr::Kind::Select:
    return (isZero(e->args[1]) && hasWeight(e->args[2])) ||
           (isZero(e->args[2]) && hasWeight(e->args[1]));
  default:
    return false;
  }
}

// Of a map that is not opened: what its expression says.
bool Terms::hasWeight(Value array) {
  auto map = array.getDefiningOp<MapOp>();
  if (!map || !isa<FloatType>(map.getType().getElementType()) || isComparedElement(array))
    return false;
  if (auto known = weighted.find(array); known != weighted.end())
    return known->second;
  weighted[array] = false;
  bool result = hasWeight(open(map, map.getYielded()));
  return weighted[array] = result;
}

} // namespace attnc
