// The device header of random numbers, compiled for the processor: the same bits as attn.rand
// means.
#include "dialects/Attn/Random.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

// What CUDA's compiler declares.
#define __device__
#define __forceinline__ inline
static struct {
  unsigned x, y, z;
} threadIdx;
[[maybe_unused]] static constexpr struct {
  unsigned x, y, z;
} blockIdx = {}, blockDim = {}, gridDim = {};
static unsigned __float2uint_ru(float x) {
  return !(x > 0) ? 0 : x > 4294967040.0f ? ~0u : static_cast<unsigned>(std::ceil(x));
}
static unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
#include "attnc/random.cuh"

namespace attnc {
namespace {

using Words = std::array<uint32_t, 4>;

Words deviceWords(Words counter, std::array<uint32_t, 2> key) {
  PhiloxBlock block = philox({counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
  return {block.x, block.y, block.z, block.w};
}

// The known answers that Random123 ships for philox4x32-10 (Salmon et al. 2011).
TEST(DeviceRandom, knownAnswers) {
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(deviceWords({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(deviceWords({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(deviceWords({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DeviceRandom, isUniformBitForBit) {
  const int64_t seeds[] = {0, 1, -1, 0x299f31d0a4093822};
  const int64_t indices[] = {0, 3, -1, 1ll << 31, (1ll << 32) + 5};
  const int64_t columns[] = {0,        1, 2, 3, 4, 1023, -1, -6, (1ll << 32) + 1, (1ll << 34) - 1,
                             1ll << 34};
  for (int64_t seed : seeds)
    for (int64_t x : indices)
      for (int64_t z : indices)
        for (int64_t column : columns)
          EXPECT_EQ(uniform(seed, x, 7, z, column), attn::uniform(seed, x, 7, z, column))
              << seed << " " << x << " " << z << " " << column;
}

/// The numbers of a lane's elements of 16 rows and `columns` columns that begin at `row` and
/// `column`, and whether they are below `limit`.
struct LaneNumbers {
  std::vector<float> numbers;
  std::vector<bool> isBelow;
};

LaneNumbers numbersOf(unsigned lane, unsigned columns, int64_t row, int64_t column, float limit) {
  LaneNumbers out;
  LaneUniforms uniforms, limited;
  for (int e = 0; e < static_cast<int>(columns / 2); ++e) {
    int64_t z = row + lane / 4 + e % 4 / 2 * 8, j = column + e / 4 * 8 + 2 * (lane % 4) + e % 2;
    out.numbers.push_back(uniforms.next(e, 5, 1, 2, z, j));
    out.isBelow.push_back(limited.nextIsBelow(limit, e, 5, 1, 2, z, j));
  }
  return out;
}

TEST(LaneUniforms, areTheNumbersOfTheElements) {
  constexpr unsigned columns = 48; // of one strip of 16 rows
  constexpr float limit = 0.375f;
  for (int64_t row : {int64_t{0}, int64_t{-8}, (int64_t{1} << 32) - 8})
    for (int64_t column : {int64_t{0}, int64_t{48}, (int64_t{1} << 34) - 16})
      for (unsigned lane = 0; lane < 32; ++lane) {
        LaneNumbers lanes = numbersOf(lane, columns, row, column, limit);
        for (unsigned e = 0; e < columns / 2; ++e) {
          float expected = attn::uniform(5, 1, 2, row + lane / 4 + e % 4 / 2 * 8,
                                         column + e / 4 * 8 + 2 * (lane % 4) + e % 2);
          EXPECT_EQ(lanes.numbers[e], expected) << lane << " " << e;
          EXPECT_EQ(lanes.isBelow[e], expected < limit) << lane << " " << e;
        }
      }
}

TEST(LaneUniforms, compareAsNumbersDo) {
  float first = numbersOf(0, 16, 0, 0, 0).numbers.front();
  float limits[] = {0,
                    -1,
                    first,
                    std::nextafter(first, 2.0f),
                    std::nextafter(first, 0.0f),
                    1,
                    2,
                    1e30f,
                    std::numeric_limits<float>::infinity(),
                    1e-40f,
                    std::numeric_limits<float>::quiet_NaN()};
  for (float limit : limits)
    EXPECT_EQ(numbersOf(0, 16, 0, 0, limit).isBelow.front(), first < limit) << limit;
}

} // namespace
} // namespace attnc
