#include "compiler/frontend/bounds/bounds.h"
#include <cmath>

namespace attnc {

/// How many bounds of one side are kept.
static constexpr size_t maxBounds = 4;
/// How many minima, maxima and choices a proof looks through: each may double its work.
static constexpr unsigned maxChoices = 6;
/// How deep intervals are computed; deeper ones are unknown.
static constexpr unsigned maxNesting = 1000;

static void keep(std::vector<Polynomial> &bounds, std::optional<Polynomial> bound) {
  if (bound && bounds.size() < maxBounds && !llvm::is_contained(bounds, *bound))
    bounds.push_back(std::move(*bound));
}

Interval Interval::ofIndex(const Polynomial &size) {
  Interval interval;
  interval.lower.push_back(Polynomial(0));
  if (auto last = Polynomial::subtract(size, Polynomial(1)))
    interval.upper.push_back(*last);
  return interval;
}

bool ParamRange::contains(double x) const {
  return !(lower && (lowerOpen ? x <= *lower : x < *lower)) &&
         !(upper && (upperOpen ? x >= *upper : x > *upper)) && x == x;
}

bool ParamRange::empty() const {
  return lower && upper && (*lower > *upper || (*lower == *upper && (lowerOpen || upperOpen)));
}

Interval ParamRange::ofIntegers() const {
  Interval interval;
  constexpr double most = 1 << 30;
  if (lower && std::abs(*lower) < most) {
    double first = lowerOpen ? std::floor(*lower) + 1 : std::ceil(*lower);
    interval.lower.push_back(Polynomial(static_cast<int64_t>(first)));
  }
  if (upper && std::abs(*upper) < most) {
    double last = upperOpen ? std::ceil(*upper) - 1 : std::floor(*upper);
    interval.upper.push_back(Polynomial(static_cast<int64_t>(last)));
  }
  return interval;
}

void IntervalAnalysis::assume(const Scalar *condition) {
  if (condition->kind != Scalar::Operation)
    return;
  if (condition->op == ScalarOp::And) {
    assume(condition->args[0]);
    assume(condition->args[1]);
    return;
  }
  const Scalar *left = condition->args.front(), *right = condition->args.back();
  if (left->type != ScalarType::Int || right->type != ScalarType::Int)
    return;
  bool isZero = right->isConstant() && right->integer == 0;
  if (condition->op == ScalarOp::Eq && isZero && left->kind == Scalar::Operation &&
      left->op == ScalarOp::Mod) {
    auto a = interval(left->args[0]).exact, b = interval(left->args[1]).exact;
    if (a && b)
      facts.assumeDivides(*a, *b);
    forget();
    return;
  }
  auto a = interval(left).exact, b = interval(right).exact;
  switch (condition->op) {
  case ScalarOp::Eq:
    if (a && b) {
      facts.assumeEqual(*a, *b);
    } else {
      assumeAtMost(left, right, 0);
      assumeAtMost(right, left, 0);
    }
    break;
  case ScalarOp::Le:
    assumeAtMost(left, right, 0);
    break;
  case ScalarOp::Lt:
    assumeAtMost(left, right, 1);
    break;
  case ScalarOp::Ge:
    assumeAtMost(right, left, 0);
    break;
  case ScalarOp::Gt:
    assumeAtMost(right, left, 1);
    break;
  default:
    break;
  }
  forget();
}

/// left + gap <= right
void IntervalAnalysis::assumeAtMost(const Scalar *left, const Scalar *right, int64_t gap) {
  auto a = interval(left).exact, b = interval(right).exact;
  if (auto bound = b ? Polynomial::subtract(*b, Polynomial(gap)) : std::nullopt)
    assume(left, Side::AtMost, *bound);
  auto bound = a ? Polynomial::add(*a, Polynomial(gap)) : std::nullopt;
  // What is exact on both sides has been assumed above, unless it says more about the right one.
  if (bound && (!b || reduced(right, Side::AtLeast, *bound)))
    assume(right, Side::AtLeast, *bound);
}

void IntervalAnalysis::assume(const Scalar *scalar, Side side, const Polynomial &bound,
                              unsigned depth) {
  if (auto exact = interval(scalar).exact)
    if (auto room = side == Side::AtMost ? Polynomial::subtract(bound, *exact)
                                         : Polynomial::subtract(*exact, bound))
      facts.assumeNotNegative(*room);
  if (depth >= maxChoices)
    return;
  const Scalar *s = resolved(scalar);
  bool both = s->kind == Scalar::Operation &&
              s->op == (side == Side::AtMost ? ScalarOp::Max : ScalarOp::Min);
  if (both)
    for (const Scalar *arg : s->args)
      assume(arg, side, bound, depth + 1);
  else if (auto next = reduced(s, side, bound))
    assume(next->term, next->side, next->bound, depth + 1);
}

std::optional<Polynomial> IntervalAnalysis::dividendAtMost(const Scalar *scalar,
                                                           const Polynomial &bound) {
  auto next = Polynomial::add(bound, Polynomial(1));
  auto end = next ? dividendAtLeast(scalar, *next) : std::nullopt;
  return end ? Polynomial::subtract(*end, Polynomial(1)) : std::nullopt;
}

std::optional<Polynomial> IntervalAnalysis::dividendAtLeast(const Scalar *scalar,
                                                            const Polynomial &bound) {
  const Scalar *s = resolved(scalar);
  if (s->kind != Scalar::Operation || s->type != ScalarType::Int || s->op != ScalarOp::FloorDiv)
    return std::nullopt;
  auto divisor = interval(s->args[1]).exact;
  if (!divisor || !facts.provesAtMost(Polynomial(1), *divisor))
    return std::nullopt;
  return Polynomial::multiply(bound, *divisor);
}

std::optional<IntervalAnalysis::Reduced> IntervalAnalysis::reduced(const Scalar *scalar, Side side,
                                                                   const Polynomial &bound) {
  const Scalar *s = resolved(scalar);
  if (s->kind != Scalar::Operation || s->type != ScalarType::Int)
    return std::nullopt;
  Side other = side == Side::AtMost ? Side::AtLeast : Side::AtMost;
  auto with = [](const Scalar *term, Side side,
                 std::optional<Polynomial> bound) -> std::optional<Reduced> {
    return bound ? std::optional(Reduced{term, side, *bound}) : std::nullopt;
  };
  switch (s->op) {
  case ScalarOp::FloorDiv:
    return with(s->args[0], side,
                side == Side::AtMost ? dividendAtMost(s, bound) : dividendAtLeast(s, bound));
  case ScalarOp::Neg:
    return with(s->args[0], other, Polynomial::multiply(bound, Polynomial(-1)));
  case ScalarOp::Add:
    for (unsigned i : {0u, 1u})
      if (auto exact = interval(s->args[1 - i]).exact)
        return with(s->args[i], side, Polynomial::subtract(bound, *exact));
    return std::nullopt;
  case ScalarOp::Sub:
    if (auto exact = interval(s->args[1]).exact)
      return with(s->args[0], side, Polynomial::add(bound, *exact));
    if (auto exact = interval(s->args[0]).exact)
      return with(s->args[1], other, Polynomial::subtract(*exact, bound));
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

Interval IntervalAnalysis::interval(const Scalar *scalar) {
  auto it = known.find(scalar);
  if (it != known.end())
    return it->second;
  if (nesting >= maxNesting)
    return Interval::unknown();
  ++nesting;
  Interval result = compute(scalar);
  --nesting;
  known[scalar] = result;
  return result;
}

Interval IntervalAnalysis::compute(const Scalar *scalar) {
  switch (scalar->kind) {
  case Scalar::Constant:
    return scalar->type == ScalarType::Int ? Interval::of(Polynomial(scalar->integer))
                                           : Interval::unknown();
  case Scalar::Array: {
    if (const Scalar *source = sources.lookup(scalar->array))
      return interval(source);
    auto it = leaves.find(scalar->array);
    Interval unknown;
    unknown.fromData = true;
    return it == leaves.end() ? unknown : it->second;
  }
  case Scalar::Operation:
    return ofOperation(scalar);
  case Scalar::Poison:
    return Interval::unknown();
  }
  return Interval::unknown();
}

Interval IntervalAnalysis::ofOperation(const Scalar *scalar) {
  std::vector<Interval> args;
  bool fromData = false;
  for (const Scalar *arg : scalar->args) {
    args.push_back(interval(arg));
    fromData |= args.back().fromData;
  }
  Interval result;
  if (scalar->type == ScalarType::Int) {
    switch (scalar->op) {
    case ScalarOp::Add:
      result = add(args[0], args[1]);
      break;
    case ScalarOp::Sub:
      result = add(args[0], negate(args[1]));
      break;
    case ScalarOp::Neg:
      result = negate(args[0]);
      break;
    case ScalarOp::Mul:
      result = multiply(args[0], args[1]);
      break;
    case ScalarOp::FloorDiv:
      result = floorDivide(args[0], args[1]);
      break;
    case ScalarOp::Mod:
      result = modulo(args[0], args[1]);
      break;
    case ScalarOp::Min:
      result = minimum(args[0], args[1]);
      break;
    case ScalarOp::Max:
      result = maximum(args[0], args[1]);
      break;
    case ScalarOp::Abs:
      result = maximum(args[0], negate(args[0]));
      keep(result.lower, Polynomial(0));
      break;
    case ScalarOp::Where:
      result = hull(args[1], args[2]);
      break;
    default:
      break;
    }
  }
  result.fromData = fromData;
  return result;
}

bool IntervalAnalysis::provesAtLeast(const Interval &value, const Polynomial &bound) {
  return llvm::any_of(value.lower,
                      [&](const Polynomial &low) { return facts.provesAtMost(bound, low); });
}

bool IntervalAnalysis::provesAtMost(const Interval &value, const Polynomial &bound) {
  return llvm::any_of(value.upper,
                      [&](const Polynomial &high) { return facts.provesAtMost(high, bound); });
}

const Scalar *IntervalAnalysis::resolved(const Scalar *scalar) const {
  while (scalar->kind == Scalar::Array)
    if (const Scalar *source = sources.lookup(scalar->array))
      scalar = source;
    else
      break;
  return scalar;
}

bool IntervalAnalysis::proves(const Scalar *scalar, Side side, const Polynomial &bound,
                              unsigned depth) {
  Interval known = interval(scalar);
  return (side == Side::AtMost ? provesAtMost(known, bound) : provesAtLeast(known, bound)) ||
         provesByParts(scalar, side, bound, depth);
}

/// A proof from what the value is computed from.
bool IntervalAnalysis::provesByParts(const Scalar *scalar, Side side, const Polynomial &bound,
                                     unsigned depth) {
  const Scalar *s = resolved(scalar);
  if (s->kind != Scalar::Operation || s->type != ScalarType::Int || depth >= maxChoices)
    return false;
  auto proven = [&](unsigned i) { return proves(s->args[i], side, bound, depth + 1); };
  switch (s->op) {
  case ScalarOp::Min:
  case ScalarOp::Max:
    return (s->op == ScalarOp::Max) == (side == Side::AtMost) ? proven(0) && proven(1)
                                                              : proven(0) || proven(1);
  case ScalarOp::Where:
    return proven(1) && proven(2);
  case ScalarOp::Abs: {
    auto negated = Polynomial::multiply(bound, Polynomial(-1));
    return side == Side::AtMost && negated && proven(0) &&
           proves(s->args[0], Side::AtLeast, *negated, depth + 1);
  }
  default:
    auto next = reduced(s, side, bound);
    if (!next)
      return false;
    // The interval of a sum with what is exact has said as much as that of its term would.
    return s->op == ScalarOp::FloorDiv
               ? proves(next->term, next->side, next->bound, depth + 1)
               : provesByParts(next->term, next->side, next->bound, depth + 1);
  }
}

Interval IntervalAnalysis::add(const Interval &a, const Interval &b) {
  Interval result;
  if (a.exact && b.exact)
    if (auto sum = Polynomial::add(*a.exact, *b.exact))
      return Interval::of(*sum);
  for (const Polynomial &x : a.lower)
    for (const Polynomial &y : b.lower)
      keep(result.lower, Polynomial::add(x, y));
  for (const Polynomial &x : a.upper)
    for (const Polynomial &y : b.upper)
      keep(result.upper, Polynomial::add(x, y));
  return result;
}

Interval IntervalAnalysis::negate(const Interval &a) { return scale(a, Polynomial(-1)); }

/// Multiplies by an exact value whose sign is known; nothing is known otherwise.
Interval IntervalAnalysis::scale(const Interval &a, const Polynomial &factor) {
  Interval result;
  if (a.exact)
    if (auto product = Polynomial::multiply(*a.exact, factor))
      return Interval::of(*product);
  bool positive = facts.provesNotNegative(factor);
  if (!positive && !facts.provesAtMost(factor, Polynomial(0)))
    return result;
  for (const Polynomial &x : positive ? a.lower : a.upper)
    keep(result.lower, Polynomial::multiply(x, factor));
  for (const Polynomial &x : positive ? a.upper : a.lower)
    keep(result.upper, Polynomial::multiply(x, factor));
  return result;
}

Interval IntervalAnalysis::multiply(const Interval &a, const Interval &b) {
  if (b.exact)
    return scale(a, *b.exact);
  if (a.exact)
    return scale(b, *a.exact);
  Interval result;
  if (!provesAtLeast(a, Polynomial(0)) || !provesAtLeast(b, Polynomial(0)))
    return result;
  keep(result.lower, Polynomial(0));
  for (const Polynomial &x : a.upper)
    for (const Polynomial &y : b.upper)
      keep(result.upper, Polynomial::multiply(x, y));
  return result;
}

Interval IntervalAnalysis::floorDivide(const Interval &a, const Interval &b) {
  Interval result;
  if (!provesAtLeast(b, Polynomial(1)))
    return result;
  if (a.exact && b.exact)
    if (auto quotient = facts.quotient(*a.exact, *b.exact))
      return Interval::of(*quotient);
  // a // b lies between 0 and a, whatever the sign of a.
  if (provesAtLeast(a, Polynomial(0)))
    keep(result.lower, Polynomial(0));
  for (const Polynomial &low : a.lower)
    if (facts.provesAtMost(low, Polynomial(0)))
      keep(result.lower, low);
  for (const Polynomial &high : a.upper) {
    if (b.exact)
      // a <= quotient * b - 1 + rest with rest <= 0, so a // b <= quotient - 1.
      if (auto next = Polynomial::add(facts.normalise(high), Polynomial(1)))
        if (auto division = next->divide(facts.normalise(*b.exact)))
          if (facts.provesAtMost(division->rest, Polynomial(0)))
            keep(result.upper, Polynomial::subtract(division->quotient, Polynomial(1)));
    if (auto constant = b.exact ? facts.normalise(*b.exact).constant() : std::nullopt)
      // a <= quotient * b + rest with a constant rest, so a // b <= quotient + rest // b.
      if (auto division = facts.normalise(high).divide(Polynomial(*constant)))
        if (auto rest = division->rest.constant())
          keep(result.upper,
               Polynomial::add(division->quotient,
                               Polynomial(llvm::divideFloorSigned(*rest, *constant))));
    if (facts.provesNotNegative(high))
      keep(result.upper, high);
  }
  return result;
}

Interval IntervalAnalysis::modulo(const Interval &a, const Interval &b) {
  Interval result;
  if (!provesAtLeast(b, Polynomial(1)))
    return result;
  keep(result.lower, Polynomial(0));
  for (const Polynomial &high : b.upper)
    keep(result.upper, Polynomial::subtract(high, Polynomial(1)));
  if (provesAtLeast(a, Polynomial(0)))
    for (const Polynomial &high : a.upper)
      keep(result.upper, high);
  return result;
}

Interval IntervalAnalysis::minimum(const Interval &a, const Interval &b) {
  Interval result = hull(a, b);
  result.upper.clear();
  for (const Interval *side : {&a, &b})
    for (const Polynomial &high : side->upper)
      keep(result.upper, high);
  return result;
}

Interval IntervalAnalysis::maximum(const Interval &a, const Interval &b) {
  Interval result = hull(a, b);
  result.lower.clear();
  for (const Interval *side : {&a, &b})
    for (const Polynomial &low : side->lower)
      keep(result.lower, low);
  return result;
}

/// The bounds that hold for both.
Interval IntervalAnalysis::hull(const Interval &a, const Interval &b) {
  Interval result;
  for (auto [x, y] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const Polynomial &low : x->lower)
      if (provesAtLeast(*y, low))
        keep(result.lower, low);
    for (const Polynomial &high : x->upper)
      if (provesAtMost(*y, high))
        keep(result.upper, high);
  }
  return result;
}

void IntervalAnalysis::assumeSize(const Polynomial &size, const Scalar *value) {
  Interval known = interval(value);
  if (known.exact) {
    facts.assumeEqual(size, *known.exact);
  } else {
    for (const Polynomial &low : known.lower)
      if (auto room = Polynomial::subtract(size, low))
        facts.assumeNotNegative(*room);
    for (const Polynomial &high : known.upper)
      if (auto room = Polynomial::subtract(high, size))
        facts.assumeNotNegative(*room);
  }
  forget();
}

} // namespace attnc
