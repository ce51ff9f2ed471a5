#include "compiler/transforms/domain/integers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {

// Comparisons of an expression take it apart into its sums.
static constexpr unsigned kMostSums = 16;

//===----------------------------------------------------------------------===//
// Linear parts
//===----------------------------------------------------------------------===//

bool Integers::isStreamed(const Linear &linear) const {
  return linear.streamed || linear.coefficientOf(tile.stream) != 0;
}

std::optional<Linear> Integers::addLinear(const Linear &x, const Linear &y, bool minus) {
  if (x.isProduct && y.isProduct)
    return std::nullopt;
  Linear sum = x;
  for (auto [dim, c] : y.terms)
    if (!sum.addTerm(dim, minus ? -c : c))
      return std::nullopt;
  sum.lo = minus ? a.sub(x.lo, y.hi) : a.add(x.lo, y.lo);
  sum.hi = minus ? a.sub(x.hi, y.lo) : a.add(x.hi, y.hi);
  sum.streamed |= y.streamed;
  sum.isProduct |= y.isProduct;
  sum.farApart |= y.farApart;
  return sum;
}

std::optional<Linear> Integers::scaleLinear(Linear x, int64_t factor) {
  if (factor == 0)
    return Linear{{}, a.constant(0), a.constant(0)};
  if (x.isProduct && std::abs(factor) != 1)
    return std::nullopt;
  for (auto &[dim, c] : x.terms)
    if (llvm::MulOverflow(c, factor, c) || c > Linear::maxCoefficient ||
        c < -Linear::maxCoefficient)
      return std::nullopt;
  if (factor < 0)
    std::swap(x.lo, x.hi);
  for (Value *end : {&x.lo, &x.hi})
    *end = factor == -1 ? a.sub(a.constant(0), *end) : a.mul(*end, a.constant(factor));
  return x;
}

Linear Integers::shifted(Linear x, int64_t by) {
  for (Value *end : {&x.lo, &x.hi})
    if (by < 0)
      *end = a.sub(*end, a.constant(-by));
    else if (by > 0)
      *end = a.add(*end, a.constant(by));
  return x;
}

Linear Integers::withoutRows(const Linear &x) {
  Linear result{
      {}, tile.bound(x, tile.stream, false), tile.bound(x, tile.stream, true), x.streamed};
  if (int64_t coefficient = x.coefficientOf(tile.stream))
    result.terms.push_back({tile.stream, coefficient});
  return result;
}

IntegerBounds Integers::boundsOf(const Linear &linear) {
  return {tile.bound(linear, {}, false), tile.bound(linear, {}, true), isStreamed(linear)};
}

IntegerBounds Integers::boundsOf(const Quotient &quotient) {
  IntegerBounds of = boundsOf(quotient.of);
  Value first = a.floorDiv(of.lo, quotient.divisor), last = a.floorDiv(of.hi, quotient.divisor);
  IntegerBounds result{first, last, of.streamed};
  if (quotient.kind == Quotient::Kind::Mod) {
    // All residues occur unless the tile lies between two multiples.
    Value base = a.mul(first, quotient.divisor), zero = a.constant(0);
    Value together = a.notNegative(a.sub(first, last));
    result.lo = a.select(together, a.sub(of.lo, base), zero);
    result.hi = a.select(together, a.sub(of.hi, base), a.sub(quotient.divisor, a.constant(1)));
  }
  if (quotient.coefficient < 0)
    std::swap(result.lo, result.hi);
  if (quotient.coefficient == 1)
    return result;
  Value factor = a.constant(quotient.coefficient);
  return {a.mul(result.lo, factor), a.mul(result.hi, factor), of.streamed};
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

IntegerRef Integers::sum(Linear linear, Quotients quotients, ArrayRef<Linear> assumed) {
  Integer result;
  result.linear = std::move(linear);
  for (const Quotient &q : quotients) {
    auto *same = llvm::find_if(result.quotients, [&](const Quotient &known) {
      return known.kind == q.kind && IndexArithmetic::same(known.divisor, q.divisor) &&
             known.of.terms == q.of.terms && IndexArithmetic::same(known.of.lo, q.of.lo) &&
             known.of.isExact() && q.of.isExact();
    });
    if (same == result.quotients.end())
      result.quotients.push_back(q);
    else if (llvm::AddOverflow(same->coefficient, q.coefficient, same->coefficient))
      return nullptr;
    else if (same->coefficient == 0)
      result.quotients.erase(same);
  }
  result.assumed.append(assumed.begin(), assumed.end());
  return std::make_shared<const Integer>(std::move(result));
}

IntegerRef Integers::exact(Value value) { return sum({{}, value, value}, {}, {}); }

IntegerRef Integers::index(StringAttr dim) {
  return sum({{{dim, 1}}, a.constant(0), a.constant(0)}, {}, {});
}

IntegerRef Integers::within(IntegerBounds bounds) {
  return sum({{}, bounds.lo, bounds.hi, bounds.streamed}, {}, {});
}

// Sums and differences of a few values of so many bits stay within 64 bits, products with the
// coefficients that are kept do too.
IntegerRef Integers::withinAny(IntegerBounds bounds) {
  constexpr int64_t most = int64_t(1) << 31;
  Linear above{{}, a.add(bounds.lo, a.constant(most)), {}, bounds.streamed};
  Linear below{{}, a.sub(a.constant(most), bounds.hi), {}, bounds.streamed};
  above.hi = above.lo;
  below.hi = below.lo;
  return sum({{}, bounds.lo, bounds.hi, bounds.streamed}, {}, {above, below});
}

IntegerRef Integers::pair(Integer::Kind kind, const IntegerRef &x, const IntegerRef &y) {
  if (!x || !y || x->sums + y->sums > kMostSums)
    return nullptr;
  Integer result;
  result.kind = kind;
  result.args = {x, y};
  result.sums = x->sums + y->sums;
  for (const IntegerRef &arg : {x, y})
    result.assumed.append(arg->assumed.begin(), arg->assumed.end());
  return std::make_shared<const Integer>(std::move(result));
}

// Applies `change`, which commutes with the order (or, mirrored, turns it around), to each sum.
IntegerRef Integers::eachSum(const IntegerRef &x, bool mirrored,
                             llvm::function_ref<IntegerRef(const IntegerRef &)> change) {
  if (!x || x->kind == Integer::Kind::Sum)
    return x ? change(x) : nullptr;
  IntegerRef first = eachSum(x->args[0], mirrored, change);
  IntegerRef second = eachSum(x->args[1], mirrored, change);
  switch (x->kind) {
  case Integer::Kind::Max:
    return mirrored ? min(first, second) : max(first, second);
  case Integer::Kind::Min:
    return mirrored ? max(first, second) : min(first, second);
  default:
    return select(x->yes, x->no, first, second);
  }
}

IntegerRef Integers::combine(const IntegerRef &x, const IntegerRef &y, bool minus) {
  if (!x || !y || x->sums * y->sums > kMostSums)
    return nullptr;
  return eachSum(x, false, [&](const IntegerRef &p) {
    return eachSum(y, minus, [&](const IntegerRef &q) -> IntegerRef {
      std::optional<Linear> linear = addLinear(p->linear, q->linear, minus);
      if (!linear)
        return nullptr;
      SmallVector<Quotient> quotients(p->quotients.begin(), p->quotients.end());
      for (Quotient quotient : q->quotients) {
        quotient.coefficient *= minus ? -1 : 1;
        quotients.push_back(quotient);
      }
      SmallVector<Linear> assumed(p->assumed.begin(), p->assumed.end());
      for (const Linear &other : q->assumed)
        if (llvm::none_of(assumed, [&](const Linear &known) {
              return IndexArithmetic::same(known.lo, other.lo);
            }))
          assumed.push_back(other);
      return sum(*linear, quotients, assumed);
    });
  });
}

IntegerRef Integers::add(const IntegerRef &x, const IntegerRef &y) { return combine(x, y, false); }

IntegerRef Integers::subtract(const IntegerRef &x, const IntegerRef &y) {
  return combine(x, y, true);
}

IntegerRef Integers::scale(const IntegerRef &x, int64_t factor) {
  return eachSum(x, factor < 0, [&](const IntegerRef &p) -> IntegerRef {
    std::optional<Linear> linear = scaleLinear(p->linear, factor);
    if (!linear)
      return nullptr;
    SmallVector<Quotient> quotients(p->quotients.begin(), p->quotients.end());
    for (Quotient &q : quotients)
      if (llvm::MulOverflow(q.coefficient, factor, q.coefficient) ||
          std::abs(q.coefficient) > Linear::maxCoefficient)
        return nullptr;
    llvm::erase_if(quotients, [](const Quotient &q) { return q.coefficient == 0; });
    return sum(*linear, quotients, p->assumed);
  });
}

// Whether a number that is the same for all elements has 31 bits: a literal, or the extent of a dim
// that has tiles, over a literal or not.
bool Integers::isShort(Value value) const {
  if (std::optional<int64_t> literal = IndexArithmetic::literal(value))
    return std::abs(*literal) < int64_t(1) << 31;
  if (auto quotient = value.getDefiningOp<arith::FloorDivSIOp>()) {
    std::optional<int64_t> divisor = IndexArithmetic::literal(quotient.getRhs());
    return divisor && *divisor > 0 && isShort(quotient.getLhs());
  }
  auto scalar = value.getDefiningOp<red::ScalarOp>();
  auto size = scalar ? scalar.getArray().getDefiningOp<attn::SizeOp>() : attn::SizeOp();
  TileRange range = size ? tile.range(size.getDimAttr()) : TileRange();
  return range.first && range.first != range.last;
}

// Whether it is an index that has a tile, give or take a literal.
bool Integers::isShort(const Integer &x) const {
  std::optional<int64_t> rest = IndexArithmetic::literal(x.linear.lo);
  return x.kind == Integer::Kind::Sum && x.quotients.empty() && x.linear.terms.size() <= 1 &&
         x.linear.isExact() && rest && std::abs(*rest) < int64_t(1) << 12 &&
         (x.linear.terms.empty() || std::abs(x.linear.terms.front().second) == 1);
}

// Nothing is known of the factor's sign. What may have more bits is assumed to have 32.
IntegerRef Integers::multiply(const IntegerRef &x, Value factor) {
  if (!x)
    return nullptr;
  IntegerBounds of = bounds(x);
  Value first = a.mul(of.lo, factor), last = a.mul(of.hi, factor);
  SmallVector<Linear> assumed(x->assumed.begin(), x->assumed.end());
  if (!isShort(factor))
    llvm::append_range(assumed, withinAny({factor, factor, false})->assumed);
  if (!isShort(*x))
    llvm::append_range(assumed, withinAny(of)->assumed);
  Linear product{{}, a.min(first, last), a.max(first, last), of.streamed};
  product.isProduct = true;
  product.farApart = !of.streamed && !IndexArithmetic::same(of.lo, of.hi);
  return sum(product, {}, assumed);
}

Value Integers::exactValue(const IntegerRef &x) {
  bool isExact = x && x->kind == Integer::Kind::Sum && x->quotients.empty() &&
                 x->linear.terms.empty() && x->linear.isExact() && x->assumed.empty();
  return isExact ? x->linear.lo : Value();
}

IntegerRef Integers::max(const IntegerRef &x, const IntegerRef &y) {
  if (Value p = exactValue(x), q = exactValue(y); p && q)
    return exact(a.max(p, q));
  return pair(Integer::Kind::Max, x, y);
}

IntegerRef Integers::min(const IntegerRef &x, const IntegerRef &y) {
  if (Value p = exactValue(x), q = exactValue(y); p && q)
    return exact(a.min(p, q));
  return pair(Integer::Kind::Min, x, y);
}

IntegerRef Integers::select(MaskRef yes, MaskRef no, const IntegerRef &x, const IntegerRef &y) {
  IntegerRef both = pair(Integer::Kind::Select, x, y);
  if (!both)
    return nullptr;
  Integer result = *both;
  result.yes = std::move(yes);
  result.no = std::move(no);
  return std::make_shared<const Integer>(std::move(result));
}

// The least value that is proven: 1 for what is certainly positive.
static bool isPositive(Value divisor) {
  if (std::optional<int64_t> literal = IndexArithmetic::literal(divisor))
    return *literal > 0;
  if (auto scalar = divisor.getDefiningOp<red::ScalarOp>()) {
    auto param = scalar.getArray().getDefiningOp<attn::ParamOp>();
    return param && param.getLower() && param.getLower()->convertToDouble() >= 1;
  }
  auto max = divisor.getDefiningOp<arith::MaxSIOp>();
  return max && (isPositive(max.getLhs()) || isPositive(max.getRhs()));
}

IntegerRef Integers::divide(const IntegerRef &x, Value divisor, Quotient::Kind kind) {
  if (!x)
    return nullptr;
  std::optional<int64_t> literal = IndexArithmetic::literal(divisor);
  if (literal && *literal <= 0)
    return nullptr;
  Value proven = divisor;
  SmallVector<Linear> assumed;
  if (!isPositive(divisor)) {
    proven = a.max(divisor, a.constant(1));
    assumed.push_back(shifted({{}, divisor, divisor}, -1));
  }
  return eachSum(x, false, [&](const IntegerRef &p) -> IntegerRef {
    Linear of = p->linear;
    SmallVector<Linear> all(p->assumed.begin(), p->assumed.end());
    all.append(assumed);
    if (!p->quotients.empty()) {
      IntegerBounds known = bounds(p);
      of = {{}, known.lo, known.hi, known.streamed, p->linear.isProduct};
    }
    Quotient quotient{kind, 1, of, proven};
    // What the rows leave is a range; only residues are compared with others as they are.
    if (of.terms.empty() || (kind == Quotient::Kind::Floor && !of.coefficientOf(tile.stream))) {
      IntegerBounds known = boundsOf(quotient);
      if (kind == Quotient::Kind::Mod && of.isExact())
        known.lo = known.hi = a.mod(of.lo, proven);
      return sum({{}, known.lo, known.hi, known.streamed, of.isProduct}, {}, all);
    }
    if (of.isProduct) // what is taken times a quotient has fewer bits
      return nullptr;
    return sum({{}, a.constant(0), a.constant(0)}, quotient, all);
  });
}

IntegerRef Integers::floorDiv(const IntegerRef &x, Value divisor) {
  return divide(x, divisor, Quotient::Kind::Floor);
}

// A residue does not keep the order: of a choice it is not the choice of residues.
IntegerRef Integers::mod(const IntegerRef &x, Value divisor) {
  if (!x || x->kind == Integer::Kind::Max || x->kind == Integer::Kind::Min)
    return nullptr;
  return divide(x, divisor, Quotient::Kind::Mod);
}

IntegerBounds Integers::bounds(const IntegerRef &x) {
  if (x->kind != Integer::Kind::Sum) {
    IntegerBounds p = bounds(x->args[0]), q = bounds(x->args[1]);
    bool streamed = p.streamed || q.streamed;
    if (x->kind == Integer::Kind::Max)
      return {a.max(p.lo, q.lo), a.max(p.hi, q.hi), streamed};
    if (x->kind == Integer::Kind::Min)
      return {a.min(p.lo, q.lo), a.min(p.hi, q.hi), streamed};
    return {a.min(p.lo, q.lo), a.max(p.hi, q.hi), streamed};
  }
  IntegerBounds total = boundsOf(x->linear);
  for (const Quotient &q : x->quotients) {
    IntegerBounds part = boundsOf(q);
    total = {a.add(total.lo, part.lo), a.add(total.hi, part.hi), total.streamed || part.streamed};
  }
  return total;
}

} // namespace attnc
