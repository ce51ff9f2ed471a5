// Products of f32 tiles with nearly f32 accuracy: three tf32 products for one (see mma.cuh).
#pragma once
#include "attnc/mma.cuh"

namespace attnc {

/// x = hi + lo, both usable as tf32. hi is x rounded to 11 significant bits (ties away from zero),
/// so lo is exact in f32 and has at most 13 bits; the tensor core ignores what exceeds tf32, below
/// 2^-22 of x. Finite x below 2^127.99 only: a non-finite x makes lo NaN.
struct Split {
  u32 hi, lo;
};
ATTNC_DEVICE Split split(u32 bits) {
  const u32 hi = (bits + 0x1000u) & 0xffffe000u;
  const f32 lo = __uint_as_float(bits) - __uint_as_float(hi);
  return {hi, __float_as_uint(lo)};
}

/// A 16x8 operand block, split.
struct SplitOperand {
  u32 hi[4], lo[4];
};
ATTNC_DEVICE SplitOperand split(const u32 (&bits)[4]) {
  SplitOperand a;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Split s = split(bits[i]);
    a.hi[i] = s.hi;
    a.lo[i] = s.lo;
  }
  return a;
}

/// Small terms first.
ATTNC_DEVICE void mmaSplit(f32 (&c)[4], const SplitOperand &a, Split b0, Split b1) {
  mmaAtom<f32>(c, a.lo, b0.hi, b1.hi);
  mmaAtom<f32>(c, a.hi, b0.lo, b1.lo);
  mmaAtom<f32>(c, a.hi, b0.hi, b1.hi);
}

/// c(i, j) += sum_k a(i, k) b(j, k), both tiles in shared memory. A row of an ldmatrix matrix is
/// four f32, which is exactly the tf32 operand layout.
template <int kRows, int kCols, int kDepth>
ATTNC_DEVICE void mmaABt(Accumulator<kRows, kCols> &c, SharedTile<f32, kRows, kDepth> a,
                         SharedTile<f32, kCols, kDepth> b) {
  constexpr int kSteps = SharedTile<f32, kCols, kDepth>::kWidth / 8;
  const auto aAt = a.cursor(lane() % 16, lane() / 16);
  const auto bAt = b.cursor(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2);
  // The tensor core truncates when it accumulates: after kChunk steps the sum moves on in f32.
  constexpr int kChunk = kSteps % 4 == 0 ? 4 : kSteps % 3 == 0 ? 3 : kSteps % 2 == 0 ? 2 : 1;
#pragma unroll 2 // bounds the code and the registers at large depths
  for (int k0 = 0; k0 < kSteps; k0 += kChunk) {
    SplitOperand x[kRows / 16][kChunk];
#pragma unroll
    for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
      for (int k = 0; k < kChunk; ++k) {
        u32 bits[4];
        loadMatrix(bits, aAt.step(r * 16, 2 * (k0 + k)));
        x[r][k] = split(bits);
      }
#pragma unroll
    for (int n = 0; n < kCols / 16; ++n) {
      f32 sum[kRows / 16][2][4] = {};
#pragma unroll
      for (int k = 0; k < kChunk; ++k) {
        u32 y[4];
        loadMatrix(y, bAt.step(n * 16, 2 * (k0 + k)));
        const Split left0 = split(y[0]), left1 = split(y[1]);
        const Split right0 = split(y[2]), right1 = split(y[3]);
#pragma unroll
        for (int r = 0; r < kRows / 16; ++r) {
          mmaSplit(sum[r][0], x[r][k], left0, left1);
          mmaSplit(sum[r][1], x[r][k], right0, right1);
        }
      }
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          c.block[r][2 * n][i] += sum[r][0][i];
          c.block[r][2 * n + 1][i] += sum[r][1][i];
        }
    }
  }
}

/// The A operand of mmaAB, split: kRows x kDepth f32.
template <int kRows, int kDepth> struct SplitOperandA {
  SplitOperand block[kRows / 16][kDepth / 8];
};

/// An accumulator as A operand. A lane holds columns 2q and 2q+1 (q = l%4) of each block where the
/// operand layout has q and q+4. The order of k is free as long as B follows it, so mmaAB reads row
/// 2q where the layout says q and row 2q+1 where it says q+4: no data moves between lanes.
template <int kRows, int kCols>
ATTNC_DEVICE SplitOperandA<kRows, kCols> toSplitOperand(const Accumulator<kRows, kCols> &x) {
  SplitOperandA<kRows, kCols> a;
#pragma unroll
  for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
    for (int k = 0; k < kCols / 8; ++k) {
      const f32(&c)[4] = x.block[r][k];
      const u32 bits[4] = {__float_as_uint(c[0]), __float_as_uint(c[2]), __float_as_uint(c[1]),
                           __float_as_uint(c[3])};
      a.block[r][k] = split(bits);
    }
  return a;
}

/// c(i, j) += sum_k a(i, k) b(k, j). The sum over the tile is formed apart and added to c in f32:
/// tensor cores truncate when they accumulate, and over many tiles that would add up.
template <int kRows, int kCols, int kDepth, int kTileCols>
ATTNC_DEVICE void mmaAB(Accumulator<kRows, kCols> &c, const SplitOperandA<kRows, kDepth> &a,
                        SharedTile<f32, kDepth, kTileCols> b) {
  static_assert(kCols == SharedTile<f32, kDepth, kTileCols>::kWidth);
  constexpr int kGroup = kCols % 32 == 0   ? 4
                         : kCols % 16 == 0 ? 2
                                           : 1; // independent sums in flight
#pragma unroll
  for (int n = 0; n < kCols / 8; n += kGroup) {
    f32 sum[kRows / 16][kGroup][4] = {};
#pragma unroll
    for (int k = 0; k < kDepth / 8; ++k)
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        const int row = k * 8 + 2 * (lane() % 4);
        const int col = (n + g) * 8 + lane() / 4;
        const Split b0 = split(loadShared(b.at(row, col)));
        const Split b1 = split(loadShared(b.at(row + 1, col)));
#pragma unroll
        for (int r = 0; r < kRows / 16; ++r)
          mmaSplit(sum[r][g], a.block[r][k], b0, b1);
      }
#pragma unroll
    for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
      for (int g = 0; g < kGroup; ++g)
#pragma unroll
        for (int x = 0; x < 4; ++x)
          c.block[r][n + g][x] += sum[r][g][x];
  }
}

} // namespace attnc
