// Order among blocks by a counter in global memory.
#pragma once
#include "attnc/barrier.cuh"

namespace attnc {

/// How many tickets were drawn before; after `count` of them the counter stands at 0 again. What
/// this thread has seen written before is seen by whoever draws a later one. PTX ISA, "atom".
ATTNC_DEVICE i32 drawTicket(i32 *counter, i32 count) {
  i32 before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(count - 1)
               : "memory");
  return before;
}

/// The same without any order: it counts and nothing else, so nobody waits for the number before it
/// is used.
ATTNC_DEVICE i32 drawTicketRelaxed(i32 *counter, i32 count) {
  i32 before;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(count - 1));
  return before;
}

/// The threads that meet at the hardware barrier `id`, one of which `draws`: true if `count` - 1
/// blocks have come here before. What the threads of those wrote before is seen after.
ATTNC_DEVICE bool isLastBlock(i32 *counter, i32 count, int id, int threads, bool draws) {
  meet(id, threads);
  bool last = false;
  if (draws)
    last = drawTicket(counter, count) == count - 1;
  return meetAny(id, threads, last);
}

} // namespace attnc
