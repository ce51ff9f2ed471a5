#include "compiler/transforms/algebra/weight_logarithm.h"
#include "compiler/transforms/algebra/maxima_gap.h"
#include "compiler/transforms/algebra/scaled_terms.h"
#include <cmath>

using namespace mlir;
using attnc::red::FoldOp;

namespace attnc {

using Kind = ScalarExpr::Kind;
using Parts = SmallVector<const ScalarExpr *>;

static bool isConstant(const ScalarExpr *e, double value) {
  return e->kind == Kind::Constant && e->constant == value;
}

// The argument that a choice takes where it does not take `otherwise`; 0 if it is no such choice.
static unsigned liveSide(const ScalarExpr *e, double otherwise) {
  if (e->kind == Kind::Select)
    for (unsigned side : {1u, 2u})
      if (isConstant(e->args[3 - side], otherwise))
        return side;
  return 0;
}

static const ScalarExpr *withoutChoices(const ScalarExpr *e, double otherwise) {
  while (unsigned side = liveSide(e, otherwise))
    e = e->args[side];
  return e;
}

// `e` under the choices of 0 that `guarded` is under.
static const ScalarExpr *underChoicesOf(Terms &terms, const ScalarExpr *guarded,
                                        const ScalarExpr *e) {
  unsigned side = liveSide(guarded, 0);
  if (!side)
    return e;
  SmallVector<const ScalarExpr *> args(guarded->args.begin(), guarded->args.end());
  args[side] = underChoicesOf(terms, args[side], e);
  return terms.withArgs(guarded, args);
}

static bool takeOut(Parts &parts, const ScalarExpr *part) {
  auto found = llvm::find_if(parts, [&](const ScalarExpr *x) { return sameExpression(x, part); });
  if (found == parts.end())
    return false;
  parts.erase(found);
  return true;
}

// Takes all that `sum` adds up out of `parts`, or nothing.
static bool takeOutSum(Terms &terms, Parts &parts, const ScalarExpr *sum) {
  Parts summands, left = parts;
  if (!signedParts(terms, sum, false, summands) ||
      !llvm::all_of(summands, [&](const ScalarExpr *part) { return takeOut(left, part); }))
    return false;
  parts = left;
  return true;
}

// What is added and taken away again.
static void cancel(Terms &terms, Parts &parts) {
  for (size_t i = 0; i < parts.size(); ++i)
    if (const ScalarExpr *part = parts[i];
        part->kind == Kind::Neg && takeOut(parts, part->args[0])) {
      takeOut(parts, part);
      i = -1; // from the front
    }
}

static bool isLogarithm(const ScalarExpr *e) {
  return (e->kind == Kind::Neg ? e->args[0] : e)->kind == Kind::Log;
}

std::optional<WeightLogarithm> logarithmOfWeight(Terms &terms, const Term &term, FoldOp reference) {
  if (!reference || !term.exponent || term.differences.size() != 1)
    return std::nullopt;
  const Difference &difference = term.differences.front();
  const ScalarExpr *base = withoutChoices(difference.base, 0), *exponent = term.exponent;
  Parts parts, centre, factors;
  if (!signedParts(terms, base, false, parts) ||
      !signedParts(terms, openLogarithms(terms, difference.centre), true, centre))
    return std::nullopt;
  if (!takeOutSum(terms, parts, exponent)) {
    exponent = withoutChoices(exponent, -INFINITY);
    if (!takeOutSum(terms, parts, exponent))
      return std::nullopt;
  }
  cancel(terms, centre);
  const ScalarExpr *max = terms.leaf(reference), *gap = nullptr;
  if (!takeOut(centre, terms.neg(max))) {
    gap = takeMaxima(terms, reference, centre);
    if (!gap)
      return std::nullopt;
  }
  for (const ScalarExpr *part : parts)
    (part->stream ? factors : centre).push_back(part);
  if (!llvm::all_of(factors, isLogarithm))
    return std::nullopt;
  WeightLogarithm result{difference.base, nullptr, gap};
  if (!parts.empty())
    result.base = underChoicesOf(terms, difference.base, exponent);
  if (!factors.empty())
    result.factor = underChoicesOf(terms, difference.base, terms.sum(factors));
  if (!centre.empty()) {
    const ScalarExpr *rest = sumOfExponents(terms, centre);
    result.shift = gap ? terms.binary(Kind::Add, gap, rest) : rest;
  }
  return result;
}

} // namespace attnc
