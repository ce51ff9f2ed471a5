// Tiles that are full because several conditions hold, each for a part of the tile: what is left
// over by all of them is a union of cells, and each cell is empty.
#include "compiler/transforms/domain/tile_bounds.h"

using namespace mlir;

namespace attnc {

// More of them would cost more than partial tiles do.
static constexpr size_t kMostCells = 8, kMostLiterals = 12;

static bool isCombination(const Mask &mask) {
  return mask.kind == Mask::Kind::And || mask.kind == Mask::Kind::Or;
}

// True if all comparisons grow (or fall) with an index together: one corner of the tile has the
// least of each, and decides for all of the tile, however they are combined.
bool MaskEmitter::isDecidedAtCorner(const Mask &mask) {
  llvm::DenseMap<StringAttr, bool> grows;
  llvm::SmallDenseSet<const Mask *> seen;
  SmallVector<const Mask *> work = {&mask};
  while (!work.empty()) {
    const Mask *next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (next->kind == Mask::Kind::Residue)
      return false;
    for (auto [dim, coefficient] : next->linear.terms)
      if (grows.try_emplace(dim, coefficient > 0).first->second != coefficient > 0)
        return false;
    for (const MaskRef &arg : next->args)
      work.push_back(arg.get());
  }
  return true;
}

MaskRef MaskEmitter::negated(const Mask &mask) {
  if (MaskRef known = negations.lookup(&mask))
    return known;
  auto negate = [&]() -> MaskRef {
    switch (mask.kind) {
    case Mask::Kind::True:
    case Mask::Kind::False:
      return masks.constant(mask.kind == Mask::Kind::False);
    case Mask::Kind::Unknown:
      return masks.unknown();
    case Mask::Kind::NonNegative: { // x < 0 is -1 - x >= 0
      Linear linear = mask.linear;
      for (auto &[dim, coefficient] : linear.terms)
        coefficient = -coefficient;
      linear.lo = a.sub(a.constant(-1), mask.linear.hi);
      linear.hi = a.sub(a.constant(-1), mask.linear.lo);
      return masks.nonNegative(std::move(linear));
    }
    case Mask::Kind::Residue: // the residues from `count` on
      return masks.residue(mask.linear, a.add(mask.start, mask.count), mask.modulus,
                           a.sub(mask.modulus, mask.count));
    case Mask::Kind::And:
      return masks.either(negated(*mask.args[0]), negated(*mask.args[1]));
    case Mask::Kind::Or:
      return masks.both(negated(*mask.args[0]), negated(*mask.args[1]));
    }
    llvm_unreachable("all kinds are listed");
  };
  MaskRef result = negate();
  negations[&mask] = result;
  return result;
}

// The mask as a union of conjunctions; nothing if they are too many.
std::optional<MaskEmitter::Cells> MaskEmitter::cellsOf(const Mask &mask) {
  if (mask.kind == Mask::Kind::False)
    return Cells();
  if (!isCombination(mask))
    return Cells{Cell{&mask}};
  std::optional<Cells> x = cellsOf(*mask.args[0]);
  std::optional<Cells> y = x ? cellsOf(*mask.args[1]) : std::nullopt;
  if (!y)
    return std::nullopt;
  if (mask.kind == Mask::Kind::Or) {
    llvm::append_range(*x, *y);
    return x->size() > kMostCells ? std::nullopt : x;
  }
  Cells product;
  for (const Cell &p : *x)
    for (const Cell &q : *y) {
      Cell both = p;
      for (const Mask *literal : q)
        if (!llvm::is_contained(both, literal))
          both.push_back(literal);
      if (both.size() > kMostLiterals || product.size() == kMostCells)
        return std::nullopt;
      product.push_back(std::move(both));
    }
  return product;
}

// x and y are -x + a constant: both are at least 0 for no value if that is negative.
static bool areOpposite(const Linear &x, const Linear &y) {
  return !x.terms.empty() && x.terms.size() == y.terms.size() &&
         llvm::all_of(x.terms,
                      [&](auto &term) { return y.coefficientOf(term.first) == -term.second; });
}

// i1: all of the conditions may hold for one element of the tile. Those on one index leave a part
// of its range, in which the others are looked at.
Value MaskEmitter::holdsInCell(const Cell &cell) {
  Tile rest = tile;
  SmallVector<StringAttr> cut;
  SmallVector<const Mask *> others;
  for (const Mask *literal : cell) {
    const Linear &linear = literal->linear;
    if (literal->kind != Mask::Kind::NonNegative || linear.terms.size() != 1) {
      others.push_back(literal);
      continue;
    }
    auto [dim, coefficient] = linear.terms.front();
    TileRange range = rest.range(dim);
    Value divisor = a.constant(std::abs(coefficient));
    if (coefficient > 0) {
      Value least = a.sub(a.constant(0), linear.hi);
      range.first = a.max(range.first, coefficient == 1 ? least : a.ceilDiv(least, divisor));
    } else {
      range.last =
          a.min(range.last, coefficient == -1 ? linear.hi : a.floorDiv(linear.hi, divisor));
    }
    rest.bind(dim, range);
    if (!llvm::is_contained(cut, dim))
      cut.push_back(dim);
  }
  Value holds = a.boolean(true);
  for (StringAttr dim : cut)
    holds = a.both(holds, a.notNegative(a.sub(rest.range(dim).last, rest.range(dim).first)));
  for (auto [i, literal] : llvm::enumerate(others)) {
    holds = a.both(holds, mayHold(*literal, rest));
    for (const Mask *before : ArrayRef(others).take_front(i))
      if (literal->kind == Mask::Kind::NonNegative && before->kind == Mask::Kind::NonNegative &&
          areOpposite(literal->linear, before->linear))
        holds = a.both(holds, a.notNegative(a.add(literal->linear.hi, before->linear.hi)));
  }
  return holds;
}

Value MaskEmitter::holdsInSomeCell(const Cells &cells) {
  Value some = a.boolean(false);
  for (const Cell &cell : cells)
    some = a.either(some, holdsInCell(cell));
  return some;
}

} // namespace attnc
