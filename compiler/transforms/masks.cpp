#include "compiler/transforms/masks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {

bool Linear::addTerm(StringAttr dim, int64_t coefficient) {
  auto *term = llvm::find_if(terms, [&](auto &known) { return known.first == dim; });
  if (term == terms.end())
    term = &terms.emplace_back(dim, 0);
  int64_t sum = 0;
  if (llvm::AddOverflow(term->second, coefficient, sum) || sum > maxCoefficient ||
      sum < -maxCoefficient)
    return false;
  term->second = sum;
  if (sum == 0)
    terms.erase(term);
  return true;
}

static MaskRef make(Mask::Kind kind, Linear linear = {}, std::vector<MaskRef> args = {}) {
  bool hasUnknown = kind == Mask::Kind::Unknown ||
                    llvm::any_of(args, [](const MaskRef &arg) { return arg->hasUnknown; });
  return std::make_shared<const Mask>(Mask{kind, std::move(linear), std::move(args), hasUnknown});
}

MaskRef maskConstant(bool value) { return make(value ? Mask::Kind::True : Mask::Kind::False); }
MaskRef maskUnknown() { return make(Mask::Kind::Unknown); }
MaskRef maskNonNegative(Linear linear) { return make(Mask::Kind::NonNegative, std::move(linear)); }

MaskRef maskAnd(MaskRef a, MaskRef b) {
  if (a == b || a->kind == Mask::Kind::True || b->kind == Mask::Kind::False)
    return b;
  if (b->kind == Mask::Kind::True || a->kind == Mask::Kind::False)
    return a;
  return make(Mask::Kind::And, {}, {a, b});
}

MaskRef maskOr(MaskRef a, MaskRef b) {
  if (a == b || a->kind == Mask::Kind::False || b->kind == Mask::Kind::True)
    return b;
  if (b->kind == Mask::Kind::False || a->kind == Mask::Kind::True)
    return a;
  return make(Mask::Kind::Or, {}, {a, b});
}

Value MaskEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

// The largest (or smallest) value over the tile, the term of dim `except` left out.
Value MaskEmitter::bound(const Linear &linear, StringAttr except, bool upper) {
  Value total = upper ? linear.hi : linear.lo;
  for (auto [dim, coefficient] : linear.terms) {
    if (dim == except)
      continue;
    TileRange range = rangeOf(dim);
    Value index = (coefficient > 0) == upper ? range.last : range.first;
    if (coefficient == 1)
      total = b.createOrFold<arith::AddIOp>(loc, total, index);
    else if (coefficient == -1)
      total = b.createOrFold<arith::SubIOp>(loc, total, index);
    else
      total = b.createOrFold<arith::AddIOp>(
          loc, total, b.createOrFold<arith::MulIOp>(loc, index, constant(coefficient)));
  }
  return total;
}

Value MaskEmitter::holdsEverywhere(const Mask &mask) {
  if (Value known = everywhere.lookup(&mask))
    return known;
  Value value = emitHoldsEverywhere(mask);
  everywhere[&mask] = value;
  return value;
}

Value MaskEmitter::emitHoldsEverywhere(const Mask &mask) {
  switch (mask.kind) {
  case Mask::Kind::True:
  case Mask::Kind::False:
  case Mask::Kind::Unknown:
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(mask.kind == Mask::Kind::True));
  case Mask::Kind::NonNegative:
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                 bound(mask.linear, {}, /*upper=*/false), constant(0));
  case Mask::Kind::And:
  case Mask::Kind::Or: {
    Value x = holdsEverywhere(*mask.args[0]), y = holdsEverywhere(*mask.args[1]);
    if (mask.kind == Mask::Kind::And)
      return b.createOrFold<arith::AndIOp>(loc, x, y);
    return b.createOrFold<arith::OrIOp>(loc, x, y);
  }
  }
  return {};
}

// c * index + r >= 0 for some row: index >= ceil(-max r / c) if c > 0, index <= floor(max r / -c)
// if c < 0.
MaskEmitter::Interval MaskEmitter::hullOfComparison(const Linear &linear, StringAttr stream) {
  int64_t coefficient = 0;
  for (auto [dim, c] : linear.terms)
    if (dim == stream)
      coefficient = c;
  Value most = bound(linear, stream, /*upper=*/true);
  if (coefficient == 0) {
    // All or nothing: an interval that ends at 0 if no row of the tile satisfies the condition.
    Value possible = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, most, constant(0));
    Value all = constant(std::numeric_limits<int64_t>::max());
    return {{}, arith::SelectOp::create(b, loc, possible, all, constant(0))};
  }
  if (coefficient > 0) {
    Value negated = b.createOrFold<arith::SubIOp>(loc, constant(0), most);
    if (coefficient == 1)
      return {negated, {}};
    return {b.createOrFold<arith::CeilDivSIOp>(loc, negated, constant(coefficient)), {}};
  }
  Value last = coefficient == -1
                   ? most
                   : b.createOrFold<arith::FloorDivSIOp>(loc, most, constant(-coefficient));
  return {{}, b.createOrFold<arith::AddIOp>(loc, last, constant(1))};
}

MaskEmitter::Interval MaskEmitter::hull(const Mask &mask, StringAttr stream) {
  if (auto known = hulls.find({&mask, stream}); known != hulls.end())
    return known->second;
  Interval interval = emitHull(mask, stream);
  hulls[{&mask, stream}] = interval;
  return interval;
}

MaskEmitter::Interval MaskEmitter::emitHull(const Mask &mask, StringAttr stream) {
  switch (mask.kind) {
  case Mask::Kind::True:
  case Mask::Kind::Unknown:
    return {};
  case Mask::Kind::False:
    return {{}, constant(0)};
  case Mask::Kind::NonNegative:
    return hullOfComparison(mask.linear, stream);
  case Mask::Kind::And: {
    Interval x = hull(*mask.args[0], stream), y = hull(*mask.args[1], stream);
    if (x.lo && y.lo)
      x.lo = b.createOrFold<arith::MaxSIOp>(loc, x.lo, y.lo);
    if (x.hi && y.hi)
      x.hi = b.createOrFold<arith::MinSIOp>(loc, x.hi, y.hi);
    return {x.lo ? x.lo : y.lo, x.hi ? x.hi : y.hi};
  }
  case Mask::Kind::Or: {
    Interval x = hull(*mask.args[0], stream), y = hull(*mask.args[1], stream), both;
    if (x.lo && y.lo)
      both.lo = b.createOrFold<arith::MinSIOp>(loc, x.lo, y.lo);
    if (x.hi && y.hi)
      both.hi = b.createOrFold<arith::MaxSIOp>(loc, x.hi, y.hi);
    return both;
  }
  }
  return {};
}

} // namespace attnc
