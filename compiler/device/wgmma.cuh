// Asynchronous matrix products of a warpgroup, four warps with 16 rows each. PTX ISA, "wgmma". The
// instruction for each number of columns is in wgmma_nN.cuh.
#pragma once
#include "attnc/fragment.cuh"
#include "attnc/panel.cuh"

namespace attnc {

/// Describes a panel tile to wgmma: start address, stride between panels (rows along the columns
/// of the product: "leading"), 1024 bytes between groups of eight rows, 128-byte swizzle.
template <class Tile> ATTNC_DEVICE u64 descriptor(Tile tile) {
  constexpr u32 kLeading = static_cast<u32>(Tile::kPanelBytes >> 4) << 16;
  constexpr u32 kHigh = 1024 >> 4 | 1u << 30;
  // Joined where the compiler does not see it: it would keep the sum of each descriptor and each of
  // its steps in registers for the whole loop.
  u64 x;
  asm("mov.b64 %0, {%1, %2};" : "=l"(x) : "r"((tile.base & 0x3ffff) >> 4 | kLeading), "n"(kHigh));
  return x;
}

/// What descriptors differ by, in their units, for 16 columns (`step` of them) of a panel tile.
template <class Tile> ATTNC_DEVICE constexpr u64 columnStep(int step) {
  return (step / 4 * Tile::kPanelBytes + step % 4 * 32) >> 4;
}

/// Before the first product that uses registers written by other instructions.
ATTNC_DEVICE void fenceProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes the group of products started since the last one.
ATTNC_DEVICE void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// The registers hold what finished products left in them: reads stay behind.
template <class Fragment> ATTNC_DEVICE void settle(Fragment &x) {
#pragma unroll
  for (int e = 0; e < Fragment::kSize; ++e)
    asm volatile("" : "+f"(x[e])::"memory");
}
/// Waits until at most kPending groups are unfinished; `results` may be read then.
template <int kPending, class... Fragments> ATTNC_DEVICE void waitProducts(Fragments &...results) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  (settle(results), ...);
}

/// The A operand of a product in registers: 16 rows of each warp, kDepth columns, rounded to T.
template <class T, int kDepth> struct RegisterOperand {
  using Element = T;
  static constexpr int kCols = kDepth;
  u32 x[kDepth / 16][4];

  /// The element that stands where a fragment's element e does.
  ATTNC_DEVICE f32 operator[](int e) const { return unpack<T>(x[e / 8][e % 8 / 2], e % 2); }
  /// The kCount columns that start at `first`, both multiples of 16.
  template <int kCount> ATTNC_DEVICE RegisterOperand<T, kCount> columns(int first) const {
    RegisterOperand<T, kCount> part;
#pragma unroll
    for (int k = 0; k < kCount / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        part.x[k][i] = x[first / 16 + k][i];
    return part;
  }
};

/// x(i, k) *= factor(i), rounded again.
template <class T, int kDepth>
ATTNC_DEVICE void scalePacked(RegisterOperand<T, kDepth> &x, const RowVector<16> &factor) {
#pragma unroll
  for (int k = 0; k < kDepth / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x.x[k][i] = scalePair<T>(x.x[k][i], factor[i % 2]);
}

/// Rounds a fragment; its layout is the operand's.
template <class T, int kCols>
ATTNC_DEVICE void convertOperand(RegisterOperand<T, kCols> &to,
                                 const Accumulator<16, kCols> &from) {
#pragma unroll
  for (int k = 0; k < kCols / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to.x[k][i] = packPair<T>(from[8 * k + 2 * i], from[8 * k + 2 * i + 1]);
}

/// The products below start c += a b; with kFresh, c = a b.
constexpr bool kFresh = true;

/// The steps of 16 of a descriptor's sum index: along the columns of a tile, or along its rows,
/// which take 128 bytes of each panel.
template <class Tile, bool kAlongRows> ATTNC_DEVICE constexpr u64 sumStep(int step) {
  return kAlongRows ? step * (16 * 128 >> 4) : columnStep<Tile>(step);
}

/// The transpose of a tile, as a factor of a product; nothing moves.
template <class Tile> struct Transposed {
  Tile tile;
};
template <class Tile> ATTNC_DEVICE Transposed<Tile> transposed(Tile tile) { return {tile}; }

/// c (+)= a b, or a b^T if kTransposed; a in shared memory, 64 rows. Sums over columns run up to a
/// multiple of 16.
template <bool kReplace, bool kTransposed, class Fragment, class A, class B>
ATTNC_DEVICE void startProducts(Fragment &c, A a, B b) {
  static_assert(A::kRows == 64 && A::kCols == (kTransposed ? B::kCols : B::kRows) &&
                (kTransposed ? B::kRows : B::kCols) == Fragment::kCols);
  const u64 from = descriptor(a), with = descriptor(b);
#pragma unroll
  for (int k = 0; k < divideUp(A::kCols, 16); ++k)
    wgmma<typename A::Element, 0, !kTransposed>(
        c, from + columnStep<A>(k), with + sumStep<B, !kTransposed>(k), !kReplace || k > 0);
}

/// c (+)= a^T b or a^T b^T: 64 columns of a, a row of it for each index of the sum.
template <bool kReplace, bool kTransposed, class Fragment, class A, class B>
ATTNC_DEVICE void startProducts(Fragment &c, Transposed<A> a, B b) {
  static_assert(A::kCols == 64 && A::kRows == (kTransposed ? B::kCols : B::kRows) &&
                (kTransposed ? B::kRows : B::kCols) == Fragment::kCols);
  const u64 from = descriptor(a.tile), with = descriptor(b);
#pragma unroll
  for (int k = 0; k < A::kRows / 16; ++k)
    wgmma<typename A::Element, 1, !kTransposed>(
        c, from + sumStep<A, true>(k), with + sumStep<B, !kTransposed>(k), !kReplace || k > 0);
}

/// The same with a in registers.
template <bool kReplace, bool kTransposed, class Fragment, class T, int kDepth, class B>
ATTNC_DEVICE void startProducts(Fragment &c, const RegisterOperand<T, kDepth> &a, B b) {
  static_assert(kDepth == (kTransposed ? B::kCols : B::kRows) &&
                (kTransposed ? B::kRows : B::kCols) == Fragment::kCols);
  const u64 with = descriptor(b);
#pragma unroll
  for (int k = 0; k < kDepth / 16; ++k)
    wgmma<T, 0, !kTransposed>(c, a.x[k], with + sumStep<B, !kTransposed>(k), !kReplace || k > 0);
}

/// The columns of c from kFirst on, in as few products as 256 columns allow, the most that one
/// instruction has: whole panels of about as many columns each.
template <bool kReplace, int kFirst, int kCols, class A, class B>
ATTNC_DEVICE void startColumns(Accumulator<16, kCols> &c, const A &a, B b) {
  constexpr int kLeft = kCols - kFirst, kEven = divideUp(divideUp(kLeft, divideUp(kLeft, 256)), 64);
  constexpr int kCount = kEven * 64 < kLeft ? kEven * 64 : kLeft;
  auto &part = reinterpret_cast<Accumulator<16, kCount> &>(c.block[0][kFirst / 8]);
  startProducts<kReplace, false>(part, a, b.template columns<kCount>(kFirst));
  if constexpr (kFirst + kCount < kCols)
    startColumns<kReplace, kFirst + kCount>(c, a, b);
}

/// Starts c += a b: one row of b for each column of a.
template <bool kReplace = false, class Fragment, class A, class B>
ATTNC_DEVICE void startAB(Fragment &c, const A &a, B b) {
  if constexpr (Fragment::kCols > 256)
    startColumns<kReplace, 0>(c, a, b);
  else
    startProducts<kReplace, false>(c, a, b);
}
/// Starts c += a b^T: one row of b for each column of c.
template <bool kReplace = false, class Fragment, class A, class B>
ATTNC_DEVICE void startABt(Fragment &c, const A &a, B b) {
  startProducts<kReplace, true>(c, a, b);
}

} // namespace attnc
