// Comparisons of integer expressions as masks.
#include "compiler/transforms/domain/integers.h"

using namespace mlir;

namespace attnc {

// A comparison says nothing where what it assumes does not hold.
MaskRef Integers::asAssumed(const IntegerRef &x, MaskRef mask) {
  for (const Linear &assumed : x->assumed) {
    MaskRef holds = masks.nonNegative(assumed);
    MaskRef fails = masks.nonNegative(shifted(negated(assumed), -1));
    mask = masks.either(masks.both(holds, mask), masks.both(fails, masks.unknown()));
  }
  return mask;
}

MaskRef Integers::isNotNegative(const IntegerRef &x) {
  switch (x->kind) {
  case Integer::Kind::Sum:
    return asAssumed(x, sumIsNotNegative(x->linear, x->quotients));
  case Integer::Kind::Max:
    return masks.either(isNotNegative(x->args[0]), isNotNegative(x->args[1]));
  case Integer::Kind::Min:
    return masks.both(isNotNegative(x->args[0]), isNotNegative(x->args[1]));
  case Integer::Kind::Select:
    return masks.either(masks.both(x->yes, isNotNegative(x->args[0])),
                        masks.both(x->no, isNotNegative(x->args[1])));
  }
  llvm_unreachable("all kinds are listed");
}

// `opposite` is -x.
MaskRef Integers::isZero(const IntegerRef &x, const IntegerRef &opposite, bool expected) {
  if (x->kind == Integer::Kind::Select) {
    auto arm = [&](unsigned i) -> MaskRef {
      IntegerRef other = scale(x->args[i], -1);
      return other ? isZero(x->args[i], other, expected) : masks.unknown();
    };
    return masks.either(masks.both(x->yes, arm(0)), masks.both(x->no, arm(1)));
  }
  Value residue;
  if (x->kind == Integer::Kind::Sum)
    if (std::optional<Linear> of = congruent(x->linear, x->quotients, residue))
      return asAssumed(x, hasResidue(*of, residue, x->quotients[0].divisor, expected));
  if (expected)
    return masks.both(isNotNegative(opposite), isNotNegative(x));
  IntegerRef one = exact(a.constant(1));
  return masks.either(isNotNegative(subtract(opposite, one)), isNotNegative(subtract(x, one)));
}

MaskRef Integers::notBelow(const IntegerRef &x, const IntegerRef &y, int64_t gap) {
  IntegerRef difference = subtract(x, y);
  if (gap != 0)
    difference = subtract(difference, exact(a.constant(gap)));
  return difference ? isNotNegative(difference) : masks.unknown();
}

MaskRef Integers::equal(const IntegerRef &x, const IntegerRef &y, bool expected) {
  IntegerRef difference = subtract(x, y), opposite = subtract(y, x);
  return difference && opposite ? isZero(difference, opposite, expected) : masks.unknown();
}

//===----------------------------------------------------------------------===//
// Congruences
//===----------------------------------------------------------------------===//

// The expression that is congruent to `residue` where linear + quotients is zero: the sum of one
// residue and a constant, or of two residues of the same divisor.
std::optional<Linear> Integers::congruent(const Linear &linear, Quotients quotients,
                                          Value &residue) {
  auto isResidue = [](const Quotient &q) {
    return q.kind == Quotient::Kind::Mod && std::abs(q.coefficient) == 1;
  };
  if (quotients.empty() || !llvm::all_of(quotients, isResidue) || !linear.terms.empty() ||
      !linear.isExact())
    return std::nullopt;
  const Quotient &first = quotients[0];
  if (quotients.size() == 1) {
    residue = first.coefficient == 1 ? a.sub(a.constant(0), linear.lo) : linear.lo;
    return first.of;
  }
  const Quotient &second = quotients[1];
  if (quotients.size() != 2 || first.coefficient == second.coefficient ||
      !IndexArithmetic::same(first.divisor, second.divisor) ||
      IndexArithmetic::literal(linear.lo) != 0)
    return std::nullopt;
  residue = a.constant(0);
  return addLinear(first.of, negated(second.of));
}

// A residue lies in [0, divisor).
MaskRef Integers::hasResidue(const Linear &of, Value residue, Value divisor, bool expected) {
  Value one = a.constant(1), below = a.sub(divisor, one), room = a.sub(below, residue);
  auto nonNegative = [&](Value x) -> MaskRef {
    if (std::optional<int64_t> known = IndexArithmetic::literal(x))
      return masks.constant(*known >= 0);
    return masks.nonNegative({{}, x, x});
  };
  if (expected)
    return masks.both(masks.both(nonNegative(residue), nonNegative(room)),
                      masks.residue(of, residue, divisor, one));
  auto negative = [&](Value x) { return nonNegative(a.sub(a.constant(-1), x)); };
  return masks.either(masks.either(negative(residue), negative(room)),
                      masks.residue(of, a.add(residue, one), divisor, below));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

// linear + quotients >= 0. Quotients of rows alone are ranges; one along the stream is solved for
// the stream; several are known only tile by tile.
MaskRef Integers::sumIsNotNegative(const Linear &linear, Quotients quotients) {
  Linear rest = linear;
  SmallVector<Quotient> streamed;
  for (const Quotient &q : quotients) {
    if (isStreamed(q.of)) {
      streamed.push_back(q);
      continue;
    }
    IntegerBounds known = boundsOf(q);
    rest.lo = a.add(rest.lo, known.lo);
    rest.hi = a.add(rest.hi, known.hi);
  }
  if (streamed.empty())
    return masks.nonNegative(rest);
  if (streamed.size() > 1)
    return withBounds(rest, streamed);
  Quotient &only = streamed.front();
  if (only.kind == Quotient::Kind::Floor)
    return floorIsNotBelow(only, rest);
  return residueIsNotBelow(only, rest);
}

MaskRef Integers::withBounds(const Linear &linear, Quotients quotients) {
  Linear rest = linear;
  for (const Quotient &q : quotients) {
    IntegerBounds known = boundsOf(q);
    rest.lo = a.add(rest.lo, known.lo);
    rest.hi = a.add(rest.hi, known.hi);
    rest.streamed |= known.streamed;
  }
  return masks.nonNegative(rest);
}

MaskRef Integers::floorIsNotBelow(const Quotient &quotient, const Linear &rest) {
  if (std::optional<Linear> solved = floorAsLinear(quotient, rest))
    return masks.nonNegative(*solved);
  return withBounds(rest, quotient);
}

// True if the value is that of an index, or the difference of two: it has 32 bits.
static bool isIndex(const Linear &x) {
  int64_t ends[] = {0, 0};
  for (auto [dim, c] : x.terms)
    if (std::abs(c) != 1 || ends[c > 0]++)
      return false;
  return x.isExact() && IndexArithmetic::literal(x.lo) == 0;
}

// floor(x / k) >= -r is x + k r >= 0, and floor(x / k) <= r is k r + k - 1 - x >= 0, for whole r.
std::optional<Linear> Integers::floorAsLinear(const Quotient &quotient, const Linear &rest) {
  const Linear &of = quotient.of;
  std::optional<int64_t> literal = IndexArithmetic::literal(quotient.divisor);
  bool mirrored = quotient.coefficient < 0;
  Linear x = mirrored ? negated(of) : of;
  std::optional<Linear> scaled;
  Value k = quotient.divisor;
  // Params have 40 bits.
  if (std::abs(quotient.coefficient) == 1 && literal && *literal <= (int64_t(1) << 20))
    scaled = scaleLinear(rest, *literal);
  else if (Linear r = withoutRows(rest); r.terms.empty() && !r.streamed && isIndex(of)) {
    Value factor = a.constant(std::abs(quotient.coefficient));
    r.lo = a.floorDiv(r.lo, factor);
    r.hi = a.floorDiv(r.hi, factor);
    // Products of what is beyond all indices would leave 64 bits.
    Value most = a.constant(int64_t(1) << 31), least = a.constant(-(int64_t(1) << 31));
    if (!literal)
      k = a.min(k, most);
    for (Value *end : {&r.lo, &r.hi})
      *end = a.max(a.min(*end, most), least);
    r.lo = a.mul(r.lo, k);
    r.hi = a.mul(r.hi, k);
    scaled = r;
  }
  if (!scaled)
    return std::nullopt;
  if (mirrored) {
    Value below = a.sub(k, a.constant(1));
    scaled->lo = a.add(scaled->lo, below);
    scaled->hi = a.add(scaled->hi, below);
  }
  return addLinear(*scaled, x);
}

MaskRef Integers::residueIsNotBelow(const Quotient &quotient, const Linear &rest) {
  Value k = quotient.divisor, one = a.constant(1);
  std::optional<int64_t> literal = IndexArithmetic::literal(k);
  bool isUnit = std::abs(quotient.coefficient) == 1;
  // x mod k = x - k floor(x / k): x may cancel.
  if (literal && rest.coefficientOf(tile.stream) != 0) {
    std::optional<Linear> whole = scaleLinear(quotient.of, quotient.coefficient);
    std::optional<Linear> left = whole ? addLinear(rest, *whole) : std::nullopt;
    int64_t factor = 0;
    if (left && left->coefficientOf(tile.stream) == 0 &&
        !llvm::MulOverflow(-quotient.coefficient, *literal, factor) &&
        std::abs(factor) <= Linear::maxCoefficient)
      return floorIsNotBelow({Quotient::Kind::Floor, factor, quotient.of, k}, *left);
  }
  Linear r = withoutRows(rest);
  if (!isUnit || !r.terms.empty() || !r.isExact())
    return withBounds(rest, quotient);
  auto nonNegative = [&](Value x) { return masks.nonNegative({{}, x, x}); };
  if (quotient.coefficient == 1) { // the residue is at least -r
    Value least = a.sub(a.constant(0), r.lo), count = a.sub(k, least);
    MaskRef within =
        masks.both(nonNegative(a.sub(count, one)), masks.residue(quotient.of, least, k, count));
    return masks.either(nonNegative(r.lo), within);
  }
  MaskRef within =
      masks.both(nonNegative(r.lo), masks.residue(quotient.of, a.constant(0), k, a.add(r.lo, one)));
  return masks.either(nonNegative(a.sub(r.lo, a.sub(k, one))), within);
}

} // namespace attnc
