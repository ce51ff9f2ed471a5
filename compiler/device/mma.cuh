// Matrix products of one warp on the tensor cores, C += A B, with f32 accumulators.
//
// 16-bit operands use mma.m16n8k16. f32 operands use mma.m16n8k8 on tf32 three times: x = hi + lo
// with hi the upper 11 bits of the significand, and hi*hi + hi*lo + lo*hi loses only lo*lo, below
// 2^-22.
#pragma once
#include "attnc/fragment.cuh"

namespace attnc {

/// One 16x8 block of C += A B; T names the operands' type. PTX ISA, mma.m16n8k16 and mma.m16n8k8.
template <class T> ATTNC_DEVICE void mmaAtom(f32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1);
template <> ATTNC_DEVICE void mmaAtom<f16>(f32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> ATTNC_DEVICE void mmaAtom<bf16>(f32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> ATTNC_DEVICE void mmaAtom<f32>(f32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// The A operand of a product in registers: kRows x kDepth elements of a 16-bit T.
template <class T, int kRows, int kDepth> struct OperandA {
  u32 block[kRows / 16][kDepth / 16][4];
};

/// Rounds an accumulator to a 16-bit A operand. No data moves: two neighbouring 16x8 accumulator
/// blocks are one 16x16 operand block.
template <class T, int kRows, int kCols>
ATTNC_DEVICE OperandA<T, kRows, kCols> toOperand(const Accumulator<kRows, kCols> &x) {
  OperandA<T, kRows, kCols> a;
#pragma unroll
  for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
    for (int k = 0; k < kCols / 16; ++k) {
      const f32(&left)[4] = x.block[r][2 * k];
      const f32(&right)[4] = x.block[r][2 * k + 1];
      a.block[r][k][0] = packPair<T>(left[0], left[1]);
      a.block[r][k][1] = packPair<T>(left[2], left[3]);
      a.block[r][k][2] = packPair<T>(right[0], right[1]);
      a.block[r][k][3] = packPair<T>(right[2], right[3]);
    }
  return a;
}

/// c(i, j) += sum_k a(i, k) b(j, k), both tiles in shared memory, 16-bit.
template <class T, int kRows, int kCols, int kDepth>
ATTNC_DEVICE void mmaABt(Accumulator<kRows, kCols> &c, SharedTile<T, kRows, kDepth> a,
                         SharedTile<T, kCols, kDepth> b) {
  constexpr int kSteps = SharedTile<T, kCols, kDepth>::kWidth / 16;
  static_assert(sizeof(T) == 2);
  const auto aAt = a.cursor(lane() % 16, lane() / 16);
  const auto bAt = b.cursor(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2);
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    u32 x[kRows / 16][4];
#pragma unroll
    for (int r = 0; r < kRows / 16; ++r)
      loadMatrix(x[r], aAt.step(r * 16, 2 * k));
#pragma unroll
    for (int n = 0; n < kCols / 16; ++n) {
      u32 y[4];
      loadMatrix(y, bAt.step(n * 16, 2 * k));
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r) {
        mmaAtom<T>(c.block[r][2 * n], x[r], y[0], y[1]);
        mmaAtom<T>(c.block[r][2 * n + 1], x[r], y[2], y[3]);
      }
    }
  }
}

/// The same with a in registers.
template <class T, int kRows, int kCols, int kDepth, int kWidth>
ATTNC_DEVICE void mmaABt(Accumulator<kRows, kCols> &c, const OperandA<T, kRows, kWidth> &a,
                         SharedTile<T, kCols, kDepth> b) {
  static_assert(sizeof(T) == 2 && kWidth == SharedTile<T, kCols, kDepth>::kWidth);
  const auto bAt = b.cursor(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2);
#pragma unroll
  for (int k = 0; k < kWidth / 16; ++k)
#pragma unroll
    for (int n = 0; n < kCols / 16; ++n) {
      u32 y[4];
      loadMatrix(y, bAt.step(n * 16, 2 * k));
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r) {
        mmaAtom<T>(c.block[r][2 * n], a.block[r][k], y[0], y[1]);
        mmaAtom<T>(c.block[r][2 * n + 1], a.block[r][k], y[2], y[3]);
      }
    }
}

/// c(i, j) += sum_k a(i, k) b(k, j), a in registers, b in shared memory, 16-bit.
template <class T, int kRows, int kCols, int kDepth, int kTileCols>
ATTNC_DEVICE void mmaAB(Accumulator<kRows, kCols> &c, const OperandA<T, kRows, kDepth> &a,
                        SharedTile<T, kDepth, kTileCols> b) {
  static_assert(kCols == SharedTile<T, kDepth, kTileCols>::kWidth);
  const auto bAt = b.cursor(lane() % 16, lane() / 16);
#pragma unroll
  for (int n = 0; n < kCols / 16; ++n)
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      u32 y[4];
      loadMatrixTransposed(y, bAt.step(k * 16, 2 * n));
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r) {
        mmaAtom<T>(c.block[r][2 * n], a.block[r][k], y[0], y[1]);
        mmaAtom<T>(c.block[r][2 * n + 1], a.block[r][k], y[2], y[3]);
      }
    }
}

/// The same with a in shared memory.
template <class T, int kRows, int kCols, int kDepth, int kTileCols>
ATTNC_DEVICE void mmaAB(Accumulator<kRows, kCols> &c, SharedTile<T, kRows, kDepth> a,
                        SharedTile<T, kDepth, kTileCols> b) {
  static_assert(sizeof(T) == 2 && kCols == SharedTile<T, kDepth, kTileCols>::kWidth);
  const auto aAt = a.cursor(lane() % 16, lane() / 16);
  const auto bAt = b.cursor(lane() % 16, lane() / 16);
#pragma unroll
  for (int k = 0; k < kDepth / 16; ++k) {
    u32 x[kRows / 16][4];
#pragma unroll
    for (int r = 0; r < kRows / 16; ++r)
      loadMatrix(x[r], aAt.step(r * 16, 2 * k));
#pragma unroll
    for (int n = 0; n < kCols / 16; ++n) {
      u32 y[4];
      loadMatrixTransposed(y, bAt.step(k * 16, 2 * n));
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r) {
        mmaAtom<T>(c.block[r][2 * n], x[r], y[0], y[1]);
        mmaAtom<T>(c.block[r][2 * n + 1], x[r], y[2], y[3]);
      }
    }
  }
}

} // namespace attnc
