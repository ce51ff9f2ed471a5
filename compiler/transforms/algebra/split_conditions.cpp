// Terms of a value under a condition: what is left out contributes nothing, whatever it is.
#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

namespace attnc {

// A condition that compares a weight with 0.
static bool isWeightTest(const ScalarExpr *condition) {
  return isa_and_nonnull<arith::CmpFOp>(condition->op) &&
         condition->args[1]->kind == ScalarExpr::Kind::Constant &&
         condition->args[1]->constant == 0;
}

// What the comparison of 0 with 0 says.
static bool holdsForZero(const ScalarExpr *condition) {
  switch (cast<arith::CmpFOp>(condition->op).getPredicate()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::UEQ:
  case arith::CmpFPredicate::UGE:
  case arith::CmpFPredicate::ULE:
  case arith::CmpFPredicate::ORD:
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  default:
    return false;
  }
}

// where(w == 0, 0, y) of a weight w = exp(a + b) * B, and terms y of the same weight: keys of
// weight 0 do not count, whatever they are multiplied by. B has one sign and the exponential
// another of its own, so the comparison says the same of each w and of their sum.
std::optional<SmallVector<Term>> Terms::splitWhereWeighted(const ScalarExpr *e) {
  const ScalarExpr *condition = e->args[0];
  bool zeroSide = holdsForZero(condition);
  const ScalarExpr *zero = e->args[zeroSide ? 1 : 2], *value = e->args[zeroSide ? 2 : 1];
  std::optional<SmallVector<Term>> weight = split(condition->args[0]);
  std::optional<SmallVector<Term>> terms = weight ? split(value) : std::nullopt;
  if (!terms)
    return std::nullopt;
  Term &first = weight->front();
  if (zero->kind != ScalarExpr::Kind::Constant || zero->constant != 0 || weight->size() > 1 ||
      !first.exponent || !first.factors.empty() || !first.differences.empty() || first.condition)
    return refuse(e, "its condition is not decided before the stream has ended");
  auto shared = std::make_shared<Term>(first);
  for (Term &term : *terms) {
    if (!term.exponent || !sameExpression(term.exponent, first.exponent) || term.condition)
      return refuse(e, "its condition is on another weight than its value has");
    for (const ScalarExpr *&factor : term.factors)
      if (factor->kind != ScalarExpr::Kind::Constant)
        factor = whereWeighted(term.exponent, factor);
    for (Difference &difference : term.differences)
      difference.base = whereWeighted(term.exponent, difference.base);
    term.condition = condition;
    term.countsWhere = !zeroSide;
    term.weight = shared;
  }
  return terms;
}

// `exponent` where `condition` is `side`; it is that already if it is written so.
static bool isGuardedBy(Terms &terms, const ScalarExpr *exponent, const ScalarExpr *condition,
                        bool side) {
  const ScalarExpr *e = exponent->leaf ? terms.openAll(exponent->leaf) : exponent;
  const ScalarExpr *known = condition->leaf ? terms.openAll(condition->leaf) : condition;
  if (e->kind != ScalarExpr::Kind::Select)
    return false;
  const ScalarExpr *other = e->args[side ? 2 : 1];
  const ScalarExpr *own = e->args[0]->leaf ? terms.openAll(e->args[0]->leaf) : e->args[0];
  return other->kind == ScalarExpr::Kind::Constant && other->constant == -INFINITY &&
         sameExpression(own, known);
}

static const ScalarExpr *guardExponent(Terms &terms, const ScalarExpr *condition, bool side,
                                       const ScalarExpr *exponent) {
  return isGuardedBy(terms, exponent, condition, side)
             ? exponent
             : terms.guarded(condition, side, exponent, -INFINITY);
}

// exp(g) beside an exponent is a part of that: exp(a - max a) * exp(max a + g) does not overflow
// where exp(g) alone does, and is 0 where the condition leaves out the whole row.
static void moveToExponent(Terms &terms, Term &term) {
  if (!term.exponent)
    return;
  llvm::erase_if(term.outer, [&](const ScalarExpr *factor) {
    bool inverse = factor->kind == ScalarExpr::Kind::Div &&
                   factor->args[0]->kind == ScalarExpr::Kind::Constant &&
                   factor->args[0]->constant == 1;
    const ScalarExpr *e = inverse ? factor->args[1] : factor;
    if (e->state || e->kind != ScalarExpr::Kind::Exp)
      return false;
    term.shift.push_back(inverse ? terms.neg(e->args[0]) : e->args[0]);
    return true;
  });
}

// Takes what depends on no state out of `outer`: its product. A bias may be -inf, and what a
// condition counts alone is chosen with it: not by 0 times it.
static const ScalarExpr *withoutResults(Terms &terms, SmallVectorImpl<const ScalarExpr *> &outer,
                                        Type type) {
  const ScalarExpr *product = nullptr;
  for (const ScalarExpr *factor : outer)
    if (!factor->state)
      product = product ? terms.binary(ScalarExpr::Kind::Mul, product, factor) : factor;
  llvm::erase_if(outer, [](const ScalarExpr *factor) { return !factor->state; });
  return product ? product : terms.constant(type, 1);
}

// where(c, t, f) = [c] t + [not c] f: a condition along the stream goes into the exponent where
// there is one (an empty weight), else into the coefficient; and into every other factor that may
// be infinite where the condition leaves it out.
std::optional<SmallVector<Term>> Terms::splitSelect(const ScalarExpr *e) {
  const ScalarExpr *condition = e->args[0];
  if (condition->state && condition->stream && isWeightTest(condition))
    return splitWhereWeighted(e);
  if (condition->state)
    return refuse(e, "its condition is not decided before the stream has ended");
  SmallVector<Term> terms;
  for (unsigned side : {1u, 2u}) {
    const ScalarExpr *value = e->args[side];
    if (value->kind == ScalarExpr::Kind::Constant && value->constant == 0)
      continue;
    std::optional<SmallVector<Term>> part = split(value);
    if (!part)
      return std::nullopt;
    for (Term &term : *part) {
      if (term.condition)
        return refuse(e, "a part of it counts only where a weight does");
      if (term.exponent) {
        term.exponent = guardExponent(*this, condition, side == 1, term.exponent);
        usedRules.insert(derivation::Rule::MaskedWeight);
      } else if (term.factors.empty() && term.differences.empty()) {
        term.factors.push_back(withoutResults(*this, term.outer, e->type));
      } else if (term.factors.empty()) {
        term.factors.push_back(constant(e->type, 1));
      }
      moveToExponent(*this, term);
      auto mayBeInfinite = [&](const ScalarExpr *factor) {
        return reachOf(*this, factor) != Reach::Finite;
      };
      // A row that is left out as a whole has an exponent to ask, or nothing.
      auto staysInside = [&](const ScalarExpr *factor) {
        return !factor->state && (term.exponent ? !keepsFinite(factor) : mayBeInfinite(factor));
      };
      if (!term.exponent && llvm::any_of(term.outer, [&](const ScalarExpr *factor) {
            return factor->state && mayBeInfinite(factor);
          }))
        return refuse(e, "it may leave out a whole row, where the result may be infinite: 0 times "
                         "that is not 0");
      llvm::copy_if(term.outer, std::back_inserter(term.factors), staysInside);
      llvm::erase_if(term.outer, staysInside);
      // A minimum of nothing is inf, and a maximum of nothing beside it -inf.
      auto mayGrow = [&](const ScalarExpr *part) {
        return part->kind != ScalarExpr::Kind::Neg && reachOf(*this, part) == Reach::Any;
      };
      term.vanishes |= term.exponent && (llvm::any_of(term.outer, mayBeInfinite) ||
                                         llvm::any_of(term.shift, mayGrow));
      for (auto [number, factor] : llvm::enumerate(term.factors))
        if ((number == 0 && !term.exponent) || mayBeInfinite(factor))
          factor = guarded(condition, side == 1, factor, 0);
      // What is left out may be -inf, and a weight of 0 does not hide that.
      for (Difference &difference : term.differences) {
        difference.base = guarded(condition, side == 1, difference.base, 0);
        difference.guarded = true;
      }
      terms.push_back(std::move(term));
    }
  }
  if (terms.size() > kMaxTerms)
    return refuse(e, "it splits into more than four terms");
  return terms;
}

} // namespace attnc
