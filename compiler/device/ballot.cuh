// Words of 32 bits, one of each lane of a warp.
#pragma once
#include "attnc/fragment.cuh"

namespace attnc {

/// Bit n is what lane n says, for all lanes of the warp, which come here together.
ATTNC_DEVICE i32 ballotLanes(bool x) { return static_cast<i32>(__ballot_sync(~0u, x)); }

/// The number of the lowest bit that is set, of a word that is not 0; the word without it.
ATTNC_DEVICE i32 firstBit(i32 word) { return __ffs(word) - 1; }
ATTNC_DEVICE i32 withoutFirstBit(i32 word) {
  return static_cast<i32>(static_cast<u32>(word) & (static_cast<u32>(word) - 1u));
}
ATTNC_DEVICE bool hasBit(i32 word, i32 number) { return (static_cast<u32>(word) >> number) & 1u; }

} // namespace attnc
