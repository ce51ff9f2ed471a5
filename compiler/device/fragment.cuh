// Tiles in the registers of one warp. An element of a map body is addressed by a constant index e;
// row(e), column(e) say where it lies in the warp's tile, so any scalar code can run over a
// fragment:
//
//   for (int e = 0; e < s.kSize; ++e)
//     s[e] = f(s[e], m[s.rowSlot(e)], i0 + s.row(e), j0 + s.column(e));
//
// Layout of the accumulators of mma.m16n8 (PTX ISA, matrix fragments): lane l holds in each 16x8
// block the elements (l/4, 2(l%4)), (l/4, 2(l%4)+1), (l/4+8, 2(l%4)), (l/4+8, 2(l%4)+1).
#pragma once
#include "attnc/convert.cuh"
#include "attnc/scalar.cuh"
#include "attnc/smem.cuh"

namespace attnc {

/// One value per row of a warp's tile: lane l holds row 8*slot + l/4, the four lanes of a quad
/// alike (or each its share, before reduceQuad).
template <int kRows> struct RowVector {
  static constexpr int kSize = kRows / 8;
  f32 v[kSize];
  ATTNC_DEVICE f32 &operator[](int slot) { return v[slot]; }
  ATTNC_DEVICE f32 operator[](int slot) const { return v[slot]; }
  static ATTNC_DEVICE int row(int slot) { return slot * 8 + lane() / 4; }
};

/// One value per column of a warp's tile: lane l holds column 8*(slot/2) + 2(l%4) + slot%2.
template <int kCols> struct ColumnVector {
  static constexpr int kSize = kCols / 4;
  f32 v[kSize];
  ATTNC_DEVICE f32 &operator[](int slot) { return v[slot]; }
  ATTNC_DEVICE f32 operator[](int slot) const { return v[slot]; }
  static ATTNC_DEVICE int column(int slot) { return slot / 2 * 8 + 2 * (lane() % 4) + slot % 2; }
};

/// A kRows x kCols tile of f32 as the mma instructions accumulate it.
template <int kRowCount, int kColCount> struct Accumulator {
  static constexpr int kRows = kRowCount;
  static constexpr int kCols = kColCount;
  static constexpr int kBlockRows = kRows / 16;
  static constexpr int kBlockCols = kCols / 8;
  static constexpr int kSize = kRows * kCols / kWarp;
  f32 block[kBlockRows][kBlockCols][4];

  ATTNC_DEVICE f32 &operator[](int e) {
    return block[e / (4 * kBlockCols)][e / 4 % kBlockCols][e % 4];
  }
  ATTNC_DEVICE f32 operator[](int e) const {
    return block[e / (4 * kBlockCols)][e / 4 % kBlockCols][e % 4];
  }
  /// Index into a RowVector<kRows>, and into a ColumnVector<kCols>.
  static ATTNC_DEVICE constexpr int rowSlot(int e) { return e / (4 * kBlockCols) * 2 + e % 4 / 2; }
  static ATTNC_DEVICE constexpr int columnSlot(int e) { return e / 4 % kBlockCols * 2 + e % 2; }
  static ATTNC_DEVICE int row(int e) { return RowVector<kRows>::row(rowSlot(e)); }
  static ATTNC_DEVICE int column(int e) { return ColumnVector<kCols>::column(columnSlot(e)); }
  /// Columns from the lane's first element of the row to element e: the same in all lanes.
  static ATTNC_DEVICE constexpr int columnDistance(int e) { return e / 4 % kBlockCols * 8 + e % 2; }
};

template <class Fragment> ATTNC_DEVICE void fill(Fragment &x, f32 value) {
#pragma unroll
  for (int e = 0; e < Fragment::kSize; ++e)
    x[e] = value;
}

/// Folds this lane's elements of each row into `out`. The lanes of a quad hold different columns:
/// reduceQuad completes the reduction, at once or after the last tile.
template <class Op, int kRows, int kCols>
ATTNC_DEVICE void reduceRows(RowVector<kRows> &out, const Accumulator<kRows, kCols> &x) {
#pragma unroll
  for (int e = 0; e < x.kSize; ++e)
    out[x.rowSlot(e)] = Op::apply(out[x.rowSlot(e)], x[e]);
}

/// Combines the four lanes that share a row; all four receive the result.
template <class Op, int kRows> ATTNC_DEVICE void reduceQuad(RowVector<kRows> &x) {
#pragma unroll
  for (int s = 0; s < x.kSize; ++s) {
    x[s] = Op::apply(x[s], __shfl_xor_sync(~0u, x[s], 1));
    x[s] = Op::apply(x[s], __shfl_xor_sync(~0u, x[s], 2));
  }
}

/// x(i, j) *= factor(i).
template <int kRows, int kCols>
ATTNC_DEVICE void scaleRows(Accumulator<kRows, kCols> &x, const RowVector<kRows> &factor) {
#pragma unroll
  for (int e = 0; e < x.kSize; ++e)
    x[e] *= factor[x.rowSlot(e)];
}

/// The lanes of a quad exchange their words: word i of lane l becomes word l of lane i.
ATTNC_DEVICE void transposeQuad(u32 (&w)[4]) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    const bool upper = lane() & distance;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & distance)
        continue;
      u32 &low = w[i], &high = w[i + distance];
      const u32 received = __shfl_xor_sync(~0u, upper ? low : high, distance);
      (upper ? low : high) = received;
    }
  }
}

/// True in every lane of the warp if it is true in one.
ATTNC_DEVICE bool anyLane(bool x) { return __any_sync(~0u, x); }

/// Writes an accumulator to a tile (rounded to its element type): two neighbours with one store.
template <class T, int kRows, int kCols, int kTileCols>
ATTNC_DEVICE void storeFragment(SharedTile<T, kRows, kTileCols> tile,
                                const Accumulator<kRows, kCols> &x) {
  // Paddings differ with the element type: whole blocks of columns beyond the tile's are left out.
#pragma unroll
  for (int e = 0; e < x.kSize; e += 2) {
    if (e / 4 % x.kBlockCols * 8 >= SharedTile<T, kRows, kTileCols>::kWidth)
      continue;
    const u32 to = tile.at(x.row(e), x.column(e));
    if constexpr (sizeof(T) == 4)
      storeShared8(to, __float_as_uint(x[e]), __float_as_uint(x[e + 1]));
    else
      storeShared(to, packPair<T>(x[e], x[e + 1]));
  }
}

/// The elements of a tile of 16-bit numbers that lie where a thread has those of an
/// Accumulator<kRows, kCols>: a word for two neighbours.
template <class T, int kRows, int kCols> struct PackedFragment {
  u32 words[kRows / 16][kCols / 16][4];

  ATTNC_DEVICE f32 operator[](int e) const {
    constexpr int kOfStrip = kCols / 2;
    const u32 pair = words[e / kOfStrip][e % kOfStrip / 8][e / 2 % 4];
    return unpack<T>(pair, e % 2);
  }
};

template <class T, int kRows, int kCols, class Tile>
ATTNC_DEVICE PackedFragment<T, kRows, kCols> loadFragment(Tile tile) {
  PackedFragment<T, kRows, kCols> x;
#pragma unroll
  for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
    for (int c = 0; c < kCols / 16; ++c)
      loadMatrix(x.words[r][c], tile.at(r * 16 + lane() % 16, c * 16 + lane() / 16 * 8));
  return x;
}

/// Writes one element of a tile, rounded to its type.
template <class Tile> ATTNC_DEVICE void storeElement(Tile tile, int row, int col, f32 x) {
  using T = typename Tile::Element;
  if constexpr (sizeof(T) == 4)
    storeShared(tile.at(row, col), __float_as_uint(x));
  else
    storeShared2(tile.at(row, col), fromF32<T>(x).bits);
}

/// The 16 bytes that lane place of a quad stores of a row of four 8-column blocks that start at
/// `block`, and the column of the first of them. The lanes exchange what they hold: 16-bit elements
/// of four blocks, f32 of two. Blocks from kBlocks on are left out.
template <class T, int kCols>
ATTNC_DEVICE int gatherRow(u32 (&w)[4], const Accumulator<16, kCols> &x, int half, int block) {
  constexpr int kBlocks = kCols / 8;
  const int place = lane() % 4;
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const f32(&pair)[4] = x.block[0][min(block + i, kBlocks - 1)];
      w[i] = packPair<T>(pair[2 * half], pair[2 * half + 1]);
    }
    transposeQuad(w);
    return 8 * (block + place);
  } else {
    // Lanes 2n and 2n+1 hold halves of the same 16 bytes of both blocks: each takes one block's.
    const bool odd = place % 2;
    const f32(&low)[4] = x.block[0][block];
    const f32(&high)[4] = x.block[0][min(block + 1, kBlocks - 1)];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const u32 mine = __float_as_uint(odd ? high[2 * half + i] : low[2 * half + i]);
      const u32 sent = __float_as_uint(odd ? low[2 * half + i] : high[2 * half + i]);
      const u32 received = __shfl_xor_sync(~0u, sent, 1);
      w[i] = odd ? received : mine;
      w[2 + i] = odd ? mine : received;
    }
    return 8 * (block + place % 2) + 4 * (place / 2);
  }
}

/// Writes the rows of an accumulator whose number, counted from `first`, is < end to global memory:
/// row r to `to + r * stride`, which is aligned to 16 bytes. Every lane stores 16 bytes at a time.
/// Of each row the columns < `cols`.
template <class T, int kCols>
ATTNC_DEVICE void storeFragmentRows(T *to, i64 stride, const Accumulator<16, kCols> &x, i32 first,
                                    i32 end, i32 cols = kAllColumns) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = first + lane() / 4 + 8 * half;
#pragma unroll
    for (int block = 0; block < kCols / 8; block += 8 / static_cast<int>(sizeof(T))) {
      u32 w[4];
      const int column = gatherRow<T>(w, x, half, block);
      if (row < end && column < kCols && (cols == kAllColumns || column < cols))
        *reinterpret_cast<uint4 *>(to + row * stride + column) = uint4{w[0], w[1], w[2], w[3]};
    }
  }
}

/// Writes the elements of a row vector whose row, counted from `first`, is < end: row r to
/// `to[r * stride]`.
template <class T, int kRows>
ATTNC_DEVICE void storeRows(T *to, i64 stride, const RowVector<kRows> &x, i32 first, i32 end) {
  if (lane() % 4 != 0)
    return;
#pragma unroll
  for (int s = 0; s < x.kSize; ++s)
    if (const i32 row = first + x.row(s); row < end)
      to[row * stride] = fromF32<T>(x[s]);
}

} // namespace attnc
