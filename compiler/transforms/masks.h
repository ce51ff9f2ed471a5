// Masks as data: boolean combinations of comparisons of integer expressions that are linear in the
// indices, and what they say about a tile of rows and stream indices.
#ifndef ATTNC_COMPILER_TRANSFORMS_MASKS_H
#define ATTNC_COMPILER_TRANSFORMS_MASKS_H

#include "dialects/Red/Red.h"
#include <memory>

namespace attnc {

/// sum of coefficient * index over dims, plus a rest known to lie in [lo, hi] (i64 values of the
/// domain's block).
struct Linear {
  /// Larger coefficients are not kept: with an index, which has 31 bits, they could leave 64 bits.
  static constexpr int64_t maxCoefficient = int64_t(1) << 31;

  llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>> terms;
  mlir::Value lo, hi;

  /// Adds `coefficient` * the index of `dim`; false if the sum is too large.
  [[nodiscard]] bool addTerm(mlir::StringAttr dim, int64_t coefficient);
};

/// A condition on the indices. Unknown stands for anything. Masks share their parts: what follows
/// them visits each part once, since a condition of n operations can have 2^n paths.
struct Mask {
  enum class Kind { True, False, Unknown, NonNegative, And, Or };
  Kind kind;
  Linear linear; ///< NonNegative: linear >= 0
  std::vector<std::shared_ptr<const Mask>> args;
  bool hasUnknown; ///< Unknown occurs in it
};
using MaskRef = std::shared_ptr<const Mask>;

MaskRef maskConstant(bool value);
MaskRef maskUnknown();
MaskRef maskNonNegative(Linear linear);
MaskRef maskAnd(MaskRef a, MaskRef b);
MaskRef maskOr(MaskRef a, MaskRef b);

/// The first and the last index of a dim within a tile.
struct TileRange {
  mlir::Value first, last;
};

/// Emits what masks say about a tile; `rangeOf` gives the tile's range along a dim. What a part
/// says is emitted once, so the masks have to outlive the emitter.
class MaskEmitter {
public:
  MaskEmitter(mlir::OpBuilder &b, mlir::Location loc,
              std::function<TileRange(mlir::StringAttr)> rangeOf)
      : b(b), loc(loc), rangeOf(std::move(rangeOf)) {}

  /// i1: the mask holds for every element of the tile.
  mlir::Value holdsEverywhere(const Mask &mask);

  /// An interval [lo, hi) of the indices of `stream` outside of which the mask holds for no row of
  /// the tile; null values where there is no bound.
  struct Interval {
    mlir::Value lo, hi;
  };
  Interval hull(const Mask &mask, mlir::StringAttr stream);

  mlir::Value constant(int64_t value);

private:
  mlir::Value bound(const Linear &linear, mlir::StringAttr except, bool upper);
  mlir::Value emitHoldsEverywhere(const Mask &mask);
  Interval emitHull(const Mask &mask, mlir::StringAttr stream);
  Interval hullOfComparison(const Linear &linear, mlir::StringAttr stream);

  mlir::OpBuilder &b;
  mlir::Location loc;
  std::function<TileRange(mlir::StringAttr)> rangeOf;
  llvm::DenseMap<const Mask *, mlir::Value> everywhere;
  llvm::DenseMap<std::pair<const Mask *, mlir::StringAttr>, Interval> hulls;
};

} // namespace attnc

#endif
