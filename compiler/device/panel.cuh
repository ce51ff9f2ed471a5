// Tiles in shared memory as the tensor memory accelerator writes them and wgmma reads them, with
// the 128-byte swizzle: panels of 128 bytes of columns, one after the other; in a panel each row
// takes 128 bytes, and 16-byte chunk c of row r lies at place c ^ (r % 8). PTX ISA, "Swizzling
// modes" and "Matrix-Descriptor".
// Panels that have less than eight rows share one pattern. A tile of one row has none: its columns
// follow each other.
#pragma once
#include "attnc/convert.cuh"
#include "attnc/smem.cuh"

namespace attnc {

/// kRowCount rows of kColCount elements, part of panels of kPanelRows rows. The first
/// one starts at a multiple of 1024 bytes; the columns that fill the last panel are zero once a
/// copy has filled the tile.
template <class T, int kRowCount, int kColCount, int kPanelRowCount = kRowCount> struct PanelTile {
  using Element = T;
  static constexpr int kRows = kRowCount;
  static constexpr int kCols = kColCount;
  static constexpr int kPanelRows = kPanelRowCount;
  static constexpr int kPanelCols = 128 / static_cast<int>(sizeof(T));
  static constexpr int kPanels = divideUp(kCols, kPanelCols);
  static constexpr int kWidth = kPanels * kPanelCols; ///< with the zeros
  static constexpr int kPanelBytes = kPanelRows * 128;
  static constexpr int kBytes = kPanels * kPanelBytes;

  u32 base;

  /// Address of the 16-byte chunk that holds element (row, col); `base` is a panel's start.
  ATTNC_DEVICE u32 chunk(int row, int col) const {
    constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));
    if constexpr (kPanelRows == 1)
      return base + col / kPerChunk * 16;
    const u32 line = row + col / kPanelCols * kPanelRows;
    const int place = (col % kPanelCols / kPerChunk) ^ (line % 8);
    return base + col / kPanelCols * kPanelBytes + row * 128 + place * 16;
  }
  ATTNC_DEVICE u32 at(int row, int col) const {
    constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));
    // Of smaller ones the compiler would read a word once for each.
    if constexpr (kPanelRows == 1 && sizeof(T) >= 4)
      return base + col * static_cast<int>(sizeof(T));
    return chunk(row, col) + col % kPerChunk * static_cast<int>(sizeof(T));
  }
  /// An element. A plain load, which the compiler shares between the two neighbours that lie in one
  /// word; barriers keep it in its place.
  ATTNC_DEVICE auto element(int row, int col) const {
    if constexpr (sizeof(T) == 2) {
      const int first = col / 2 * 2;
      const u32 word = *static_cast<const u32 *>(__cvta_shared_to_generic(at(row, first)));
      return toF32(T{static_cast<u16>(col == first ? word : word >> 16)});
    } else if constexpr (kPanelRows == 1 && sizeof(T) == 4) {
      struct alignas(8) Pair {
        T first, second;
      };
      const int first = col / 2 * 2;
      const Pair pair = *static_cast<const Pair *>(__cvta_shared_to_generic(at(row, first)));
      return computed(col == first ? pair.first : pair.second);
    } else {
      return computed(*static_cast<const T *>(__cvta_shared_to_generic(at(row, col))));
    }
  }
  /// The strip of kCount rows that starts at `first`, a multiple of 8.
  template <int kCount>
  ATTNC_DEVICE PanelTile<T, kCount, kColCount, kPanelRows> rows(int first) const {
    static_assert(kPanelRows % 8 == 0);
    return {base + first * 128};
  }
  /// The kCount columns that start at `first`, a panel's start. Inside of a panel, at a multiple of
  /// 16, they are only good for the first factor of a product.
  template <int kCount>
  ATTNC_DEVICE PanelTile<T, kRowCount, kCount, kPanelRows> columns(int first) const {
    static_assert(kPanelRows % 8 == 0);
    return {base + first / kPanelCols * kPanelBytes +
            first % kPanelCols * static_cast<int>(sizeof(T))};
  }
};

} // namespace attnc
