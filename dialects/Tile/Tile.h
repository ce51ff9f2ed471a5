// The tile dialect: scheduled kernels; nothing left to decide. See docs/rationale/tile.md.
#ifndef ATTNC_DIALECTS_TILE_TILE_H
#define ATTNC_DIALECTS_TILE_TILE_H

#include "dialects/Attn/Attn.h"
#include "dialects/Tile/ElementTypes.h"
#include "dialects/Tile/Schedules.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

namespace attnc::tile {

/// Of an scf.for: how often its body is repeated before the loop's test, 0 for all of it.
inline constexpr llvm::StringLiteral kUnrollAttr = "tile.unroll";

/// The most shared memory that a block of any GPU can have, in bytes (CUDA C++ Programming Guide,
/// technical specifications for each compute capability).
inline constexpr int64_t kBlockBytes = 227 * 1024;

} // namespace attnc::tile

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace attnc::tile {

/// The kernel that a call names.
KernelOp calledKernel(CallOp call);

} // namespace attnc::tile

#endif
