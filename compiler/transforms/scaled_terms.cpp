#include "compiler/transforms/scaled_terms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

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
      return {terms.neg(x.factor), x.exponents};
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
      return {rebuilt(e), {}};
    }
  }

  const ScalarExpr *rebuilt(const ScalarExpr *e) {
    if (const ScalarExpr *test = testOfFactor(e))
      return test;
    Summands args;
    for (const ScalarExpr *arg : e->args)
      args.push_back(value(arg));
    return e->args.empty() ? e : terms.withArgs(e, args);
  }

  // c exp(m) compares with 0 as c does.
  const ScalarExpr *testOfFactor(const ScalarExpr *e) {
    if (e->kind != Kind::Op || !isa<arith::CmpFOp>(e->op) || !isConstant(e->args[1], 0))
      return nullptr;
    const Scaled &x = scaled(e->args[0]);
    return x.exponents.empty() ? nullptr : terms.withArgs(e, {x.factor, e->args[1]});
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
    // x - x stays, as one summand: it is -inf where x is, and what it takes from is then nothing.
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t k = 0; k < parts.size(); ++k)
        if (parts[k]->kind == Kind::Neg && parts[i]->kind != Kind::Neg &&
            sameExpression(parts[k]->args[0], parts[i])) {
          const ScalarExpr *none = terms.binary(Kind::Sub, parts[i], parts[i]);
          parts.erase(parts.begin() + std::max(i, k));
          parts.erase(parts.begin() + std::min(i, k));
          parts.insert(parts.begin(), none);
          i = parts.size();
          break;
        }
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
    for (const ScalarExpr *part : y.exponents)
      add(x.exponents, inverse ? terms.neg(part) : part);
    if (isConstant(y.factor, 1))
      return x;
    if (!inverse && isConstant(x.factor, 1))
      return {y.factor, x.exponents};
    return {terms.binary(e->kind, x.factor, y.factor), x.exponents};
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

  Scaled sum(const ScalarExpr *e) {
    Scaled x = scaled(e->args[0]), y = scaled(e->args[1]);
    if (x.exponents.empty() && y.exponents.empty())
      return {terms.withArgs(e, {x.factor, y.factor}), {}};
    bool same = x.exponents.size() == y.exponents.size() &&
                llvm::all_of(llvm::zip(x.exponents, y.exponents), [](auto pair) {
                  return sameExpression(std::get<0>(pair), std::get<1>(pair));
                });
    if (same)
      return {terms.binary(e->kind, x.factor, y.factor), x.exponents};
    auto exponentOf = [&](const Scaled &s) {
      return s.exponents.empty() ? terms.constant(e->type, 0) : total(s.exponents);
    };
    const ScalarExpr *first = exponentOf(x), *second = exponentOf(y);
    const ScalarExpr *largest = terms.binary(Kind::Max, first, second);
    auto relative = [&](const Scaled &s, const ScalarExpr *exponent) {
      const ScalarExpr *weight = terms.exp(terms.binary(Kind::Sub, exponent, largest));
      return isConstant(s.factor, 1) ? weight : terms.binary(Kind::Mul, s.factor, weight);
    };
    return {terms.binary(e->kind, relative(x, first), relative(y, second)), {largest}};
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

  // What grows first: over a row without keys it is -inf, and then so is the sum.
  const ScalarExpr *total(ArrayRef<const ScalarExpr *> parts) {
    Summands ordered;
    for (bool negative : {false, true})
      llvm::copy_if(parts, std::back_inserter(ordered),
                    [&](const ScalarExpr *part) { return (part->kind == Kind::Neg) == negative; });
    return terms.sum(ordered);
  }

  const ScalarExpr *value(const Scaled &x) {
    if (x.exponents.empty())
      return x.factor;
    const ScalarExpr *weight = terms.exp(total(x.exponents));
    if (isConstant(x.factor, 1))
      return weight;
    // Where a 0 is chosen it is not multiplied.
    if (x.factor->kind == Kind::Select)
      for (unsigned zero : {1u, 2u})
        if (isConstant(x.factor->args[zero], 0)) {
          Summands args(x.factor->args.begin(), x.factor->args.end());
          args[3 - zero] = terms.binary(Kind::Mul, args[3 - zero], weight);
          return terms.withArgs(x.factor, args);
        }
    return terms.binary(Kind::Mul, x.factor, weight);
  }

  Terms &terms;
  llvm::DenseMap<const ScalarExpr *, std::unique_ptr<Scaled>> done;
};

} // namespace

const ScalarExpr *combineExponents(Terms &terms, const ScalarExpr *e) {
  Combiner combiner(terms);
  const ScalarExpr *combined = combiner.value(e);
  return combiner.changes ? combined : e;
}

} // namespace attnc
