// Integer expressions of the indices: what can be compared in closed form, and bounds of the rest.
#ifndef ATTNC_COMPILER_TRANSFORMS_DOMAIN_INTEGERS_H
#define ATTNC_COMPILER_TRANSFORMS_DOMAIN_INTEGERS_H

#include "compiler/transforms/domain/tile_bounds.h"

namespace attnc {

struct Integer;
/// Null for an expression of which nothing is known.
using IntegerRef = std::shared_ptr<const Integer>;

/// coefficient * floor(of / divisor), or coefficient * (of mod divisor). The divisor is the same
/// for all of the nest and positive.
struct Quotient {
  enum class Kind { Floor, Mod };
  Kind kind;
  int64_t coefficient;
  Linear of;
  mlir::Value divisor;
};

/// A sum, or the max, min, or choice of two expressions.
struct Integer {
  enum class Kind { Sum, Max, Min, Select };
  Kind kind = Kind::Sum;
  Linear linear; ///< Sum: this and the quotients
  llvm::SmallVector<Quotient, 1> quotients;
  MaskRef yes, no; ///< Select: where the first and where the second may be taken
  llvm::SmallVector<IntegerRef, 2> args;
  unsigned sums = 1; ///< in it
  /// Values that are not negative where what is said about the expression holds: that a divisor is
  /// positive, that data have few enough bits.
  llvm::SmallVector<Linear, 0> assumed;
};

/// The lowest and the highest value over a tile.
struct IntegerBounds {
  mlir::Value lo, hi;
  bool streamed; ///< known only given the tile of the stream
};

/// Makes integer expressions, and masks of comparisons of them.
class Integers {
public:
  Integers(const Tile &tile, Masks &masks) : tile(tile), a(tile.a), masks(masks) {}

  IntegerRef exact(mlir::Value value);
  IntegerRef index(mlir::StringAttr dim);
  IntegerRef within(IntegerBounds bounds);
  /// The same, where the bounds are data of any 64 bits.
  IntegerRef withinAny(IntegerBounds bounds);

  IntegerRef add(const IntegerRef &x, const IntegerRef &y);
  IntegerRef subtract(const IntegerRef &x, const IntegerRef &y);
  IntegerRef scale(const IntegerRef &x, int64_t factor);
  /// Bounds of x times what is the same for all of the nest's elements.
  IntegerRef multiply(const IntegerRef &x, mlir::Value factor);
  IntegerRef max(const IntegerRef &x, const IntegerRef &y);
  IntegerRef min(const IntegerRef &x, const IntegerRef &y);
  IntegerRef select(MaskRef yes, MaskRef no, const IntegerRef &x, const IntegerRef &y);
  /// `divisor` is exact; where it is not positive, comparisons of the result are unknown.
  IntegerRef floorDiv(const IntegerRef &x, mlir::Value divisor);
  IntegerRef mod(const IntegerRef &x, mlir::Value divisor);

  /// The value of an expression that is the same for all of the nest's elements; null for others.
  static mlir::Value exactValue(const IntegerRef &x);
  IntegerBounds bounds(const IntegerRef &x);

  /// Exact unless Unknown occurs; `x` and `y` may be null.
  MaskRef notBelow(const IntegerRef &x, const IntegerRef &y, int64_t gap); ///< x - y >= gap
  MaskRef equal(const IntegerRef &x, const IntegerRef &y, bool expected);

private:
  using Quotients = llvm::ArrayRef<Quotient>;

  bool isShort(mlir::Value value) const;
  bool isShort(const Integer &x) const;
  IntegerRef sum(Linear linear, Quotients quotients, llvm::ArrayRef<Linear> assumed);
  IntegerRef combine(const IntegerRef &x, const IntegerRef &y, bool minus);
  IntegerRef pair(Integer::Kind kind, const IntegerRef &x, const IntegerRef &y);
  IntegerRef divide(const IntegerRef &x, mlir::Value divisor, Quotient::Kind kind);
  IntegerRef eachSum(const IntegerRef &x, bool mirrored,
                     llvm::function_ref<IntegerRef(const IntegerRef &)> change);

  bool isStreamed(const Linear &linear) const;
  std::optional<Linear> addLinear(const Linear &x, const Linear &y, bool minus = false);
  std::optional<Linear> scaleLinear(Linear x, int64_t factor);
  Linear negated(const Linear &x) { return *scaleLinear(x, -1); }
  Linear shifted(Linear x, int64_t by);
  /// The terms of rows become part of the rest.
  Linear withoutRows(const Linear &x);
  IntegerBounds boundsOf(const Linear &linear);
  IntegerBounds boundsOf(const Quotient &quotient);

  MaskRef isNotNegative(const IntegerRef &x);
  MaskRef isZero(const IntegerRef &x, const IntegerRef &opposite, bool expected);
  MaskRef sumIsNotNegative(const Linear &linear, Quotients quotients);
  MaskRef floorIsNotBelow(const Quotient &quotient, const Linear &rest);
  MaskRef residueIsNotBelow(const Quotient &quotient, const Linear &rest);
  MaskRef withBounds(const Linear &linear, Quotients quotients);
  std::optional<Linear> floorAsLinear(const Quotient &quotient, const Linear &rest);
  std::optional<Linear> congruent(const Linear &linear, Quotients quotients, mlir::Value &residue);
  MaskRef hasResidue(const Linear &of, mlir::Value residue, mlir::Value divisor, bool expected);
  MaskRef asAssumed(const IntegerRef &x, MaskRef mask);

  const Tile &tile;
  IndexArithmetic &a;
  Masks &masks;
};

} // namespace attnc

#endif
