#include "compiler/transforms/algebra/maxima_gap.h"
#include <cmath>

using namespace mlir;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {

using Kind = ScalarExpr::Kind;
using Parts = SmallVectorImpl<const ScalarExpr *>;

static constexpr size_t kMostParts = 64;

static FoldOp maximumOf(const ScalarExpr *e) {
  auto fold = e->leaf ? e->leaf.getDefiningOp<FoldOp>() : FoldOp();
  return fold && fold.getKind() == FoldKind::Max ? fold : FoldOp();
}

static bool isNothing(const ScalarExpr *e) {
  return e->kind == Kind::Constant && e->constant == -INFINITY;
}

static const ScalarExpr *withoutMasks(const ScalarExpr *e) {
  while (e->kind == Kind::Select && (isNothing(e->args[1]) || isNothing(e->args[2])))
    e = e->args[isNothing(e->args[1]) ? 2 : 1];
  return e;
}

// The one of `maxima` that is that of `e`, or at least of the same under another mask.
static FoldOp maximumAmong(Terms &terms, ArrayRef<FoldOp> maxima, const ScalarExpr *e) {
  for (FoldOp maximum : maxima) {
    Value array = maximum.getFactors().front();
    if (e->leaf == array || sameExpression(e, terms.ofMap(array)))
      return maximum;
  }
  for (FoldOp maximum : maxima)
    if (sameExpression(withoutMasks(e), withoutMasks(terms.ofMap(maximum.getFactors().front()))))
      return maximum;
  return {};
}

// Expressions with the maximum of each array, among `maxima`, in the array's place; masks are taken
// away. What an expression has in several places is looked at once.
class AtMaxima {
public:
  AtMaxima(Terms &terms, ArrayRef<FoldOp> maxima) : terms(terms), maxima(maxima) {}

  const ScalarExpr *of(const ScalarExpr *e) {
    auto known = seen.find(e);
    if (known != seen.end())
      return known->second;
    const ScalarExpr *result = make(e);
    return seen[e] = result;
  }

private:
  const ScalarExpr *make(const ScalarExpr *e) {
    if (FoldOp maximum = maximumAmong(terms, maxima, e))
      return terms.leaf(maximum);
    if (withoutMasks(e) != e)
      return of(withoutMasks(e));
    SmallVector<const ScalarExpr *> args;
    for (const ScalarExpr *arg : e->args)
      args.push_back(of(arg));
    return terms.withArgs(e, args);
  }

  Terms &terms;
  ArrayRef<FoldOp> maxima;
  llvm::DenseMap<const ScalarExpr *, const ScalarExpr *> seen;
};

unsigned wholeMultiple(const ScalarExpr *e) {
  if (e->kind != Kind::Mul || e->args[1]->kind != Kind::Constant)
    return 1;
  double n = e->args[1]->constant;
  return n == 2 || n == 3 || n == 4 ? static_cast<unsigned>(n) : 1;
}

bool signedParts(Terms &terms, const ScalarExpr *e, bool negative, Parts &out) {
  if (out.size() > kMostParts)
    return false;
  switch (e->kind) {
  case Kind::Neg:
    return signedParts(terms, e->args[0], !negative, out);
  case Kind::Add:
  case Kind::Sub:
    return signedParts(terms, e->args[0], negative, out) &&
           signedParts(terms, e->args[1], negative != (e->kind == Kind::Sub), out);
  default:
    break;
  }
  unsigned count = wholeMultiple(e);
  if (count == 1)
    out.push_back(negative ? terms.neg(e) : e);
  for (unsigned i = 0; count > 1 && i < count; ++i)
    if (!signedParts(terms, e->args[0], negative, out))
      return false;
  return true;
}

// Takes the negation of each of `wanted` out of `parts`, or nothing.
static bool takeOpposites(Terms &terms, ArrayRef<const ScalarExpr *> wanted, Parts &parts) {
  SmallVector<const ScalarExpr *> left(parts.begin(), parts.end());
  for (const ScalarExpr *part : wanted) {
    const ScalarExpr *opposite = terms.neg(part);
    auto found =
        llvm::find_if(left, [&](const ScalarExpr *x) { return sameExpression(x, opposite); });
    if (found == left.end())
      return false;
    left.erase(found);
  }
  parts.assign(left.begin(), left.end());
  return true;
}

const ScalarExpr *takeMaxima(Terms &terms, FoldOp maximum, Parts &parts) {
  SmallVector<FoldOp> maxima;
  for (Value leaf : leavesOf(parts))
    if (auto fold = leaf.getDefiningOp<FoldOp>();
        fold && fold.getKind() == FoldKind::Max && fold != maximum)
      maxima.push_back(fold);
  const ScalarExpr *exponent = terms.ofMap(maximum.getFactors().front());
  const ScalarExpr *sum = AtMaxima(terms, maxima).of(exponent);
  SmallVector<const ScalarExpr *> summands, open;
  for (const ScalarExpr *part : parts)
    if (!signedParts(terms, part, false, open))
      return nullptr;
  if (!signedParts(terms, sum, false, summands) || !takeOpposites(terms, summands, open))
    return nullptr;
  parts.assign(open.begin(), open.end());
  return terms.binary(Kind::Sub, terms.leaf(maximum), sum);
}

// M - f(maxima), or f(maxima) - M, of a maximum or its negation `part` and others of `open`, which
// are then taken out; else null.
static const ScalarExpr *gapOf(Terms &terms, const ScalarExpr *part, Parts &open) {
  bool negative = part->kind == Kind::Neg;
  const ScalarExpr *leaf = negative ? part->args[0] : part;
  FoldOp maximum = maximumOf(leaf);
  if (!maximum)
    return nullptr;
  SmallVector<const ScalarExpr *> rest;
  for (const ScalarExpr *other : open)
    rest.push_back(negative ? terms.neg(other) : other);
  auto isMaximum = [&](const ScalarExpr *other) { return sameExpression(other, leaf); };
  if (llvm::none_of(rest, isMaximum))
    return nullptr;
  const ScalarExpr *gap = takeMaxima(terms, maximum, rest);
  if (!gap)
    return nullptr;
  rest.erase(llvm::find_if(rest, isMaximum));
  open.clear();
  for (const ScalarExpr *other : rest)
    open.push_back(negative ? terms.neg(other) : other);
  return negative ? terms.binary(Kind::Sub, gap->args[1], gap->args[0]) : gap;
}

const ScalarExpr *sumOfExponents(Terms &terms, ArrayRef<const ScalarExpr *> parts) {
  SmallVector<const ScalarExpr *> open(parts), ordered;
  for (const ScalarExpr *part : parts)
    if (const ScalarExpr *gap = gapOf(terms, part, open))
      ordered.push_back(gap);
  for (bool negative : {false, true})
    llvm::copy_if(open, std::back_inserter(ordered),
                  [&](const ScalarExpr *part) { return (part->kind == Kind::Neg) == negative; });
  return terms.sum(ordered);
}

} // namespace attnc
