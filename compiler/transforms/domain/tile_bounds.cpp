#include "compiler/transforms/domain/tile_bounds.h"

using namespace mlir;

namespace attnc {

Value Tile::bound(const Linear &linear, StringAttr except, bool upper) const {
  Value total = upper ? linear.hi : linear.lo;
  for (auto [dim, coefficient] : linear.terms) {
    if (dim == except)
      continue;
    TileRange range = this->range(dim);
    Value index = (coefficient > 0) == upper ? range.last : range.first;
    if (coefficient == 1)
      total = a.add(total, index);
    else if (coefficient == -1)
      total = a.sub(total, index);
    else
      total = a.add(total, a.mul(index, a.constant(coefficient)));
  }
  return total;
}

//===----------------------------------------------------------------------===//
// On a tile
//===----------------------------------------------------------------------===//

Value MaskEmitter::holdsEverywhere(const Mask &mask) {
  if (Value known = everywhere.lookup(&mask))
    return known;
  Value value = emitHoldsEverywhere(mask);
  everywhere[&mask] = value;
  return value;
}

// How far the tile's smallest value is beyond the last one before it with the residue `start`.
Value MaskEmitter::residueOf(const Mask &mask, const Tile &tile) {
  IndexArithmetic &a = tile.a;
  return a.mod(a.sub(tile.bound(mask.linear, {}, /*upper=*/false), mask.start), mask.modulus);
}

Value MaskEmitter::emitHoldsEverywhere(const Mask &mask) {
  switch (mask.kind) {
  case Mask::Kind::True:
  case Mask::Kind::False:
  case Mask::Kind::Unknown:
    return a.boolean(mask.kind == Mask::Kind::True);
  case Mask::Kind::NonNegative:
    return a.notNegative(tile.bound(mask.linear, {}, /*upper=*/false));
  case Mask::Kind::Residue: {
    // All of the values from the smallest to the largest have a residue below `count`.
    Value length = a.sub(tile.bound(mask.linear, {}, /*upper=*/true),
                         tile.bound(mask.linear, {}, /*upper=*/false));
    Value last = a.add(residueOf(mask, tile), length);
    return a.notNegative(a.sub(a.sub(mask.count, a.constant(1)), last));
  }
  case Mask::Kind::And:
    return a.both(holdsEverywhere(*mask.args[0]), holdsEverywhere(*mask.args[1]));
  case Mask::Kind::Or:
    if (!isDecidedAtCorner(mask))
      if (std::optional<Cells> empty = cellsOf(*negated(mask)))
        return a.select(holdsInSomeCell(*empty), a.boolean(false), a.boolean(true));
    return a.either(holdsEverywhere(*mask.args[0]), holdsEverywhere(*mask.args[1]));
  }
  llvm_unreachable("all kinds are listed");
}

Value MaskEmitter::holdsSomewhere(const Mask &mask) {
  if (Value known = somewhere.lookup(&mask))
    return known;
  Value value = emitHoldsSomewhere(mask);
  somewhere[&mask] = value;
  return value;
}

Value MaskEmitter::emitHoldsSomewhere(const Mask &mask) {
  switch (mask.kind) {
  case Mask::Kind::True:
  case Mask::Kind::False:
  case Mask::Kind::Unknown:
  case Mask::Kind::NonNegative:
  case Mask::Kind::Residue:
    return mayHold(mask, tile);
  case Mask::Kind::And:
    return a.both(holdsSomewhere(*mask.args[0]), holdsSomewhere(*mask.args[1]));
  case Mask::Kind::Or:
    return a.either(holdsSomewhere(*mask.args[0]), holdsSomewhere(*mask.args[1]));
  }
  llvm_unreachable("all kinds are listed");
}

// i1: a mask that is no combination of others may hold for some element of the tile.
Value MaskEmitter::mayHold(const Mask &literal, const Tile &tile) {
  IndexArithmetic &a = tile.a;
  if (literal.kind == Mask::Kind::NonNegative)
    return a.notNegative(tile.bound(literal.linear, {}, /*upper=*/true));
  if (literal.kind != Mask::Kind::Residue)
    return a.boolean(literal.kind != Mask::Kind::False);
  // The smallest value has such a residue, or the next value that has it is within the tile.
  Value least = tile.bound(literal.linear, {}, /*upper=*/false);
  Value most = tile.bound(literal.linear, {}, /*upper=*/true);
  Value residue = residueOf(literal, tile);
  Value one = a.constant(1);
  Value first = a.notNegative(a.sub(a.sub(literal.count, one), residue));
  Value next = a.add(least, a.sub(literal.modulus, residue));
  Value some = a.both(a.notNegative(a.sub(literal.count, one)), a.notNegative(a.sub(most, next)));
  return a.either(first, some);
}

//===----------------------------------------------------------------------===//
// Along the stream
//===----------------------------------------------------------------------===//

// c * index + r >= 0 for some row: index >= ceil(-max r / c) if c > 0, index <= floor(max r / -c)
// if c < 0.
MaskEmitter::Interval MaskEmitter::hullOfComparison(const Linear &linear) {
  if (linear.streamed)
    return {};
  int64_t coefficient = linear.coefficientOf(tile.stream);
  Value most = tile.bound(linear, tile.stream, /*upper=*/true);
  if (coefficient == 0) {
    // All or nothing: an interval that ends at 0 if no row of the tile satisfies the condition.
    Value possible = a.notNegative(most);
    Value all = a.constant(std::numeric_limits<int64_t>::max());
    return {{}, a.select(possible, all, a.constant(0))};
  }
  if (coefficient > 0) {
    Value negated = a.sub(a.constant(0), most);
    return {coefficient == 1 ? negated : a.ceilDiv(negated, a.constant(coefficient)), {}};
  }
  Value last = coefficient == -1 ? most : a.floorDiv(most, a.constant(-coefficient));
  return {{}, a.add(last, a.constant(1))};
}

MaskEmitter::Interval MaskEmitter::hull(const Mask &mask) {
  if (auto known = hulls.find(&mask); known != hulls.end())
    return known->second;
  Interval interval = emitHull(mask);
  hulls[&mask] = interval;
  return interval;
}

// A side that ends at 0 holds nowhere, and does not pull the other one's begin down.
MaskEmitter::Interval MaskEmitter::unite(Interval x, Interval y) {
  auto beginBeside = [&](Interval open, Interval other) -> Value {
    if (!open.hi || !other.lo || open.lo)
      return {};
    Value some = a.notNegative(a.sub(open.hi, a.constant(1)));
    return a.select(some, a.min(other.lo, a.constant(0)), other.lo);
  };
  Interval both;
  if (x.lo && y.lo)
    both.lo = a.min(x.lo, y.lo);
  else if (Value lo = beginBeside(x, y))
    both.lo = lo;
  else
    both.lo = beginBeside(y, x);
  if (x.hi && y.hi)
    both.hi = a.max(x.hi, y.hi);
  return both;
}

MaskEmitter::Interval MaskEmitter::emitHull(const Mask &mask) {
  switch (mask.kind) {
  case Mask::Kind::True:
  case Mask::Kind::Unknown:
  case Mask::Kind::Residue:
    return {};
  case Mask::Kind::False:
    return {{}, a.constant(0)};
  case Mask::Kind::NonNegative:
    return hullOfComparison(mask.linear);
  case Mask::Kind::And: {
    Interval x = hull(*mask.args[0]), y = hull(*mask.args[1]);
    if (x.lo && y.lo)
      x.lo = a.max(x.lo, y.lo);
    if (x.hi && y.hi)
      x.hi = a.min(x.hi, y.hi);
    return {x.lo ? x.lo : y.lo, x.hi ? x.hi : y.hi};
  }
  case Mask::Kind::Or:
    return unite(hull(*mask.args[0]), hull(*mask.args[1]));
  }
  llvm_unreachable("all kinds are listed");
}

bool MaskEmitter::hasHoles(const Mask &mask) {
  if (auto known = holes.find(&mask); known != holes.end())
    return known->second;
  auto find = [&] {
    switch (mask.kind) {
    case Mask::Kind::True:
    case Mask::Kind::False:
    case Mask::Kind::Unknown:
      return false;
    case Mask::Kind::NonNegative:
      return mask.linear.streamed;
    case Mask::Kind::Residue:
      return true;
    case Mask::Kind::And:
      return hasHoles(*mask.args[0]) || hasHoles(*mask.args[1]);
    case Mask::Kind::Or: {
      Interval x = hull(*mask.args[0]), y = hull(*mask.args[1]);
      // Where one side has no bound at all there is nothing between the two; two intervals that
      // both begin (or both end) with the stream have nothing between them either.
      bool unbounded = (!x.lo && !x.hi) || (!y.lo && !y.hi);
      bool nested = (!x.lo && !y.lo) || (!x.hi && !y.hi);
      return hasHoles(*mask.args[0]) || hasHoles(*mask.args[1]) || !(unbounded || nested);
    }
    }
    llvm_unreachable("all kinds are listed");
  };
  bool found = find();
  holes[&mask] = found;
  return found;
}

} // namespace attnc
