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

/// The block of four columns at the counter (x, y, z, floor(column / 4)) under the key `seed`, low
/// half first. Indices count modulo 2^32, the column modulo 2^34.
ATTNC_DEVICE PhiloxBlock blockAt(i64 seed, i64 x, i64 y, i64 z, i64 column) {
  const u64 fourth = static_cast<u64>(column) >> 2;
  return philox(
      {static_cast<u32>(x), static_cast<u32>(y), static_cast<u32>(z), static_cast<u32>(fourth)},
      static_cast<u32>(seed), static_cast<u32>(static_cast<u64>(seed) >> 32));
}

/// Uniform in [0, 1), a multiple of 2^-24: the upper 24 bits of word `column % 4` of that block.
ATTNC_DEVICE f32 uniform(i64 seed, i64 x, i64 y, i64 z, i64 column) {
  const PhiloxBlock words = blockAt(seed, x, y, z, column);
  const u32 low = static_cast<u32>(column);
  const u32 even = low & 2 ? words.z : words.x;
  const u32 odd = low & 2 ? words.w : words.y;
  u32 word = low & 1 ? odd : even;
  // Computed here even if only one side of a choice uses it: moved into that side, it would make a
  // branch of every element.
  asm volatile("" : "+r"(word));
  return static_cast<f32>(word >> 8) * 0x1p-24f;
}

/// The numbers of a lane's elements of an Accumulator, whose rows are the third index and whose
/// columns count from a multiple of 4. Two lanes have four neighbouring columns of two rows between
/// them: each computes the block of one row, and they exchange what is of the other's columns. All
/// lanes of the warp take part.
class LaneUniforms {
  u32 words[4]; // of elements e, e + 1 and, 8 rows below, e + 2, e + 3

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
    if (e % 4 == 0)
      refill(seed, x, y, z, column);
    return words[e % 4];
  }

  ATTNC_DEVICE void refill(i64 seed, i64 x, i64 y, i64 z, i64 column) {
    const bool odd = threadIdx.x & 1; // a lane's number has its thread's last bit
    const PhiloxBlock own = blockAt(seed, x, y, odd ? z + 8 : z, column);
    const u32 left[] = {own.x, own.y}, right[] = {own.z, own.w};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const u32 other = __shfl_xor_sync(~0u, odd ? left[i] : right[i], 1);
      words[i] = odd ? other : left[i];
      words[2 + i] = odd ? right[i] : other;
    }
  }
};

} // namespace attnc
