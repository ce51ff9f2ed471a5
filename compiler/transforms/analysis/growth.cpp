#include "compiler/transforms/analysis/growth.h"
#include "compiler/transforms/analysis/value_ranges.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

static constexpr size_t kMostParts = 64;

bool sumParts(const ScalarExpr *e, bool negative, Terms &terms,
              SmallVectorImpl<const ScalarExpr *> &out) {
  if (e->kind == ScalarExpr::Kind::Add || e->kind == ScalarExpr::Kind::Sub)
    return sumParts(e->args[0], negative, terms, out) &&
           sumParts(e->args[1], negative != (e->kind == ScalarExpr::Kind::Sub), terms, out);
  out.push_back(negative ? terms.neg(e) : e);
  return out.size() <= kMostParts;
}

const ScalarExpr *substitute(Terms &terms, const ScalarExpr *e, Value from, Value to) {
  if (e->leaf)
    return e->leaf == from ? terms.leaf(to) : e;
  SmallVector<const ScalarExpr *> args;
  for (const ScalarExpr *arg : e->args)
    args.push_back(substitute(terms, arg, from, to));
  return terms.withArgs(e, args);
}

bool growsWith(ArrayRef<const ScalarExpr *> parts, Value x) {
  double constants = 0;
  bool grows = true, onlyConstants = true;
  for (const ScalarExpr *part : parts) {
    double constant = 1;
    bool negative = false;
    while (!part->leaf && !part->args.empty()) {
      if (part->kind == ScalarExpr::Kind::Neg) {
        negative = !negative;
        part = part->args[0];
        continue;
      }
      bool isQuotient = part->kind == ScalarExpr::Kind::Div;
      if (part->kind != ScalarExpr::Kind::Mul && !isQuotient)
        return false;
      unsigned factorAt = part->args[0]->stream ? 1 : 0;
      const ScalarExpr *factor = part->args[factorAt];
      if (factor->stream || (isQuotient && factorAt == 0))
        return false;
      if (factor->kind == ScalarExpr::Kind::Constant)
        constant *= isQuotient ? 1 / factor->constant : factor->constant;
      else if (signOf(factor) == Sign::Positive)
        onlyConstants = false;
      else
        return false;
      part = part->args[1 - factorAt];
    }
    if (part->leaf != x)
      return false;
    constants += negative ? -constant : constant;
    grows &= negative ? constant < 0 : constant > 0;
  }
  return grows || (onlyConstants && constants > 0);
}

} // namespace attnc
