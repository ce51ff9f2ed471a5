#include "compiler/transforms/algebra/scaled_terms.h"
#include "compiler/transforms/algebra/maxima_gap.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

namespace attnc {

// An exponential of a longer sum is taken as it is.
static constexpr size_t kMostSummands = 16;

namespace {

using Kind = ScalarExpr::Kind;
using Summands = SmallVector<const ScalarExpr *, 4>;

/// factor * exp(sum of the exponents)
struct Scaled {
  const ScalarExpr *factor;
  Summands exponents;
  /// The same as a product of values, each with its own exponent; null if it is none. Of x = c
  /// exp(m) with a small c, exp(m + m) may be infinite where x * x is not.
  const ScalarExpr *apart = nullptr;
};

bool isConstant(const ScalarExpr *e, double value) {
  return e->kind == Kind::Constant && e->constant == value;
}

class Combiner {
public:
  explicit Combiner(Terms &terms) : terms(terms) {}

  bool changes = false;

  const ScalarExpr *value(const ScalarExpr *e) { return value(scaled(e)); }

private:
  const Scaled &scaled(const ScalarExpr *e) {
    if (auto known = done.find(e); known != done.end())
      return *known->second;
    auto result = std::make_unique<Scaled>(compute(e));
    return *(done[e] = std::move(result));
  }

  Scaled compute(const ScalarExpr *e) {
    switch (e->kind) {
    case Kind::Exp:
      return exponential(e);
    case Kind::Mul:
    case Kind::Div:
      return product(e);
    case Kind::Neg: {
      Scaled x = scaled(e->args[0]);
      return {terms.neg(x.factor), x.exponents, x.apart ? terms.neg(x.apart) : nullptr};
    }
    case Kind::Add:
    case Kind::Sub:
      return sum(e);
    case Kind::Select:
      return select(e);
    case Kind::Log: {
      const Scaled &x = scaled(e->args[0]);
      if (x.exponents.empty())
        return {terms.withArgs(e, x.factor), {}};
      Summands parts = x.exponents;
      if (!isConstant(x.factor, 1))
        parts.push_back(terms.log(x.factor));
      return {total(parts), {}};
    }
    default:
      if (terms.powerOf(e))
        return power(e);
      return e->kind == Kind::Max || Terms::isHomogeneous(e) ? homogeneous(e)
                                                             : Scaled{rebuilt(e), {}};
    }
  }

  // f(c exp(m), d exp(m)) = f(c, d) exp(m); a 0 has any exponent.
  Scaled homogeneous(const ScalarExpr *e) {
    SmallVector<Scaled, 2> args;
    for (const ScalarExpr *arg : e->args)
      args.push_back(scaled(arg));
    if (llvm::any_of(args, isElement))
      return {rebuilt(e), {}};
    auto isZero = [](const Scaled &x) { return isConstant(x.factor, 0); };
    const Scaled *first = llvm::find_if_not(args, isZero);
    if (first == args.end())
      return {rebuilt(e), {}};
    bool isShared = llvm::all_of(
        args, [&](const Scaled &x) { return isZero(x) || haveSameExponents(x, *first); });
    if (!isShared)
      return args.size() == 2 && (e->kind == Kind::Max || Terms::isOneOfOperands(e))
                 ? chosen(e, args[0], args[1])
                 : Scaled{rebuilt(e), {}};
    Summands factors, values;
    for (const Scaled &x : args) {
      factors.push_back(x.factor);
      values.push_back(value(x));
    }
    bool isApart = llvm::any_of(args, [](const Scaled &x) { return x.apart != nullptr; });
    if (isApart && args.size() == 1)
      return {rebuilt(e), {}}; // the sum that it may be part of would join the exponents
    return {terms.withArgs(e, factors), first->exponents,
            isApart ? terms.withArgs(e, values) : nullptr};
  }

  // f(c exp(m), d exp(n)) = f(c exp(m - k), d exp(n - k)) exp(k), where f picks one of the two and
  // k is the exponent of that: the other may be the larger exponent, of what is negative.
  Scaled chosen(const ScalarExpr *e, const Scaled &x, const Scaled &y) {
    const ScalarExpr *m = relativeExponent(x), *n = relativeExponent(y);
    const ScalarExpr *largest = terms.binary(Kind::Max, m, n);
    const ScalarExpr *c = relative(x, m, largest), *d = relative(y, n, largest);
    auto takesFirst = [&](const ScalarExpr *first, const ScalarExpr *second) {
      return terms.equal(terms.withArgs(e, {first, second}), first);
    };
    // Both are 0 where one is, and the other is out of range beside it.
    const ScalarExpr *isFirst =
        terms.select(terms.equal(c, d), takesFirst(x.factor, y.factor), takesFirst(c, d));
    const ScalarExpr *k = terms.select(isFirst, m, n);
    return {terms.withArgs(e, {unlessItIsZero(x, m, k), unlessItIsZero(y, n, k)}), {k}};
  }

  const ScalarExpr *relativeExponent(const Scaled &x) {
    return x.exponents.empty() ? terms.constant(x.factor->type, 0) : exponentOf(x);
  }

  // factor * exp(exponent - base)
  const ScalarExpr *relative(const Scaled &x, const ScalarExpr *exponent, const ScalarExpr *base) {
    const ScalarExpr *weight = terms.exp(terms.binary(Kind::Sub, exponent, base));
    return isConstant(x.factor, 1) ? weight : terms.binary(Kind::Mul, x.factor, weight);
  }

  // The same where the exponential may be infinite: a factor of 0 stays 0.
  const ScalarExpr *unlessItIsZero(const Scaled &x, const ScalarExpr *exponent,
                                   const ScalarExpr *base) {
    const ScalarExpr *product = relative(x, exponent, base);
    if (x.factor->kind == Kind::Constant)
      return product;
    return terms.select(terms.equal(x.factor, terms.constant(x.factor->type, 0)), x.factor,
                        product);
  }

  static bool haveSameExponents(const Scaled &x, const Scaled &y) {
    return x.exponents.size() == y.exponents.size() &&
           llvm::all_of(llvm::zip(x.exponents, y.exponents), [](auto pair) {
             return sameExpression(std::get<0>(pair), std::get<1>(pair));
           });
  }

  // (c exp(m))^n = c^n exp(n m). Where m is -inf that is 0^n, and n m need not be: -inf times 0 is
  // NaN, and so are two infinities of opposite signs.
  Scaled power(const ScalarExpr *e) {
    Scaled x = scaled(e->args[0]);
    const ScalarExpr *n = terms.powerOf(e);
    if (x.exponents.empty() || isElement(x) || n->state || isConstant(n, 0))
      return {rebuilt(e), {}};
    changes = true;
    attn::Sign sign = attnc::signOf(n);
    bool isDefined = sign == attn::Sign::Positive ||
                     (sign == attn::Sign::Negative && x.exponents.size() == 1) ||
                     llvm::none_of(x.exponents, mayBeMinusInfinity);
    const ScalarExpr *isEmpty = isDefined ? nullptr : terms.isEmpty(total(x.exponents));
    for (const ScalarExpr *&part : x.exponents)
      part = terms.multiple(part, n);
    auto powerOf = [&](const ScalarExpr *base) {
      Summands args(e->args.begin(), e->args.end());
      args[0] = base;
      return isConstant(base, 1) ? base : terms.withArgs(e, args);
    };
    const ScalarExpr *factor = powerOf(x.factor);
    if (isDefined)
      return {factor, x.exponents};
    const ScalarExpr *zero = terms.constant(e->type, 0);
    return {terms.select(isEmpty, powerOf(zero), factor),
            {terms.select(isEmpty, zero, total(x.exponents))}};
  }

  const ScalarExpr *rebuilt(const ScalarExpr *e) {
    if (const ScalarExpr *test = testOfFactor(e))
      return test;
    Summands args;
    for (const ScalarExpr *arg : e->args)
      args.push_back(value(arg));
    return e->args.empty() ? e : terms.withArgs(e, args);
  }

  // c exp(m) compares with 0 as c does, and is 0 where m is -inf.
  const ScalarExpr *testOfFactor(const ScalarExpr *e) {
    if (e->kind != Kind::Op || !isa<arith::CmpFOp>(e->op) || !isConstant(e->args[1], 0))
      return nullptr;
    const Scaled &x = scaled(e->args[0]);
    if (x.exponents.empty())
      return nullptr;
    Summands vanishing;
    llvm::copy_if(x.exponents, std::back_inserter(vanishing), [&](const ScalarExpr *part) {
      return mayBeMinusInfinity(part) && !isZeroWhereEmpty(x.factor, part);
    });
    return terms.withArgs(
        e, {vanishing.empty() ? x.factor : terms.whereWeighted(terms.sum(vanishing), x.factor),
            e->args[1]});
  }

  // Where the parameters and constants are finite, and nothing else is known to be.
  static bool mayBeMinusInfinity(const ScalarExpr *e) {
    switch (e->kind) {
    case Kind::Constant:
      return e->constant == -INFINITY;
    case Kind::Neg: // of what never is +inf: maxima, and logarithms of sums
      return false;
    case Kind::Max:
      return mayBeMinusInfinity(e->args[0]) && mayBeMinusInfinity(e->args[1]);
    case Kind::Sub: // -inf where x is, whatever is taken away
      return mayBeMinusInfinity(e->args[0]);
    case Kind::Leaf:
      return !e->leaf.getDefiningOp<attn::ParamOp>();
    default:
      return true;
    }
  }

  // True if `e` is 0 where `exponent` is -inf: a sum of weights relative to it.
  static bool isZeroWhereEmpty(const ScalarExpr *e, const ScalarExpr *exponent) {
    if (exponent->kind == Kind::Sub)
      exponent = exponent->args[0];
    switch (e->kind) {
    case Kind::Constant:
      return e->constant == 0;
    case Kind::Leaf: {
      auto fold = e->leaf.getDefiningOp<red::FoldOp>();
      return fold && fold.getReference() && fold.getReference() == exponent->leaf;
    }
    case Kind::Exp: { // exp(x - max(x, y))
      const ScalarExpr *argument = e->args[0];
      return argument->kind == Kind::Sub && exponent->kind == Kind::Max &&
             sameExpression(argument->args[1], exponent);
    }
    case Kind::Neg:
    case Kind::Div:
      return isZeroWhereEmpty(e->args[0], exponent);
    case Kind::Mul:
      return isZeroWhereEmpty(e->args[0], exponent) || isZeroWhereEmpty(e->args[1], exponent);
    case Kind::Add:
    case Kind::Sub:
      return isZeroWhereEmpty(e->args[0], exponent) && isZeroWhereEmpty(e->args[1], exponent);
    case Kind::Select:
      return isZeroWhereEmpty(e->args[1], exponent) && isZeroWhereEmpty(e->args[2], exponent);
    default:
      return false;
    }
  }

  // The summands of an exponent, logarithms of scaled values taken apart.
  void summands(const ScalarExpr *e, bool negative, Summands &out) {
    if (out.size() > kMostSummands)
      return; // too many already
    if (e->kind == Kind::Neg)
      return summands(e->args[0], !negative, out);
    if (e->kind == Kind::Add || e->kind == Kind::Sub) {
      summands(e->args[0], negative, out);
      return summands(e->args[1], negative != (e->kind == Kind::Sub), out);
    }
    if (unsigned count = wholeMultiple(e); count > 1) {
      for (unsigned i = 0; i < count; ++i)
        summands(e->args[0], negative, out);
      return;
    }
    if (e->kind == Kind::Log && !scaled(e->args[0]).exponents.empty()) {
      const Scaled &x = scaled(e->args[0]);
      for (const ScalarExpr *part : x.exponents)
        out.push_back(negative ? terms.neg(part) : part);
      if (!isConstant(x.factor, 1))
        out.push_back(negative ? terms.neg(terms.log(x.factor)) : terms.log(x.factor));
      return;
    }
    const ScalarExpr *same = value(e);
    out.push_back(negative ? terms.neg(same) : same);
  }

  Scaled exponential(const ScalarExpr *e) {
    Summands parts;
    summands(e->args[0], false, parts);
    if (parts.size() > kMostSummands)
      return {e, {}};
    bool grows = false, shifted = false;
    for (const ScalarExpr *part : parts) {
      grows |= part->state && part->kind != Kind::Neg;
      shifted |= part->state && part->kind == Kind::Neg;
    }
    changes |= grows && !shifted;
    // Each x - x stays, as one summand: it is -inf where x is, and what it takes from is then
    // nothing.
    Summands absorbed;
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t k = 0; k < parts.size(); ++k)
        if (parts[k]->kind == Kind::Neg && parts[i]->kind != Kind::Neg &&
            sameExpression(parts[k]->args[0], parts[i])) {
          absorbed.push_back(terms.binary(Kind::Sub, parts[i], parts[i]));
          parts.erase(parts.begin() + std::max(i, k));
          parts.erase(parts.begin() + std::min(i, k));
          i = std::min(i, k) - 1; // all before it have no opposite
          break;
        }
    parts.insert(parts.begin(), absorbed.begin(), absorbed.end());
    return {terms.constant(e->type, 1), parts};
  }

  Scaled product(const ScalarExpr *e) {
    Scaled x = scaled(e->args[0]);
    const Scaled &y = scaled(e->args[1]);
    bool inverse = e->kind == Kind::Div;
    if (x.exponents.empty() && y.exponents.empty())
      return {terms.withArgs(e, {x.factor, y.factor}), {}};
    // Products that are shared, x = y * y of y = z * z, have exponentially many.
    if (x.exponents.size() + y.exponents.size() > kMostSummands)
      return {terms.withArgs(e, {value(x), value(y)}), {}};
    const ScalarExpr *apart =
        staysApart(x, y, inverse) ? terms.binary(e->kind, value(x), value(y)) : nullptr;
    changes |=
        (isFree(x) && isTakenAway(y, inverse)) || (isTakenAway(x, false) && isFree(y) && !inverse);
    for (const ScalarExpr *part : y.exponents)
      add(x.exponents, inverse ? terms.neg(part) : part);
    if (isConstant(y.factor, 1))
      return {x.factor, x.exponents, apart};
    if (!inverse && isConstant(x.factor, 1))
      return {y.factor, x.exponents, apart};
    return {terms.binary(e->kind, x.factor, y.factor), x.exponents, apart};
  }

  // Something is taken away from it, perhaps under a condition.
  static bool isRelative(const ScalarExpr *exponent) {
    if (exponent->kind == Kind::Select)
      return isRelative(exponent->args[1]) || isRelative(exponent->args[2]);
    return exponent->kind == Kind::Neg || exponent->kind == Kind::Sub;
  }

  // exp(s) may be infinite; less a maximum it is not.
  static bool isFree(const Scaled &x) {
    return !x.exponents.empty() && llvm::none_of(x.exponents, isRelative);
  }
  static bool isTakenAway(const Scaled &x, bool inverse) {
    return !x.exponents.empty() && llvm::all_of(x.exponents, [&](const ScalarExpr *e) {
      return (e->kind == Kind::Neg) != inverse;
    });
  }

  // True if several exponents meet and none is subtracted: together they would be larger than each.
  static bool staysApart(const Scaled &x, const Scaled &y, bool inverse) {
    auto isAdded = [](const ScalarExpr *part) { return part->kind != Kind::Neg; };
    return x.exponents.size() + y.exponents.size() > 1 && (!inverse || y.exponents.empty()) &&
           llvm::all_of(x.exponents, isAdded) && llvm::all_of(y.exponents, isAdded);
  }

  void add(Summands &exponents, const ScalarExpr *part) {
    auto opposite = llvm::find_if(exponents, [&](const ScalarExpr *other) {
      return (part->kind == Kind::Neg && sameExpression(part->args[0], other)) ||
             (other->kind == Kind::Neg && sameExpression(other->args[0], part));
    });
    if (opposite == exponents.end())
      return exponents.push_back(part);
    exponents.erase(opposite);
    changes = true;
  }

  // exp(s - m) of an element s, and exp(-s), as they are in a formula: no state has to be kept in
  // range for them.
  static bool isElement(const Scaled &x) {
    llvm::SmallPtrSet<const ScalarExpr *, 8> seen;
    return !isFree(x) && llvm::any_of(x.exponents, [&](const ScalarExpr *part) {
      return hasElement(part, seen);
    });
  }

  static bool hasElement(const ScalarExpr *e, llvm::SmallPtrSetImpl<const ScalarExpr *> &seen) {
    if (!seen.insert(e).second)
      return false;
    return e->leaf ? !e->state : llvm::any_of(e->args, [&](const ScalarExpr *arg) {
      return hasElement(arg, seen);
    });
  }

  Scaled sum(const ScalarExpr *e) {
    Scaled x = scaled(e->args[0]), y = scaled(e->args[1]);
    if (x.exponents.empty() && y.exponents.empty())
      return {terms.withArgs(e, {x.factor, y.factor}), {}};
    if (haveSameExponents(x, y))
      return {terms.binary(e->kind, x.factor, y.factor), x.exponents};
    if (!isFree(x) && !isFree(y) && (isElement(x) || isElement(y)))
      return {terms.withArgs(e, {value(x), value(y)}), {}};
    const ScalarExpr *first = relativeExponent(x), *second = relativeExponent(y);
    const ScalarExpr *largest = terms.binary(Kind::Max, first, second);
    return {terms.binary(e->kind, relative(x, first, largest), relative(y, second, largest)),
            {largest}};
  }

  Scaled select(const ScalarExpr *e) {
    const ScalarExpr *condition = rebuilt(e->args[0]);
    for (unsigned zero : {1u, 2u})
      if (const Scaled &other = scaled(e->args[3 - zero]);
          isConstant(e->args[zero], 0) && !other.exponents.empty())
        return {zero == 1 ? terms.select(condition, e->args[1], other.factor)
                          : terms.select(condition, other.factor, e->args[2]),
                other.exponents};
    return {terms.withArgs(e, {condition, value(e->args[1]), value(e->args[2])}), {}};
  }

  const ScalarExpr *total(ArrayRef<const ScalarExpr *> parts) {
    return sumOfExponents(terms, parts);
  }

  const ScalarExpr *value(const Scaled &x) {
    if (x.exponents.empty())
      return x.factor;
    if (x.apart)
      return x.apart;
    if (isConstant(x.factor, 1))
      return terms.exp(total(x.exponents));
    // An element is divided last, as it is written: beside a divisor of 0 it is chosen before.
    if (x.factor->kind == Kind::Div && isElement(x))
      return terms.withArgs(x.factor,
                            {value(Scaled{x.factor->args[0], x.exponents}), x.factor->args[1]});
    // Where a 0 is chosen it is not multiplied.
    if (x.factor->kind == Kind::Select)
      for (unsigned zero : {1u, 2u})
        if (isConstant(x.factor->args[zero], 0)) {
          Summands args(x.factor->args.begin(), x.factor->args.end());
          args[3 - zero] = value(Scaled{args[3 - zero], x.exponents});
          return terms.withArgs(x.factor, args);
        }
    return terms.binary(Kind::Mul, x.factor, terms.exp(exponentOf(x)));
  }

  // Where the factor is a 0 that is chosen its weight is 0, too: for a sum over nothing, of which
  // it is the inverse, an exponent that is subtracted is -inf, and beside what a condition leaves
  // out any exponent may be beyond range, or NaN.
  const ScalarExpr *exponentOf(const Scaled &x) {
    llvm::SmallPtrSet<const ScalarExpr *, 8> seen;
    const ScalarExpr *nothing = terms.constant(x.factor->type, -INFINITY);
    return unlessZero(x.factor, nothing, total(x.exponents), seen);
  }

  // True if `exponent` is -inf by the same choice.
  static bool isChosen(const ScalarExpr *exponent, const ScalarExpr *condition, unsigned side) {
    return exponent->kind == Kind::Select && isConstant(exponent->args[side], -INFINITY) &&
           sameExpression(exponent->args[0], condition);
  }

  // `exponent`, and `ifZero` where `factor` is a choice of 0.
  const ScalarExpr *unlessZero(const ScalarExpr *factor, const ScalarExpr *ifZero,
                               const ScalarExpr *exponent,
                               llvm::SmallPtrSetImpl<const ScalarExpr *> &seen) {
    if (!seen.insert(factor).second)
      return exponent;
    switch (factor->kind) {
    case Kind::Mul: // where either is
      return unlessZero(factor->args[1], ifZero,
                        unlessZero(factor->args[0], ifZero, exponent, seen), seen);
    case Kind::Add: // where both are
    case Kind::Sub:
      if (!sameExpression(factor->args[0], factor->args[1]))
        ifZero = unlessZero(factor->args[1], ifZero, exponent, seen);
      return ifZero == exponent ? exponent : unlessZero(factor->args[0], ifZero, exponent, seen);
    case Kind::Neg:
    case Kind::Div:
      return unlessZero(factor->args[0], ifZero, exponent, seen);
    case Kind::Select:
      for (unsigned zero : {1u, 2u})
        if (isConstant(factor->args[zero], 0))
          return isChosen(exponent, factor->args[0], zero) ? exponent
                 : zero == 1 ? terms.select(factor->args[0], ifZero, exponent)
                             : terms.select(factor->args[0], exponent, ifZero);
      return exponent;
    default:
      return exponent;
    }
  }

  Terms &terms;
  llvm::DenseMap<const ScalarExpr *, std::unique_ptr<Scaled>> done;
};

} // namespace

const ScalarExpr *combineExponents(Terms &terms, const ScalarExpr *e) {
  Combiner combiner(terms);
  const ScalarExpr *combined = combiner.value(e);
  return combiner.changes && !sameExpression(combined, e) ? combined : e;
}

const ScalarExpr *openLogarithms(Terms &terms, const ScalarExpr *e) {
  return Combiner(terms).value(e);
}

} // namespace attnc
