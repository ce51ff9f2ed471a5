// What is known of an expression's size where the elements of the inputs are finite: a weight of 0
// hides a finite factor, and no other.
#include "compiler/transforms/analysis/finite_factors.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "dialects/Attn/Derivatives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

// Proofs go through no more arrays than this.
constexpr unsigned kMostArrays = 256;

class Reaches {
public:
  explicit Reaches(Terms &terms) : terms(terms) {}

  Reach of(const ScalarExpr *e) {
    if (e->leaf)
      return ofArray(e->leaf);
    if (!isa<FloatType>(e->type))
      return Reach::Finite;
    auto [known, isNew] = expressions.try_emplace(e, Reach::Any);
    if (!isNew)
      return known->second;
    Reach found = find(e);
    return expressions[e] = found;
  }

private:
  using Kind = ScalarExpr::Kind;

  Reach find(const ScalarExpr *e) {
    switch (e->kind) {
    case Kind::Constant:
      return std::isfinite(e->constant) ? Reach::Finite
             : e->constant == -INFINITY ? Reach::Downward
                                        : Reach::Any;
    case Kind::Neg:
      return onlyFinite(of(e->args[0]));
    case Kind::Add:
      return std::max(of(e->args[0]), of(e->args[1]));
    case Kind::Sub: // -inf where x is
      return of(e->args[1]) == Reach::Finite ? of(e->args[0]) : Reach::Any;
    case Kind::Mul:
      return product(e->args[0], e->args[1]);
    case Kind::Div:
      return quotient(e->args[0], e->args[1]);
    case Kind::Max:
      return larger(e);
    case Kind::Exp:
      return exponential(e->args[0]);
    case Kind::Log:
      return logarithm(e->args[0]);
    case Kind::Select:
      return isInverseUnlessZero(e) ? of(e->args[2]->args[0])
                                    : std::max(of(e->args[1]), of(e->args[2]));
    case Kind::Op:
      return exponentialBase(e) != 0 ? exponential(e->args[0]) : ofOp(e);
    case Kind::Leaf:
    case Kind::Empty:
    case Kind::Equal:
      break;
    }
    return Reach::Finite;
  }

  static Reach onlyFinite(Reach x) { return x == Reach::Finite ? x : Reach::Any; }

  Reach larger(const ScalarExpr *e) {
    Reach x = of(e->args[0]), y = of(e->args[1]);
    return std::max(x, y) == Reach::Any ? Reach::Any : std::min(x, y);
  }

  Reach product(const ScalarExpr *x, const ScalarExpr *y) {
    if (std::max(of(x), of(y)) == Reach::Finite)
      return Reach::Finite;
    return (isAboveZero(x) && of(y) == Reach::Downward) ||
                   (isAboveZero(y) && of(x) == Reach::Downward)
               ? Reach::Downward
               : Reach::Any;
  }

  Reach quotient(const ScalarExpr *x, const ScalarExpr *y) {
    if (y->kind == Kind::Constant && y->constant != 0)
      return y->constant > 0 ? of(x) : onlyFinite(of(x));
    if (isAboveZero(y)) // it may be +inf
      return of(y) == Reach::Finite ? of(x) : onlyFinite(of(x));
    return Reach::Any;
  }

  Reach exponential(const ScalarExpr *x) {
    return of(x) != Reach::Any && isBoundedAbove(x) ? Reach::Finite : Reach::Any;
  }

  Reach logarithm(const ScalarExpr *x) {
    if (of(x) != Reach::Finite)
      return Reach::Any;
    return isAboveZero(x) ? Reach::Finite : isNotNegative(signOf(x)) ? Reach::Downward : Reach::Any;
  }

  // where(x == 0, 0, y / x) of finite x and y.
  bool isInverseUnlessZero(const ScalarExpr *e) {
    const ScalarExpr *condition = e->args[0], *inverse = e->args[2];
    auto equal = dyn_cast_or_null<arith::CmpFOp>(condition->op);
    return equal && equal.getPredicate() == arith::CmpFPredicate::OEQ &&
           inverse->kind == Kind::Div && e->args[1]->kind == Kind::Constant &&
           e->args[1]->constant == 0 && condition->args[1]->kind == Kind::Constant &&
           condition->args[1]->constant == 0 &&
           sameExpression(condition->args[0], inverse->args[1]) &&
           of(inverse->args[1]) == Reach::Finite;
  }

  // True if a constant above 0 is a lower bound: not where a positive value may vanish.
  bool isAboveZero(const ScalarExpr *e) {
    if (e->leaf) {
      if (e->leaf.getDefiningOp<ParamOp>())
        return signOf(e->leaf) == Sign::Positive;
      const ScalarExpr *opened = e->leaf.getDefiningOp<MapOp>() ? terms.openAll(e->leaf) : e;
      return !opened->leaf && isAboveZero(opened);
    }
    switch (e->kind) {
    case Kind::Constant:
      return e->constant > 0;
    case Kind::Add:
      return (isAboveZero(e->args[0]) && isNotLess(e->args[1])) ||
             (isAboveZero(e->args[1]) && isNotLess(e->args[0]));
    default:
      return false;
    }
  }

  // At least 0, and no NaN; it may be +inf.
  bool isNotLess(const ScalarExpr *e) {
    if (e->leaf && e->leaf.getDefiningOp<MapOp>())
      e = terms.openAll(e->leaf);
    if (!isNotNegative(signOf(e)))
      return false;
    return of(e->kind == Kind::Exp ? e->args[0] : e) != Reach::Any;
  }

  Reach ofOp(const ScalarExpr *e) {
    if (isa<arith::MaximumFOp>(e->op))
      return larger(e);
    if (isa<arith::MinimumFOp>(e->op))
      return std::max(of(e->args[0]), of(e->args[1]));
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(e->op))
      return Reach::Finite;
    if (isa<math::TanhOp, math::ErfOp>(e->op))
      return of(e->args[0]) == Reach::Any ? Reach::Any : Reach::Finite;
    if (isa<math::AbsFOp, math::FloorOp, math::CeilOp, arith::ExtFOp>(e->op))
      return onlyFinite(of(e->args[0]));
    if (isa<math::SqrtOp>(e->op))
      return isNotNegative(signOf(e->args[0])) ? onlyFinite(of(e->args[0])) : Reach::Any;
    if (isa<math::RsqrtOp>(e->op))
      return isAboveZero(e->args[0]) ? onlyFinite(of(e->args[0])) : Reach::Any;
    return Reach::Any;
  }

  Reach ofArray(Value array) {
    auto [known, isNew] = arrays.try_emplace(array, Reach::Any);
    if (!isNew || arrays.size() > kMostArrays)
      return known->second;
    Reach found = findArray(array);
    return arrays[array] = found;
  }

  Reach findArray(Value array) {
    if (!isa<FloatType>(cast<attn::ArrayType>(array.getType()).getElementType()))
      return Reach::Finite;
    if (array.getDefiningOp<MapOp>())
      return of(terms.openAll(array));
    if (auto fold = array.getDefiningOp<FoldOp>())
      return ofFold(fold);
    if (auto read = array.getDefiningOp<ReadOp>())
      return read.getOtherwise() && !read.getOtherwise()->isFinite() ? Reach::Any
                                                                     : ofArray(read.getSource());
    if (array.getDefiningOp<InputOp>())
      return isOnlyAdded(array) ? Reach::Downward : Reach::Finite;
    return array.getDefiningOp<ParamOp>() ? Reach::Finite : Reach::Any;
  }

  Reach ofFold(FoldOp fold) {
    Reach reach = Reach::Finite;
    for (Value factor : fold.getFactors())
      reach = std::max(reach, ofArray(factor));
    switch (fold.getKind()) {
    case FoldKind::Add: // exp(a - max a) is at most 1
      if (fold.getExponent() && ofArray(fold.getExponent()) == Reach::Any)
        return Reach::Any;
      return fold.getBase() ? Reach::Any : onlyFinite(reach);
    case FoldKind::Max: // -inf over nothing
      return std::max(reach, Reach::Downward);
    default:
      return Reach::Any;
    }
  }

  Terms &terms;
  llvm::DenseMap<Value, Reach> arrays;
  llvm::DenseMap<const ScalarExpr *, Reach> expressions;
};

} // namespace

Reach reachOf(Terms &terms, const ScalarExpr *e) { return Reaches(terms).of(e); }

} // namespace attnc
