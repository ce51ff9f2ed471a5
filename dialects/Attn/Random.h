// Random numbers that are a function of their place: what attn.rand means.
#ifndef ATTNC_DIALECTS_ATTN_RANDOM_H
#define ATTNC_DIALECTS_ATTN_RANDOM_H

#include <array>
#include <cstdint>

namespace attnc::attn {

/// The constants of Philox 4x32 (Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3).
struct Philox {
  static constexpr int kRounds = 10;
  static constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  /// What is added to the halves of the key after each round.
  static constexpr uint32_t kStep0 = 0x9E3779B9, kStep1 = 0xBB67AE85;
};

/// The four words of Philox 4x32-10 at a counter under a key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < Philox::kRounds; ++round) {
    uint64_t p = uint64_t(Philox::kMultiplier0) * counter[0];
    uint64_t q = uint64_t(Philox::kMultiplier1) * counter[2];
    counter = {uint32_t(q >> 32) ^ counter[1] ^ key[0], uint32_t(q),
               uint32_t(p >> 32) ^ counter[3] ^ key[1], uint32_t(p)};
    key = {key[0] + Philox::kStep0, key[1] + Philox::kStep1};
  }
  return counter;
}

/// attn.rand: uniform in [0, 1), a multiple of 2^-24. Indices count modulo 2^32, the last one
/// modulo 2^34. A block has the columns c, c + 1, c + 8 and c + 9 for an even c in the first half
/// of 16: what a lane has of a row in an accumulator of tensor cores, 16 columns wide.
constexpr float uniform(int64_t seed, int64_t x, int64_t y, int64_t z, int64_t column) {
  uint32_t block = uint32_t(column >> 4) << 2 | uint32_t(column >> 1 & 3);
  std::array<uint32_t, 4> words = philox({uint32_t(x), uint32_t(y), uint32_t(z), block},
                                         {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)});
  return float(words[(column & 1) + (column >> 2 & 2)] >> 8) * 0x1p-24f;
}

} // namespace attnc::attn

#endif
