// What the lanes of a warp make of the values that each of them has.
#pragma once
#include "attnc/index.cuh"

namespace attnc {

template <class T> ATTNC_DEVICE T combine(Add, T x, T y) { return x + y; }
template <class T> ATTNC_DEVICE T combine(Multiply, T x, T y) { return x * y; }
template <class T> ATTNC_DEVICE T combine(Max, T x, T y) { return max(x, y); }
template <class T> ATTNC_DEVICE T combine(Min, T x, T y) { return min(x, y); }

/// The values of all 32 lanes, which come here together, combined; each receives the same bits.
template <class Op, class T> ATTNC_DEVICE T foldLanes(T x) {
  #pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x = combine(Op{}, x, static_cast<T>(__shfl_xor_sync(~0u, x, distance)));
  }
  return x;
}

/// In one instruction: redux.sync.
template <> ATTNC_DEVICE i32 foldLanes<Max, i32>(i32 x) { return __reduce_max_sync(~0u, x); }

} // namespace attnc
