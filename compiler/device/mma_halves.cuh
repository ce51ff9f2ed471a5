// Products of f32 tiles that need 15 bits: three bf16 products for one (see mma.cuh).
#pragma once
#include "attnc/mma.cuh"

namespace attnc {

/// Two neighbours x = hi + lo, both bf16: hi is x rounded to 8 significant bits, lo the rest
/// rounded to 8. What is lost is below 2^-16 of x, and lo * lo, which products leave out, below
/// 2^-16 of theirs. Finite x below 2^127.99 only, as in mma_f32.cuh.
struct Halves {
  u32 hi, lo;
};
ATTNC_DEVICE Halves halves(f32 x, f32 y) {
  const u32 hi = packPair<bf16>(x, y);
  const f32 restX = x - __uint_as_float(hi << 16);
  const f32 restY = y - __uint_as_float(hi & 0xffff0000u);
  return {hi, packPair<bf16>(restX, restY)};
}

/// The A operand of a product, in halves: kRows x kDepth f32.
template <int kRows, int kDepth> struct HalvesOperandA {
  OperandA<bf16, kRows, kDepth> hi, lo;
};

/// As toOperand of mma.cuh.
template <int kRows, int kCols>
ATTNC_DEVICE HalvesOperandA<kRows, kCols> toHalvesOperand(const Accumulator<kRows, kCols> &x) {
  HalvesOperandA<kRows, kCols> a;
#pragma unroll
  for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
    for (int k = 0; k < kCols / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const f32(&c)[4] = x.block[r][2 * k + i / 2];
        const Halves pair = halves(c[i % 2 * 2], c[i % 2 * 2 + 1]);
        a.hi.block[r][k][i] = pair.hi;
        a.lo.block[r][k][i] = pair.lo;
      }
  return a;
}

/// c(i, j) += sum_k a(i, k) b(k, j), b f32 in shared memory. Small terms first. That tensor cores
/// truncate when they accumulate is nothing beside what the halves lose.
template <int kRows, int kCols, int kDepth, int kTileCols>
ATTNC_DEVICE void mmaAB(Accumulator<kRows, kCols> &c, const HalvesOperandA<kRows, kDepth> &a,
                        SharedTile<f32, kDepth, kTileCols> b) {
  static_assert(kCols == SharedTile<f32, kDepth, kTileCols>::kWidth && kDepth % 16 == 0);
#pragma unroll
  for (int n = 0; n < kCols / 8; ++n)
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      const int row = k * 16 + 2 * (lane() % 4);
      const int col = n * 8 + lane() / 4;
      const auto at = [&](int r) { return __uint_as_float(loadShared(b.at(row + r, col))); };
      const Halves top = halves(at(0), at(1)), bottom = halves(at(8), at(9));
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r) {
        mmaAtom<bf16>(c.block[r][n], a.lo.block[r][k], top.hi, bottom.hi);
        mmaAtom<bf16>(c.block[r][n], a.hi.block[r][k], top.lo, bottom.lo);
        mmaAtom<bf16>(c.block[r][n], a.hi.block[r][k], top.hi, bottom.hi);
      }
    }
}

} // namespace attnc
