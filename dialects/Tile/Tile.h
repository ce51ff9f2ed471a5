// The tile dialect: scheduled kernels; nothing left to decide. See docs/rationale/tile.md.
#ifndef ATTNC_DIALECTS_TILE_TILE_H
#define ATTNC_DIALECTS_TILE_TILE_H

#include "dialects/Attn/Attn.h"
#include "dialects/Tile/Schedules.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

namespace attnc::tile {

/// The columns of a shared tile with its padding: rows take a multiple of 32 bytes, a step of the
/// mma atoms.
int64_t paddedWidth(int64_t cols, mlir::Type element);

/// Whether the f32 of a fragment can be rounded to the element type: f16, bf16 or f32.
bool holdsFragments(mlir::Type element);

/// Of an scf.for: how often its body is repeated before the loop's test, 0 for all of it.
inline constexpr llvm::StringLiteral kUnrollAttr = "tile.unroll";

/// The columns of a panel: 128 bytes.
int64_t panelColumns(mlir::Type element);

} // namespace attnc::tile

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

#endif
