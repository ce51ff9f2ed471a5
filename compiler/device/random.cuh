// Random numbers that are a function of their place: Philox 4x32-10 (Salmon et al. 2011, Parallel
// random numbers: as easy as 1, 2, 3).
#pragma once
#include "attnc/types.cuh"

namespace attnc {

/// The counter of a block of four words, and then the words.
struct PhiloxBlock {
  u32 x, y, z, w;
};

ATTNC_DEVICE PhiloxBlock philox(PhiloxBlock c, u32 key0, u32 key1) {
  constexpr u32 kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    c = {__umulhi(kMultiplier1, c.z) ^ c.y ^ key0, kMultiplier1 * c.z,
         __umulhi(kMultiplier0, c.x) ^ c.w ^ key1, kMultiplier0 * c.x};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

/// The block that has the word of a column (uniform), under the key `seed`, low half first. Indices
/// count modulo 2^32, the column modulo 2^34.
ATTNC_DEVICE PhiloxBlock blockAt(i64 seed, i64 x, i64 y, i64 z, i64 column) {
  const u32 number = static_cast<u32>(column >> 4) << 2 | (static_cast<u32>(column) >> 1 & 3);
  return philox({static_cast<u32>(x), static_cast<u32>(y), static_cast<u32>(z), number},
                static_cast<u32>(seed), static_cast<u32>(static_cast<u64>(seed) >> 32));
}

/// Uniform in [0, 1), a multiple of 2^-24: the upper 24 bits of the column's word in that block. A
/// block has the columns c, c + 1, c + 8 and c + 9, for c = 0, 2, 4 and 6 of each 16.
ATTNC_DEVICE f32 uniform(i64 seed, i64 x, i64 y, i64 z, i64 column) {
  const PhiloxBlock words = blockAt(seed, x, y, z, column);
  const u32 low = static_cast<u32>(column);
  const u32 even = low & 8 ? words.z : words.x;
  const u32 odd = low & 8 ? words.w : words.y;
  u32 word = low & 1 ? odd : even;
  // Computed here even if only one side of a choice uses it: moved into that side, it would make a
  // branch of every element.
  asm volatile("" : "+r"(word));
  return static_cast<f32>(word >> 8) * 0x1p-24f;
}

/// The numbers of a lane's elements of an Accumulator, whose rows are the third index and whose
/// columns, a multiple of 16, count from one. Of each row and 16 columns a lane has the four of a
/// block.
class LaneUniforms {
  u32 words[8]; // of elements e to e + 7: every other two 8 rows below, the last four 8 columns on

public:
  /// That of element `e`, for e = 0, 1, 2, ...: `uniform(seed, x, y, z, column)`.
  ATTNC_DEVICE f32 next(int e, i64 seed, i64 x, i64 y, i64 z, i64 column) {
    return static_cast<f32>(nextWord(e, seed, x, y, z, column) >> 8) * 0x1p-24f;
  }

  /// Whether it is below `limit`: fewer than that are steps of 2^-24, rounded up; none below NaN.
  ATTNC_DEVICE bool nextIsBelow(f32 limit, int e, i64 seed, i64 x, i64 y, i64 z, i64 column) {
    // The lower 8 bits of a word decide nothing, so words are compared as they are.
    const u32 word = nextWord(e, seed, x, y, z, column);
    const u32 steps = __float2uint_ru(limit * 0x1p24f), most = 1u << 24;
    return (word <= ((steps < most ? steps : most) << 8) - 1) & (steps != 0);
  }

private:
  ATTNC_DEVICE u32 nextWord(int e, i64 seed, i64 x, i64 y, i64 z, i64 column) {
    if (e % 8 == 0 || e % 8 == 2) {
      const PhiloxBlock block = blockAt(seed, x, y, z, column);
      words[e % 8] = block.x;
      words[e % 8 + 1] = block.y;
      words[e % 8 + 4] = block.z;
      words[e % 8 + 5] = block.w;
    }
    return words[e % 8];
  }
};

} // namespace attnc
