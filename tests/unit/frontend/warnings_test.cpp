// When warnings are given, and when nothing is said. Whole texts are in tests/wrong/warn_*.
#include "spec_fixture.h"

namespace attnc {
namespace {

class Warnings : public SpecFixture {
protected:
  /// The number of warnings about x where `condition` holds, with x of [i, j].
  unsigned warningsOf(const std::string &condition, const std::string &more = "",
                      const Overrides &overrides = {}) {
    EXPECT_TRUE(parse(specOf("\"x\": \"f32[i, j]\", \"n\": \"i32[i]\"",
                             "\"o = where(" + condition + ", x, n)\"", "\"o\": \"f32\"", more),
                      overrides))
        << rendered();
    return static_cast<unsigned>(diagnostics.all().size());
  }
  static std::string referenceOf(int i, int j) {
    return "\"reference\": {\"shape\": {\"i\": " + std::to_string(i) +
           ", \"j\": " + std::to_string(j) + "}}";
  }
};

TEST_F(Warnings, IndicesOfExtentsThatMayDiffer) {
  EXPECT_EQ(warningsOf("j <= i"), 1u);
  EXPECT_EQ(warningsOf("j <= i", referenceOf(64, 64)), 1u);
  EXPECT_EQ(warningsOf("i - j < 8"), 1u);
  EXPECT_EQ(warningsOf("abs(i - j) < 8"), 1u);
  EXPECT_EQ(warningsOf("j <= i + w", "\"let\": {\"w\": 3}"), 1u);
}

TEST_F(Warnings, OnePairOfDimsIsOneWarning) {
  EXPECT_EQ(warningsOf("j <= i and j > i - 8 and abs(i - j) != 3"), 1u);
}

TEST_F(Warnings, NothingAboutIndicesThatAreAligned) {
  EXPECT_EQ(warningsOf("j <= i + size(j) - size(i)"), 0u);
  EXPECT_EQ(warningsOf("j - size(j) <= i - size(i)"), 0u);
  EXPECT_EQ(warningsOf("j <= i + n[i]"), 0u);
  EXPECT_EQ(warningsOf("j <= i + first", "\"params\": {\"first\": \"i64 = 0\"}"), 0u);
}

TEST_F(Warnings, NothingAboutExtentsThatAreEqualOrTried) {
  EXPECT_EQ(warningsOf("j <= i", "\"require\": [\"size(i) == size(j)\"]"), 0u);
  EXPECT_EQ(warningsOf("j <= i", "\"dims\": {\"i\": 8, \"j\": 8}"), 0u);
  EXPECT_EQ(warningsOf("j <= i", referenceOf(64, 65)), 0u);
}

TEST_F(Warnings, ComparisonsThatAreDecided) {
  for (std::string never : {"i < 0", "j >= size(j)", "i == size(i)", "i + j < 0", "j % 4 > 3",
                            "i // 2 < 0", "minimum(i, 3) > 3", "i - i != 0"})
    EXPECT_EQ(warningsOf(never), 1u) << never << rendered();
  for (std::string always : {"i >= 0", "j < size(j)", "i != -1", "j % 4 < 4", "j - i > -size(i)"})
    EXPECT_EQ(warningsOf(always), 1u) << always << rendered();
}

TEST_F(Warnings, NothingAboutComparisonsThatDepend) {
  for (std::string open : {"i < 1", "j < 1000000", "i >= size(j)", "n[i] % 4 < 4 or j > 5",
                           "size(i) <= size(j)", "j % 4 < 3", "n[i] < 0"})
    EXPECT_EQ(warningsOf(open), 0u) << open << rendered();
}

TEST_F(Warnings, NothingAboutWhatASettingDecides) {
  EXPECT_EQ(warningsOf("j >= w", "\"let\": {\"w\": 0}"), 0u) << rendered();
  Overrides overrides;
  overrides.values = {{"i", "4"}};
  EXPECT_EQ(warningsOf("i < 4", "\"dims\": {\"i\": 8}", overrides), 0u) << rendered();
  EXPECT_EQ(warningsOf("i < 8", "\"dims\": {\"i\": 8}"), 1u);
}

TEST_F(Warnings, SidesThatExcludeEachOther) {
  EXPECT_EQ(warningsOf("i > 5 and i < 5"), 1u);
  EXPECT_EQ(warningsOf("j == 3 and n[i] > 0 and j > 3"), 1u);
  EXPECT_EQ(warningsOf("i <= 5 or i >= 6"), 1u);
  EXPECT_EQ(warningsOf("i >= 5 and i <= 5"), 0u) << rendered();
  EXPECT_EQ(warningsOf("i < 5 or i > 5"), 0u) << rendered();
}

TEST_F(Warnings, ResultsThatNothingUses) {
  auto of = [&](const std::string &body) {
    EXPECT_TRUE(parse(specOf("\"x\": \"f32[i]\"", body, "\"o\": \"f32\""))) << rendered();
    return diagnostics.all().size();
  };
  EXPECT_EQ(of("\"t = x\", \"o = 2 * x\""), 1u);
  EXPECT_EQ(of("\"o = x\", \"o = 2 * x\""), 1u);
  EXPECT_EQ(of("\"o = x\", \"o = 2 * o\""), 0u);
  EXPECT_EQ(of("\"t[i] = x\", \"o = t[i]\""), 0u);
}

TEST_F(Warnings, LongSpecsStayFast) {
  std::string body = "\"t = i + j\"";
  for (int k = 0; k < 3000; ++k)
    body += ", \"t = where(t + t <= i + " + std::to_string(k) + ", t + i, t + j)\"";
  EXPECT_TRUE(parse(specOf("\"x\": \"f32[i, j]\"", body + ", \"o = x * t\"", "\"o\": \"f32\"")));
}

} // namespace
} // namespace attnc
