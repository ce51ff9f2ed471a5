// Row-major tiles in shared memory, swizzled so that the eight rows of an 8x8 matrix at one column
// lie in different banks, whatever the width: no padding, no conflicts.
#pragma once
#include "attnc/convert.cuh"

namespace attnc {

/// Address in the shared window, as ldmatrix and cp.async want it.
ATTNC_DEVICE u32 sharedAddress(const void *p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}

/// The same address. The compiler then knows that it is one of the block's shared memory.
template <class T> ATTNC_DEVICE T *inShared(T *p) {
  return static_cast<T *>(__cvta_shared_to_generic(__cvta_generic_to_shared(p)));
}

/// How many columns of a tile a copy or a store has: all that there are.
constexpr i32 kAllColumns = 0x7fffffff;

/// kRowCount rows of kColCount elements; rows are stored with kWidth elements (a whole number of
/// mma steps), the columns beyond kCols are zero once a copy has filled the tile.
///
/// A row is a sequence of 16-byte chunks. With C chunks a row, row r starts at bank group r*C mod
/// 8; p = gcd(C, 8) of the eight groups of consecutive rows coincide, and the exclusive or with p
/// values that change every 8/p rows separates them and stays inside the row because p divides C.
template <class T, int kRowCount, int kColCount> struct SharedTile {
  using Element = T;
  static constexpr int kRows = kRowCount;
  static constexpr int kCols = kColCount;
  static constexpr int kWidth = roundUp(kCols, 32 / static_cast<int>(sizeof(T)));
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kPeriod = gcd(kChunks, 8);

  u32 base;

  /// Address of a 16-byte chunk.
  ATTNC_DEVICE u32 chunk(int row, int index) const {
    const int swizzled = index ^ ((row / (8 / kPeriod)) % kPeriod);
    return base + row * kRowBytes + swizzled * 16;
  }
  /// Address of an element.
  ATTNC_DEVICE u32 at(int row, int col) const {
    if constexpr (kRows == 1)
      return base + col * static_cast<int>(sizeof(T));
    constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));
    return chunk(row, col / kPerChunk) + (col % kPerChunk) * static_cast<int>(sizeof(T));
  }
  /// An element. A plain load, which barriers keep in its place.
  ATTNC_DEVICE auto element(int row, int col) const {
    return computed(*static_cast<const T *>(__cvta_shared_to_generic(at(row, col))));
  }
  /// A lane's place in the tile, from which the loads of a product step with constants: stepping
  /// costs one exclusive or, so few addresses need to stay in registers. `index` is 0 or 1; base is
  /// a multiple of 128.
  struct Cursor {
    u32 address;
    /// The address `rows` (a multiple of 8) and `chunks` (even) further on.
    ATTNC_DEVICE u32 step(int rows, int chunks) const {
      return (address ^ (chunks % kPeriod * 16)) + chunks / kPeriod * kPeriod * 16 +
             rows * kRowBytes;
    }
  };
  ATTNC_DEVICE Cursor cursor(int row, int index) const { return {chunk(row, index)}; }

  /// The strip of kCount rows that starts at `first`, a multiple of 8 (the swizzle's period).
  template <int kCount> ATTNC_DEVICE SharedTile<T, kCount, kColCount> rows(int first) const {
    return {base + first * kRowBytes};
  }
};

/// The last kStages of many tiles: tile n takes the place of tile n - kStages.
template <class Tile, int kStages> struct SharedRing {
  static constexpr int kBytes = kStages * Tile::kBytes;
  u32 base;
  ATTNC_DEVICE Tile operator[](u32 n) const { return {base + n % kStages * Tile::kBytes}; }
};

/// Lane l gives the address of row l%8 of matrix l/8; register m of lane l receives the 32-bit word
/// l%4 of row l/4 of matrix m. PTX ISA, ldmatrix.
ATTNC_DEVICE void loadMatrix(u32 (&d)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(address));
}

/// The same for 16-bit elements with every matrix transposed on the way.
ATTNC_DEVICE void loadMatrixTransposed(u32 (&d)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(address));
}

ATTNC_DEVICE u32 loadShared(u32 address) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address));
  return x;
}
ATTNC_DEVICE uint4 loadShared16(u32 address) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(address));
  return x;
}
ATTNC_DEVICE u16 loadShared2(u32 address) {
  u16 x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(address));
  return x;
}
ATTNC_DEVICE uint2 loadShared8(u32 address) {
  uint2 x;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(address));
  return x;
}
ATTNC_DEVICE void storeShared(u32 address, u32 x) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}
ATTNC_DEVICE void storeShared8(u32 address, u32 x, u32 y) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(x), "r"(y) : "memory");
}
ATTNC_DEVICE void storeShared16(u32 address, uint4 x) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y),
               "r"(x.z), "r"(x.w)
               : "memory");
}
ATTNC_DEVICE void storeShared2(u32 address, u16 x) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(x) : "memory");
}

} // namespace attnc
