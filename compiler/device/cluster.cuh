// Blocks of a cluster and each other's shared memory. PTX ISA, "mapa", "st.async",
// "cp.async.bulk", "barrier.cluster".
//
// Barriers keep the default scope of their arrivals: with .release.cluster and .acquire.cluster
// each of them waits for all memory traffic of the thread, which costs half of a kernel's speed.
// Data that crosses is counted by the barrier itself.
#pragma once
#include "attnc/barrier.cuh"
#include "attnc/fragment.cuh"

namespace attnc {

/// The number of this block in its cluster.
ATTNC_DEVICE i32 clusterRank() {
  i32 x;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(x));
  return x;
}

/// All threads of the cluster meet; shared memory written before is seen after.
ATTNC_DEVICE void meetCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

/// The address of the same place in block `peer`.
ATTNC_DEVICE u32 sharedOf(u32 address, i32 peer) {
  u32 x;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(x) : "r"(address), "r"(peer));
  return x;
}

/// Arrives at the same barrier of block `peer`.
ATTNC_DEVICE void arriveAt(u32 barrier, i32 peer) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(sharedOf(barrier, peer))
               : "memory");
}
ATTNC_DEVICE void arriveExpectingAt(u32 barrier, int bytes, i32 peer) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(sharedOf(barrier, peer)),
      "r"(bytes)
      : "memory");
}

/// One thread: starts the copy of a tile to `into` of block `peer`, whose barrier counts the bytes.
template <class Tile> ATTNC_DEVICE void sendTile(Tile tile, Tile into, i32 peer, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
               "%2, [%3];" ::"r"(sharedOf(into.base, peer)),
               "r"(tile.base), "n"(Tile::kBytes), "r"(sharedOf(barrier, peer))
               : "memory");
}

/// Each of kThreads threads: its part of a fragment to `into` of block `peer`, whose barrier counts
/// the bytes; the thread with the same number there adds it by addReceived.
template <int kThreads, int kRows, int kCols>
ATTNC_DEVICE void sendFragment(u32 into, const Accumulator<kRows, kCols> &x, i32 peer,
                               u32 barrier) {
  const u32 to = sharedOf(into + threadIndex() % kThreads * 16, peer);
  const u32 counts = sharedOf(barrier, peer);
#pragma unroll
  for (int p = 0; p < x.kSize / 4; ++p)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, "
                 "%4}, [%5];" ::"r"(to + p * kThreads * 16),
                 "f"(x[4 * p]), "f"(x[4 * p + 1]), "f"(x[4 * p + 2]), "f"(x[4 * p + 3]), "r"(counts)
                 : "memory");
}
template <int kThreads, int kRows, int kCols>
ATTNC_DEVICE void addReceived(Accumulator<kRows, kCols> &x, u32 from) {
#pragma unroll
  for (int p = 0; p < x.kSize / 4; ++p) {
    const uint4 piece = loadShared16(from + (p * kThreads + threadIndex() % kThreads) * 16);
    x[4 * p] += __uint_as_float(piece.x);
    x[4 * p + 1] += __uint_as_float(piece.y);
    x[4 * p + 2] += __uint_as_float(piece.z);
    x[4 * p + 3] += __uint_as_float(piece.w);
  }
}

} // namespace attnc
