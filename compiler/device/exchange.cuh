// What warps pass to each other through memory: fragments as 16-bit panel tiles, vectors of rows
// and columns, and partial results that are read back by the thread with the same place.
#pragma once
#include "attnc/fragment.cuh"
#include "attnc/panel.cuh"

namespace attnc {

/// Writes 16 rows of 16 columns of a tile, from column `col` on: lane l gives the address of row
/// l%8 of 8x8 matrix l/8; the first two lie below each other. PTX ISA, stmatrix.
template <class Tile>
ATTNC_DEVICE void storeMatrices(Tile tile, int col, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   tile.chunk(lane() % 16, col + lane() / 16 * 8)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// Writes the warp's 16 rows of a tile, rounded.
template <class T, int kCols, int kPanelRows>
ATTNC_DEVICE void storeFragment(PanelTile<T, 16, kCols, kPanelRows> tile,
                                const Accumulator<16, kCols> &x) {
  auto pair = [&](int e) { return packPair<T>(x[e], x[e + 1]); };
#pragma unroll
  for (int k = 0; k < kCols / 16; ++k)
    storeMatrices(tile, 16 * k, pair(8 * k), pair(8 * k + 2), pair(8 * k + 4), pair(8 * k + 6));
  if constexpr (kCols % 16 != 0) {
    constexpr int e = kCols / 16 * 8;
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                     tile.chunk(lane() % 16, kCols - 8)),
                 "r"(pair(e)), "r"(pair(e + 2))
                 : "memory");
  }
}

/// The same of f32: two neighbours with one store. Lanes of odd rows take each four blocks of 8
/// columns in another order, so that no two rows of half a warp meet in a bank.
template <int kCols, int kPanelRows>
ATTNC_DEVICE void storeFragment(PanelTile<f32, 16, kCols, kPanelRows> tile,
                                const Accumulator<16, kCols> &x) {
  static_assert(kCols % 32 == 0);
  const bool isOdd = lane() / 4 % 2;
  const u32 to = tile.at(lane() / 4, lane() % 4 * 2 + (isOdd ? 16 : 0));
#pragma unroll
  for (int block = 0; block < kCols / 8; ++block)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int e = 4 * block + 2 * half, other = 4 * (block ^ 2) + 2 * half;
      // The two chunks of a block are flipped in the address; eight rows below are 1024 bytes.
      const u32 at = (to ^ (block % 4 * 32)) + block / 4 * tile.kPanelBytes + half * 1024;
      storeShared8(at, __float_as_uint(isOdd ? x[other] : x[e]),
                   __float_as_uint(isOdd ? x[other + 1] : x[e + 1]));
    }
}

/// The same of a product's operand, which has a fragment's layout.
template <class T, int kCols, int kPanelRows, class Operand>
ATTNC_DEVICE void storeOperand(PanelTile<T, 16, kCols, kPanelRows> tile, const Operand &p) {
  static_assert(Operand::kCols == kCols);
#pragma unroll
  for (int k = 0; k < kCols / 16; ++k) {
    // In a panel the chunks of 16 columns differ by two bits of the address, flipped where the
    // compiler does not see it: it would keep all addresses in registers for the whole loop.
    const u32 first = tile.chunk(lane() % 16, k / 4 * 64 + lane() / 16 * 8);
    asm volatile("{\n.reg .u32 at;\nxor.b32 at, %0, %1;\n"
                 "stmatrix.sync.aligned.m8n8.x4.shared.b16 [at], {%2, %3, %4, %5};\n}" ::"r"(first),
                 "r"(k % 4 * 32), "r"(p.x[k][0]), "r"(p.x[k][1]), "r"(p.x[k][2]), "r"(p.x[k][3])
                 : "memory");
  }
}

/// Multiplies each row of the warp's 16 rows of a tile, rounded again.
template <class T, int kCols, int kPanelRows>
ATTNC_DEVICE void scalePacked(PanelTile<T, 16, kCols, kPanelRows> tile,
                              const RowVector<16> &factor) {
  // Rare, and where registers are scarce: one pair of rows after the other.
#pragma unroll 1
  for (int col = lane() % 4 * 2; col < kCols; col += 8)
#pragma unroll
    for (int s = 0; s < factor.kSize; ++s) {
      const u32 at = tile.at(factor.row(s), col);
      storeShared(at, scalePair<T>(loadShared(at), factor[s]));
    }
}

/// Shared memory as the compiler knows it: it may move a load to where its value is used, which an
/// asm statement keeps it from.
template <class T> ATTNC_DEVICE const T &sharedValue(u32 address) {
  return *static_cast<const T *>(__cvta_shared_to_generic(address));
}

/// A vector of f32 in shared memory, one element after the other, in the layout of the registers.
template <int kRows, int kCount>
ATTNC_DEVICE void writeVector(SharedTile<f32, 1, kCount> to, int first, const RowVector<kRows> &x) {
  if (lane() % 4 != 0)
    return;
#pragma unroll
  for (int s = 0; s < x.kSize; ++s)
    storeShared(to.base + 4 * (first + x.row(s)), __float_as_uint(x[s]));
}
template <int kRows, int kCount>
ATTNC_DEVICE void readVector(RowVector<kRows> &x, SharedTile<f32, 1, kCount> from, int first) {
#pragma unroll
  for (int s = 0; s < x.kSize; ++s)
    x[s] = sharedValue<f32>(from.base + 4 * (first + x.row(s)));
}
template <int kCols, int kCount>
ATTNC_DEVICE void readVector(ColumnVector<kCols> &x, SharedTile<f32, 1, kCount> from, int first) {
#pragma unroll
  for (int s = 0; s < x.kSize; s += 2) {
    const float2 pair = sharedValue<float2>(from.base + 4 * (first + x.column(s)));
    x[s] = pair.x;
    x[s + 1] = pair.y;
  }
}

/// Where elements 4p to 4p+3 of a lane stand in a warp's part of memory that only threads of the
/// same place read: 16 bytes of each lane side by side.
ATTNC_DEVICE int lanePiece(int p) { return (p * kWarp + lane()) * 4; }

/// A fragment in the order of lanes in shared memory, for a copy of the whole.
template <int kCols>
ATTNC_DEVICE void storeLanes(SharedTile<f32, 1, 16 * kCols> to, const Accumulator<16, kCols> &x) {
#pragma unroll
  for (int p = 0; p < x.kSize / 4; ++p)
    storeShared16(to.base + 4 * lanePiece(p),
                  uint4{__float_as_uint(x[4 * p]), __float_as_uint(x[4 * p + 1]),
                        __float_as_uint(x[4 * p + 2]), __float_as_uint(x[4 * p + 3])});
}

/// A warp's fragment in global memory in the order of lanes: kRows * kCols elements.
template <int kRows, int kCols>
ATTNC_DEVICE void save(f32 *to, const Accumulator<kRows, kCols> &x) {
#pragma unroll
  for (int p = 0; p < x.kSize / 4; ++p)
    *reinterpret_cast<float4 *>(to + lanePiece(p)) =
        float4{x[4 * p], x[4 * p + 1], x[4 * p + 2], x[4 * p + 3]};
}
template <int kRows, int kCols>
ATTNC_DEVICE void restore(Accumulator<kRows, kCols> &x, const f32 *from) {
#pragma unroll
  for (int p = 0; p < x.kSize / 4; ++p) {
    const float4 piece = *reinterpret_cast<const float4 *>(from + lanePiece(p));
    x[4 * p] = piece.x;
    x[4 * p + 1] = piece.y;
    x[4 * p + 2] = piece.z;
    x[4 * p + 3] = piece.w;
  }
}
/// A warp's row vector, each lane's elements: kRows / 8 * 32 elements.
template <int kRows> ATTNC_DEVICE void save(f32 *to, const RowVector<kRows> &x) {
#pragma unroll
  for (int s = 0; s < x.kSize; ++s)
    to[s * kWarp + lane()] = x[s];
}
template <int kRows> ATTNC_DEVICE void restore(RowVector<kRows> &x, const f32 *from) {
#pragma unroll
  for (int s = 0; s < x.kSize; ++s)
    x[s] = from[s * kWarp + lane()];
}

} // namespace attnc
