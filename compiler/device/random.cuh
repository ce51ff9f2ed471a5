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

/// Uniform in [0, 1), a multiple of 2^-24: the upper 24 bits of word `column % 4` at the counter
/// (x, y, z, floor(column / 4)) under the key `seed`, low half first. Indices count modulo 2^32,
/// the column modulo 2^34.
ATTNC_DEVICE f32 uniform(i64 seed, i64 x, i64 y, i64 z, i64 column) {
  const u32 low = static_cast<u32>(column), high = static_cast<u32>(column >> 32);
  const PhiloxBlock words =
      philox({static_cast<u32>(x), static_cast<u32>(y), static_cast<u32>(z), low >> 2 | high << 30},
             static_cast<u32>(seed), static_cast<u32>(static_cast<u64>(seed) >> 32));
  const u32 even = low & 2 ? words.z : words.x;
  const u32 odd = low & 2 ? words.w : words.y;
  u32 word = low & 1 ? odd : even;
  // Computed here even if only one side of a choice uses it: moved into that side, it would make a
  // branch of every element.
  asm volatile("" : "+r"(word));
  return static_cast<f32>(word >> 8) * 0x1p-24f;
}

} // namespace attnc
