// Scalar functions of a map body, all in f32, with the edge values that the compiler promises:
// max and min propagate NaN, and minus(-inf, y) is -inf for every y.
#pragma once
#include "attnc/types.cuh"

namespace attnc {

/// 2^x; 2 ulp, subnormal results become 0. PTX ex2.approx.
ATTNC_DEVICE f32 exp2(f32 x) {
  f32 y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// log2(x); absolute error 2^-22 near 1. log2(0) = -inf. PTX lg2.approx.
ATTNC_DEVICE f32 log2(f32 x) {
  f32 y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

ATTNC_DEVICE f32 exp(f32 x) { return exp2(x * 1.44269504089f); }
ATTNC_DEVICE f32 log(f32 x) { return log2(x) * 0.69314718056f; }

/// tanh with 2^-11 relative error in one instruction. PTX tanh.approx.
ATTNC_DEVICE f32 tanh(f32 x) {
  f32 y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

ATTNC_DEVICE f32 erf(f32 x) { return erff(x); }
ATTNC_DEVICE f32 sqrt(f32 x) { return __fsqrt_rn(x); }
ATTNC_DEVICE f32 rsqrt(f32 x) { return rsqrtf(x); }

/// 1/x, within 1 ulp, without the branch of a division, around which a thread computes one element
/// after the other. PTX rcp.approx.
ATTNC_DEVICE f32 reciprocal(f32 x) {
  f32 y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1/x, within 1 ulp, of an |x| of 2^-126 or more; below 2^-126 the result is 0. One instruction,
/// where `reciprocal` is seven. PTX rcp.approx.ftz.
ATTNC_DEVICE f32 normalReciprocal(f32 x) {
  f32 y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// The larger operand; NaN if either is NaN.
ATTNC_DEVICE f32 max(f32 x, f32 y) {
  f32 z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

/// The smaller operand; NaN if either is NaN.
ATTNC_DEVICE f32 min(f32 x, f32 y) {
  f32 z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

ATTNC_DEVICE i32 max(i32 x, i32 y) { return x > y ? x : y; }
ATTNC_DEVICE i32 min(i32 x, i32 y) { return x < y ? x : y; }

/// x - y on the extended reals: -inf whenever x is -inf.
ATTNC_DEVICE f32 minus(f32 x, f32 y) { return x == -kInfinity ? x : x - y; }

/// minus(x, y) where only an exponential reads it, without a question for each x: y = -inf counts as
/// the lowest number, beside which the exponential is inf unless x is that number, too. A product x
/// is rounded before: the difference is 0 where y is the same number.
ATTNC_DEVICE f32 exponent(f32 x, f32 y) { return __fsub_rn(x, max(y, -3.402823466e38f)); }

/// x, or 0 where x is -inf. `s - orZero(m)` equals minus(s, m) for every s <= m, with one select
/// per row instead of one per element.
ATTNC_DEVICE f32 orZero(f32 x) { return x == -kInfinity ? 0.0f : x; }

/// x / y with 0 / 0 = 0: the weight of a row without keys.
ATTNC_DEVICE f32 ratio(f32 x, f32 y) { return y == 0.0f && x == 0.0f ? 0.0f : __fdiv_rn(x, y); }

// Combining functions of reductions (fragment.cuh).
struct Add {
  static constexpr f32 kIdentity = 0.0f;
  static ATTNC_DEVICE f32 apply(f32 x, f32 y) { return x + y; }
};
struct Multiply {
  static constexpr f32 kIdentity = 1.0f;
  static ATTNC_DEVICE f32 apply(f32 x, f32 y) { return x * y; }
};
struct Max {
  static constexpr f32 kIdentity = -kInfinity;
  static ATTNC_DEVICE f32 apply(f32 x, f32 y) { return max(x, y); }
};
struct Min {
  static constexpr f32 kIdentity = kInfinity;
  static ATTNC_DEVICE f32 apply(f32 x, f32 y) { return min(x, y); }
};

} // namespace attnc
