// Powers of terms: x^n distributes over products, so (C exp(a) B)^n = C^n exp(n a) B^n. And ops
// that distribute over factors that are not negative only: abs(C exp(a) B) = abs(C B) exp(a).
#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "compiler/transforms/derivation/spec_text.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

// A power up to this is a product of as many factors, as if it were written so.
static constexpr double kMostFactors = 8;

static ScalarProperties propertiesOf(const ScalarExpr *e) {
  return e->op && e->kind == ScalarExpr::Kind::Op ? dyn_cast<ScalarProperties>(e->op)
                                                  : ScalarProperties();
}

const ScalarExpr *Terms::powerOf(const ScalarExpr *e) {
  ScalarProperties properties = propertiesOf(e);
  OpFoldResult n = properties ? properties.getPower() : OpFoldResult();
  if (auto constantPower = dyn_cast_if_present<Attribute>(n))
    return constant(e->type, cast<FloatAttr>(constantPower).getValueAsDouble());
  auto operand = dyn_cast_if_present<Value>(n);
  if (!operand)
    return nullptr;
  return e->args[llvm::find(e->op->getOperands(), operand) - e->op->operand_begin()];
}

static bool isWhole(const ScalarExpr *n) {
  return n->kind == ScalarExpr::Kind::Constant && n->constant == std::floor(n->constant);
}

// The factors of factor^n. A choice of 0 stays one, and so does an inverse: what they say of the
// edges is said of the power.
static void appendRaised(Terms &terms, const ScalarExpr *power, const ScalarExpr *factor,
                         const ScalarExpr *n, SmallVectorImpl<const ScalarExpr *> &out) {
  if (isWhole(n) && n->constant <= kMostFactors) {
    out.append(static_cast<size_t>(n->constant), factor);
    return;
  }
  auto raised = [&](const ScalarExpr *x, auto &self) -> const ScalarExpr * {
    if (x->kind == ScalarExpr::Kind::Constant && (x->constant == 0 || x->constant == 1))
      return x; // n is positive
    if (x->kind == ScalarExpr::Kind::Select)
      return terms.select(x->args[0], self(x->args[1], self), self(x->args[2], self));
    if (x->kind == ScalarExpr::Kind::Div && x->args[0]->kind == ScalarExpr::Kind::Constant)
      return terms.binary(x->kind, self(x->args[0], self), self(x->args[1], self));
    SmallVector<const ScalarExpr *> args(power->args.begin(), power->args.end());
    args[0] = x;
    return terms.withArgs(power, args);
  };
  out.push_back(raised(factor, raised));
}

// What a power that is not proven positive makes of 0.
static std::string whyNotPositive(Sign sign) {
  bool known = sign == Sign::Zero || sign == Sign::Negative;
  StringRef ofZero = sign == Sign::Zero          ? "is 1"
                     : sign == Sign::Negative    ? "is infinite"
                     : sign == Sign::NotNegative ? "may be 1"
                                                 : "may be infinite or 1";
  return (Twine("its power is not ") + (known ? "" : "proven ") +
          "positive: of 0, a weight that a mask leaves out, it " + ofZero)
      .str();
}

// e = x^n, n = powerOf(e).
std::optional<SmallVector<Term>> Terms::splitPower(const ScalarExpr *e, const ScalarExpr *n) {
  if (n->stream)
    return refuse(e, "its power is not the same for the whole stream, so it cannot be taken into "
                     "an exponent");
  if (n->state)
    return refuse(e, "its power is known only at the end of the stream, so it cannot be taken into "
                     "an exponent");
  if (Sign sign = signOf(n); sign != Sign::Positive)
    return refuse(e, whyNotPositive(sign));
  std::optional<SmallVector<Term>> terms = split(e->args[0]);
  if (!terms)
    return std::nullopt;
  Term &term = terms->front();
  if (terms->size() > 1 || !term.differences.empty() || term.condition)
    return refuse(e, "a power distributes over products, not over sums");
  for (auto *factors : {&term.factors, &term.outer}) {
    SmallVector<const ScalarExpr *> all;
    for (const ScalarExpr *factor : *factors) {
      if (!isWhole(n) && !isNotNegative(signOf(factor)))
        return refuse(e, "it distributes over products of what is proven not to be negative, and "
                         "the sign of `" +
                             specTextOf(factor) + "` is not");
      appendRaised(*this, e, factor, n, all);
    }
    factors->assign(all.begin(), all.end());
  }
  if (term.exponent)
    term.exponent = multiple(term.exponent, n);
  for (const ScalarExpr *&part : term.shift)
    part = multiple(part, n);
  usedRules.insert(derivation::Rule::RaisedTerm);
  return terms;
}

bool Terms::isHomogeneous(const ScalarExpr *e) {
  ScalarProperties properties = propertiesOf(e);
  return properties && properties.isPositivelyHomogeneous();
}

bool Terms::isOneOfOperands(const ScalarExpr *e) {
  ScalarProperties properties = propertiesOf(e);
  return properties && properties.isOneOfOperands();
}

const ScalarExpr *Terms::homogeneousIn(const ScalarExpr *e) {
  if (!isHomogeneous(e))
    return nullptr;
  const ScalarExpr *argument = nullptr;
  for (const ScalarExpr *arg : e->args) {
    if (arg->kind == ScalarExpr::Kind::Constant && arg->constant == 0)
      continue;
    if (argument)
      return nullptr;
    argument = arg;
  }
  return argument;
}

// f(C exp(a + b) B) = f(c) C' exp(a + b) B', where c are the factors whose sign is not proven; they
// all vary along the stream, or none does. Nothing where that is not so, and no reason is recorded:
// whoever asked has one.
std::optional<SmallVector<Term>> Terms::splitHomogeneous(const ScalarExpr *e) {
  const ScalarExpr *x = homogeneousIn(e);
  if (!x)
    return std::nullopt;
  Refusal before = refused;
  std::optional<SmallVector<Term>> terms = split(x);
  if (!terms) {
    refused = before;
    return std::nullopt;
  }
  Term &term = terms->front();
  if (terms->size() > 1 || !term.differences.empty() || term.condition)
    return std::nullopt;
  auto isSigned = [](const ScalarExpr *factor) { return !isNotNegative(signOf(factor)); };
  bool along = llvm::any_of(term.factors, isSigned);
  if (along && llvm::any_of(term.outer, isSigned))
    return std::nullopt;
  auto &factors = along ? term.factors : term.outer;
  const ScalarExpr *product = nullptr;
  for (const ScalarExpr *factor : llvm::make_filter_range(factors, isSigned))
    product = product ? binary(ScalarExpr::Kind::Mul, product, factor) : factor;
  llvm::erase_if(factors, isSigned);
  SmallVector<const ScalarExpr *> args(e->args.begin(), e->args.end());
  *llvm::find(args, x) = product ? product : constant(e->type, 1);
  factors.push_back(withArgs(e, args));
  return terms;
}

const ScalarExpr *Terms::multiple(const ScalarExpr *x, const ScalarExpr *n) {
  if (x->kind == ScalarExpr::Kind::Neg)
    return neg(multiple(x->args[0], n));
  return binary(ScalarExpr::Kind::Mul, x, n);
}

// x as a positive whole multiple of another expression.
static std::pair<const ScalarExpr *, double> asMultiple(const ScalarExpr *x) {
  bool isMultiple =
      x->kind == ScalarExpr::Kind::Mul && isWhole(x->args[1]) && x->args[1]->constant > 0;
  return isMultiple ? std::pair(x->args[0], x->args[1]->constant) : std::pair(x, 1.0);
}

const ScalarExpr *Terms::sumOfMultiples(const ScalarExpr *x, const ScalarExpr *y) {
  if (x->kind == ScalarExpr::Kind::Neg && y->kind == ScalarExpr::Kind::Neg) {
    const ScalarExpr *sum = sumOfMultiples(x->args[0], y->args[0]);
    return sum ? neg(sum) : nullptr;
  }
  auto [base, count] = asMultiple(x);
  auto [other, more] = asMultiple(y);
  return sameExpression(base, other)
             ? binary(ScalarExpr::Kind::Mul, base, constant(base->type, count + more))
             : nullptr;
}

} // namespace attnc
