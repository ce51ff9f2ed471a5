// The cells of which the weights lie in memory at a time.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_CELLS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_CELLS_H

#include "compiler/schedule/slab/store_weights.h"

namespace attnc::schedule {

/// The let of a manifest that says which slab is at hand: 0, 1, ...
inline constexpr llvm::StringLiteral kSlabIndex = "slab";

/// True of values that lie in the slab: results with a row and a stream index of a nest of it.
bool liesInSlab(mlir::Value result);

/// As tile.kernel's grid writes it, of a nest with kSlabAttr: the cells of its grid, the bytes of
/// one in the slab, how many lie in the slab at a time, how many slabs there are; and the first of
/// the slab at hand, and the end of those.
struct SlabCells {
  mlir::Attribute all, bytes, together, slabs, first, end;
};
SlabCells slabCells(red::NestOp nest);

} // namespace attnc::schedule

#endif
