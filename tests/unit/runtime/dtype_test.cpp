#include "runtime/program/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace attnc;

namespace {

/// A 16-bit float format by its definition, independent of the code under test.
struct Format {
  int exponentBits, mantissaBits;
  std::uint16_t (*narrow)(float);
  float (*widen)(std::uint16_t);
  DType type;

  bool isNan(std::uint16_t bits) const { return (bits & 0x7fff) > infinity(); }
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponentBits) - 1) << mantissaBits);
  }

  /// Finite values only.
  double value(std::uint16_t bits) const {
    int exponent = (bits & 0x7fff) >> mantissaBits, mantissa = bits & ((1 << mantissaBits) - 1);
    int bias = (1 << (exponentBits - 1)) - 1;
    double magnitude =
        exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                      : std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
    return bits & 0x8000 ? -magnitude : magnitude;
  }
};

void PrintTo(const Format &format, std::ostream *os) { *os << dtypeName(format.type); }

class SixteenBits : public testing::TestWithParam<Format> {};

TEST_P(SixteenBits, EveryPatternWidensToItsValueAndBack) {
  const Format &format = GetParam();
  for (unsigned pattern = 0; pattern < 65536; ++pattern) {
    auto bits = static_cast<std::uint16_t>(pattern);
    float wide = format.widen(bits);
    if (format.isNan(bits)) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      ASSERT_TRUE(format.isNan(format.narrow(wide))) << pattern;
      continue;
    }
    if ((bits & 0x7fff) == format.infinity())
      ASSERT_TRUE(std::isinf(wide)) << pattern;
    else
      ASSERT_EQ(static_cast<double>(wide), format.value(bits)) << pattern;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << pattern;
    ASSERT_EQ(format.narrow(wide), bits) << pattern;
  }
}

TEST_P(SixteenBits, MidpointsRoundToEvenAndTheirNeighboursToTheNearest) {
  const Format &format = GetParam();
  for (unsigned pattern = 0; pattern < format.infinity(); ++pattern) {
    auto low = static_cast<std::uint16_t>(pattern), high = static_cast<std::uint16_t>(pattern + 1);
    // The step to infinity has the width of the step before it.
    double next = high == format.infinity()
                      ? 2 * format.value(low) - format.value(static_cast<std::uint16_t>(low - 1))
                      : format.value(high);
    double middle = (format.value(low) + next) / 2;
    std::uint16_t even = low & 1 ? high : low;
    for (std::uint16_t sign : {0, 0x8000}) {
      auto rounded = [&](double magnitude) {
        return format.narrow(static_cast<float>(sign ? -magnitude : magnitude));
      };
      auto stored = [&](double magnitude) {
        std::uint16_t result = 0;
        storeElement(format.type, sign ? -magnitude : magnitude, &result);
        return result;
      };
      auto middleAsFloat = static_cast<float>(middle);
      if (static_cast<double>(middleAsFloat) == middle) { // not so below the subnormals of f32
        ASSERT_EQ(rounded(middle), even | sign) << pattern;
        ASSERT_EQ(rounded(std::nextafter(middleAsFloat, 0.0f)), low | sign) << pattern;
        ASSERT_EQ(rounded(std::nextafter(middleAsFloat, std::numeric_limits<float>::infinity())),
                  high | sign)
            << pattern;
      }
      ASSERT_EQ(stored(middle), even | sign) << pattern;
      // Closer to the midpoint than f32 can tell: rounding twice would go wrong here.
      ASSERT_EQ(stored(std::nextafter(middle, 0.0)), low | sign) << pattern;
      ASSERT_EQ(stored(std::nextafter(middle, INFINITY)), high | sign) << pattern;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DType, SixteenBits,
                         testing::Values(Format{5, 10, floatToHalf, halfToFloat, DType::F16},
                                         Format{8, 7, floatToBFloat, bfloatToFloat, DType::BF16}),
                         [](const auto &info) { return std::string(dtypeName(info.param.type)); });

TEST(DType, OverflowAndNanKeepTheirSign) {
  EXPECT_EQ(floatToHalf(1e30f), 0x7c00);
  EXPECT_EQ(floatToHalf(-1e30f), 0xfc00);
  EXPECT_EQ(floatToBFloat(-std::numeric_limits<float>::max()), 0xff80);
  EXPECT_EQ(floatToHalf(std::bit_cast<float>(0xff800001u)) & 0xfe00, 0xfe00);
  EXPECT_EQ(floatToBFloat(std::bit_cast<float>(0xff800001u)) & 0xffc0, 0xffc0);
  EXPECT_EQ(floatToHalf(1e-30f), 0);
  EXPECT_EQ(floatToHalf(-1e-30f), 0x8000);
}

TEST(DType, NamesAndSizesAgree) {
  for (DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I32,
                     DType::I64, DType::U8})
    EXPECT_EQ(dtypeFromName(dtypeName(type)), type);
  EXPECT_FALSE(dtypeFromName("float32"));
  EXPECT_EQ(dtypeSize(DType::BF16), 2u);
  EXPECT_EQ(dtypeSize(DType::I64), 8u);
}

TEST(DType, IntegersRoundAndSaturate) {
  std::int8_t small = 0;
  for (auto [value, expected] :
       {std::pair{2.5, 2}, {-200.0, -128}, {200.0, 127}, {double(NAN), 0}}) {
    storeElement(DType::I8, value, &small);
    EXPECT_EQ(small, expected);
  }
  std::int64_t large = 0;
  storeElement(DType::I64, 1e30, &large);
  EXPECT_EQ(large, INT64_MAX);
  EXPECT_EQ(loadElement(DType::I8, "\x80"), -128);
  EXPECT_EQ(loadElement(DType::U8, "\x80"), 128);
}

} // namespace
