// Bounds of linear expressions over a tile, and what masks say about it.
#ifndef ATTNC_COMPILER_TRANSFORMS_DOMAIN_TILE_BOUNDS_H
#define ATTNC_COMPILER_TRANSFORMS_DOMAIN_TILE_BOUNDS_H

#include "compiler/transforms/domain/index_arithmetic.h"
#include "compiler/transforms/domain/masks.h"

namespace attnc {

/// The first and the last index of a dim within a tile.
struct TileRange {
  mlir::Value first, last;
};

/// A tile: the ranges of the grid, row and stream dims, arguments of the domain's block.
class Tile {
public:
  Tile(IndexArithmetic &a, mlir::StringAttr stream) : stream(stream), a(a) {}

  void bind(mlir::StringAttr dim, TileRange range) { ranges[dim] = range; }
  /// Null values for a dim that the tile has not.
  TileRange range(mlir::StringAttr dim) const { return ranges.lookup(dim); }

  /// The largest (or smallest) value of `linear` over the tile, the term of dim `except` left out.
  mlir::Value bound(const Linear &linear, mlir::StringAttr except, bool upper) const;

  mlir::StringAttr stream;
  IndexArithmetic &a;

private:
  llvm::DenseMap<mlir::StringAttr, TileRange> ranges;
};

/// Emits what masks say about a tile. What a part says is emitted once, so the masks have to
/// outlive the emitter.
class MaskEmitter {
public:
  MaskEmitter(const Tile &tile, Masks &masks) : tile(tile), a(tile.a), masks(masks) {}

  /// i1: the mask holds for every element of the tile, as far as this is known.
  mlir::Value holdsEverywhere(const Mask &mask);
  /// i1: the mask may hold for some element of the tile.
  mlir::Value holdsSomewhere(const Mask &mask);

  /// An interval [lo, hi) of the indices of the stream outside of which the mask holds for no row
  /// of the tile; null values where there is no bound.
  struct Interval {
    mlir::Value lo, hi;
  };
  Interval hull(const Mask &mask);

  /// True if the mask may hold nowhere on tiles that the hull does not leave out.
  bool hasHoles(const Mask &mask);

private:
  mlir::Value emitHoldsEverywhere(const Mask &mask);
  mlir::Value emitHoldsSomewhere(const Mask &mask);
  Interval emitHull(const Mask &mask);
  Interval hullOfComparison(const Linear &linear);
  Interval unite(Interval x, Interval y);
  static mlir::Value mayHold(const Mask &literal, const Tile &tile);
  static mlir::Value residueOf(const Mask &mask, const Tile &tile);

  // mask_cells.cpp: conditions of which each covers a part of a tile.
  using Cell = llvm::SmallVector<const Mask *>;
  using Cells = llvm::SmallVector<Cell>;
  static bool isDecidedAtCorner(const Mask &mask);
  static std::optional<Cells> cellsOf(const Mask &mask);
  MaskRef negated(const Mask &mask);
  mlir::Value holdsInCell(const Cell &cell);
  mlir::Value holdsInSomeCell(const Cells &cells);

  const Tile &tile;
  IndexArithmetic &a;
  Masks &masks;
  llvm::DenseMap<const Mask *, mlir::Value> everywhere, somewhere;
  llvm::DenseMap<const Mask *, Interval> hulls;
  llvm::DenseMap<const Mask *, bool> holes;
  llvm::DenseMap<const Mask *, MaskRef> negations;
};

} // namespace attnc

#endif
