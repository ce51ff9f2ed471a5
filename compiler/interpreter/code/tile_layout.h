// Where the elements of a shared tile lie.
#ifndef ATTNC_COMPILER_INTERPRETER_CODE_TILE_LAYOUT_H
#define ATTNC_COMPILER_INTERPRETER_CODE_TILE_LAYOUT_H

#include "dialects/Tile/Tile.h"
#include "runtime/program/dtype.h"

namespace attnc::interpreter {

/// Bytes of which one access is told from another: a swizzle's chunk.
inline constexpr uint32_t kChunkBytes = 16;

/// The device headers' SharedTile and PanelTile: rows of 16-byte chunks, swizzled.
struct TileLayout {
  explicit TileLayout(tile::SharedType type);

  uint32_t rows, cols, width;
  uint32_t panelRows; ///< 0 for rows that follow each other, 1 for one row
  DType dtype;

  uint32_t elementBytes() const { return dtypeSize(dtype); }
  uint32_t perChunk() const { return kChunkBytes / elementBytes(); }
  uint32_t rowBytes() const { return width * elementBytes(); }
  uint32_t bytes() const { return rows * rowBytes(); }
  /// The address of the chunk that holds columns [index * perChunk(), ...) of a row of the tile at
  /// `base`. With panels, the base of columns inside of a panel lies as far behind a row's start as
  /// they would without a swizzle.
  uint32_t chunk(uint32_t base, uint32_t row, uint32_t index) const;
  uint32_t at(uint32_t base, uint32_t row, uint32_t col) const {
    return chunk(base, row, col / perChunk()) + col % perChunk() * elementBytes();
  }
  /// From the base to the strip that starts at a row.
  uint32_t strip(uint32_t row) const { return row * (panelRows ? 128 : rowBytes()); }
  /// From the base to the columns that start at `col`, of a tile with panels.
  uint32_t columns(uint32_t col) const;
};

/// Elements as floats, and back (rounded to nearest even).
void loadFloats(DType dtype, const std::byte *from, uint32_t count, float *to);
void storeFloats(DType dtype, const float *from, uint32_t count, std::byte *to);
float roundTo(DType dtype, float value);

} // namespace attnc::interpreter

#endif
