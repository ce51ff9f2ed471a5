// Integer arithmetic of indices and of single elements in memory.
#pragma once
#include "attnc/convert.cuh"
#include "attnc/scalar.cuh"

namespace attnc {

template <class T> ATTNC_DEVICE T max(T x, T y) { return x > y ? x : y; }
template <class T> ATTNC_DEVICE T min(T x, T y) { return x < y ? x : y; }

/// |x|; of the smallest integer, itself.
template <class T> ATTNC_DEVICE T magnitude(T x) { return x < 0 ? -x : x; }

/// The quotient rounded down, and x - y * floor(x / y), which has the sign of y.
template <class T> ATTNC_DEVICE T floorDivide(T x, T y) {
  const T quotient = x / y;
  return quotient * y != x && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
template <class T> ATTNC_DEVICE T floorModulus(T x, T y) {
  const T rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// The number of this warp in its block, read anew at each call as threadIndex is.
ATTNC_DEVICE i32 warpIndex() { return threadIndex() / kWarp; }
/// The same where all threads of the warp call it; the compiler sees that it is.
ATTNC_DEVICE i32 uniformWarpIndex() { return __shfl_sync(~0u, threadIndex() / kWarp, 0); }

/// Waits until the launch before this one in the stream has ended and its results can be read. The
/// next one may start as blocks of this one end: if they were let in before, where they wait they
/// would slow down those that work. PTX griddepcontrol.
ATTNC_DEVICE void awaitLaunchBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The launch behind this one may start. It reads nothing that this one stores.
ATTNC_DEVICE void letNextStart() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Of a kernel that has started beside the launch before it: the last block does not end earlier.
ATTNC_DEVICE void awaitLaunchBeside() {
  if (blockIdx.x + 1 == gridDim.x && blockIdx.y + 1 == gridDim.y && blockIdx.z + 1 == gridDim.z)
    awaitLaunchBefore();
}

/// The number of this thread in a launch of one dimension.
ATTNC_DEVICE i64 launchPoint() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }

} // namespace attnc
