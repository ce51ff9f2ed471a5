// Barriers of a block: mbarriers in shared memory, which count arrivals and bytes of copies, and
// the numbered hardware barriers. PTX ISA, "mbarrier" and "bar".
#pragma once
#include "attnc/smem.cuh"

namespace attnc {

/// One thread: the barrier's phase completes with `arrivals` arrivals and the bytes expected.
ATTNC_DEVICE void initBarrier(u32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// One thread, after initBarrier: other threads and copies see the barriers once the block has met.
ATTNC_DEVICE void publishBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
ATTNC_DEVICE void arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and lets the phase wait for `bytes` of copies too.
ATTNC_DEVICE void arriveExpecting(u32 barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Bytes that asynchronous copies are to bring before the phase completes; the caller has yet to
/// arrive.
ATTNC_DEVICE void expectBytes(u32 barrier, int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits until the phase of the given parity (0 for the first) has completed.
ATTNC_DEVICE void awaitBarrier(u32 barrier, u32 parity) {
  asm volatile("{\n"
               "  .reg .pred done;\n"
               "again%=:\n"
               "  mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "  @!done bra again%=;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// kCount barriers in shared memory, 8 bytes each.
template <int kCount> struct Barriers {
  u32 base;
  ATTNC_DEVICE u32 operator[](u32 n) const { return base + 8 * n; }
  /// One thread, before any use, and before publishBarriers.
  ATTNC_DEVICE void start(int arrivals) const {
#pragma unroll
    for (int n = 0; n < kCount; ++n)
      initBarrier((*this)[n], arrivals);
  }
};

/// The hardware barrier `id` (1 to 15) for `threads` threads: all of them meet, or some only
/// arrive and let the others pass.
ATTNC_DEVICE void meet(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
ATTNC_DEVICE void signal(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Meets, and tells all who meet whether `x` is true for one of them.
ATTNC_DEVICE bool meetAny(int id, int threads, bool x) {
  u32 any;
  asm volatile("{\n"
               "  .reg .pred in, out;\n"
               "  setp.ne.u32 in, %3, 0;\n"
               "  bar.red.or.pred out, %1, %2, in;\n"
               "  selp.u32 %0, 1, 0, out;\n"
               "}"
               : "=r"(any)
               : "r"(id), "r"(threads), "r"(static_cast<u32>(x))
               : "memory");
  return any;
}

/// Shared memory written by this thread before is seen by copies and matrix products after.
ATTNC_DEVICE void publishToAsync() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// The number of this warpgroup, four warps, in its block. The compiler sees that it is the same in
/// the whole warp, so a decision on it is no divergent branch.
ATTNC_DEVICE int warpgroupIndex() { return __shfl_sync(~0u, threadIdx.x / 128, 0); }

/// This warp's registers, from what the launch gave it to kCount: roles that need few leave them to
/// those that need many. All warps of a group of four call it.
template <int kCount> ATTNC_DEVICE void shrinkRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount> ATTNC_DEVICE void growRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

} // namespace attnc
