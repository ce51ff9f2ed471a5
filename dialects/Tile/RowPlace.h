// What ops say of rows that lie anywhere in a tensor.
#ifndef ATTNC_DIALECTS_TILE_ROWPLACE_H
#define ATTNC_DIALECTS_TILE_ROWPLACE_H

#include "dialects/Tile/Tile.h"

namespace attnc::tile {

/// Of tile.copy_rows, and tile.fetch with `rows`: what the block yields, and the run of a tile.
llvm::LogicalResult verifyRowPlace(mlir::Operation *op, mlir::Block &rows, int64_t run,
                                   SharedType tile);

} // namespace attnc::tile

#endif
