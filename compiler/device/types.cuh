// Fixed-width names and storage types. Device code includes neither CUDA's headers nor the standard
// library: NVRTC then needs no include path and compiles several times faster.
#pragma once

#define ATTNC_DEVICE __device__ __forceinline__

namespace attnc {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f32 = float;

/// Storage of a 16-bit float. Arithmetic is done in f32; see convert.cuh.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

template <class A, class B> constexpr bool sameType = false;
template <class A> constexpr bool sameType<A, A> = true;

constexpr f32 kInfinity = __builtin_bit_cast(f32, 0x7f800000u);

constexpr int kWarp = 32;
ATTNC_DEVICE int lane() { return threadIdx.x % kWarp; }
ATTNC_DEVICE int warp() { return threadIdx.x / kWarp; }

/// threadIdx.x and blockIdx.x, read anew at each call: what is derived from them inside a loop or
/// after it is computed there. Keeping such values in registers across a loop that fills the
/// register file would make the compiler spill.
ATTNC_DEVICE int threadIndex() {
  int x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
}
ATTNC_DEVICE int blockIndex() {
  int x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
}
ATTNC_DEVICE int gridSize() { return gridDim.x; }

/// One of several places of a type.
template <class T> ATTNC_DEVICE T choose(int, T last) { return last; }
template <class T, class... Rest> ATTNC_DEVICE T choose(int n, T first, Rest... rest) {
  return n == 0 ? first : choose(n - 1, rest...);
}

ATTNC_DEVICE constexpr int roundUp(int x, int multiple) {
  return (x + multiple - 1) / multiple * multiple;
}
ATTNC_DEVICE constexpr int divideUp(int x, int by) { return (x + by - 1) / by; }
ATTNC_DEVICE constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

} // namespace attnc
