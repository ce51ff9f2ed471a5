// Conversions between storage types and f32, round to nearest even. A packed pair holds its first
// element in the low half, as memory and the mma operands do.
#pragma once
#include "attnc/types.cuh"

namespace attnc {

ATTNC_DEVICE f32 toF32(f32 x) { return x; }
ATTNC_DEVICE f32 toF32(bf16 x) { return __uint_as_float(static_cast<u32>(x.bits) << 16); }
ATTNC_DEVICE f32 toF32(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

/// An element as arithmetic has it: real numbers as f32, integers as i64.
template <class T> ATTNC_DEVICE f32 computed(T x) { return toF32(x); }
ATTNC_DEVICE i64 computed(i32 x) { return x; }
ATTNC_DEVICE i64 computed(i64 x) { return x; }

template <class T> ATTNC_DEVICE T fromF32(f32 x);
template <> ATTNC_DEVICE f32 fromF32<f32>(f32 x) { return x; }
template <> ATTNC_DEVICE f16 fromF32<f16>(f32 x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
template <> ATTNC_DEVICE bf16 fromF32<bf16>(f32 x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

/// Two 16-bit floats in one register.
template <class T> ATTNC_DEVICE u32 packPair(f32 first, f32 second);
template <> ATTNC_DEVICE u32 packPair<f16>(f32 first, f32 second) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(second), "f"(first));
  return y;
}
template <> ATTNC_DEVICE u32 packPair<bf16>(f32 first, f32 second) {
  u32 y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(second), "f"(first));
  return y;
}

/// Element 0 or 1 of a packed pair.
template <class T> ATTNC_DEVICE f32 unpack(u32 pair, int index) {
  return toF32(T{static_cast<u16>(index == 0 ? pair : pair >> 16)});
}
/// Both elements of a packed pair times `factor`.
template <class T> ATTNC_DEVICE u32 scalePair(u32 pair, f32 factor) {
  return packPair<T>(unpack<T>(pair, 0) * factor, unpack<T>(pair, 1) * factor);
}

} // namespace attnc
