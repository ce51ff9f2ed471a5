#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

StreamWork workOf(const std::string &name, int64_t width = 64) {
  LibraryNest of(name, width);
  return countWork(of.nest, of.plan);
}

// A maximum, score * scale - maximum, a sum, half of a conversion of two; one exp2. The scale
// belongs to the exponent.
TEST(StreamWork, plainAttention) {
  StreamWork work = workOf("full", 96);
  EXPECT_EQ(work.special, 1);
  EXPECT_EQ(work.plain, 3.5);
  EXPECT_EQ(work.scoreColumns, 96);
  EXPECT_EQ(work.weightColumns, 96);
  EXPECT_EQ(work.streamBytes, 2 * 2 * 96);
  EXPECT_EQ(work.rowBytes, 2 * 96);
  EXPECT_EQ(work.resultBytes, 2 * 96);
  EXPECT_EQ(work.scoreBytes, 0);
}

TEST(StreamWork, aMaskCostsNothingOnFullTiles) {
  EXPECT_EQ(workOf("causal").plain, workOf("full").plain);
}

// The scale and the division by the cap are inside the tanh, two statements and thus two products;
// the cap outside is a part of the exponent.
TEST(StreamWork, softcapHasASecondSpecialFunction) {
  StreamWork work = workOf("softcap");
  EXPECT_EQ(work.special, 2);
  EXPECT_EQ(work.plain, workOf("full").plain + 2);
}

// Scale, j - i, the slope, the addition.
TEST(StreamWork, linearBiases) { EXPECT_EQ(workOf("alibi").plain, workOf("full").plain + 4); }

TEST(StreamWork, aDenseBiasIsRead) { EXPECT_EQ(workOf("bias").scoreBytes, 2); }

TEST(StreamWork, aSecondResultOfTheRowsCountsItsBytes) {
  EXPECT_EQ(workOf("lse").resultBytes, workOf("full").resultBytes + 4);
}

TEST(StreamVisits, causalRowsSeeMoreAndMore) {
  LibraryNest of("causal", 64);
  std::vector<StreamRange> ranges = streamRanges(of.nest, of.plan, 64, 200, 150);
  ASSERT_EQ(ranges.size(), 4u);
  const int64_t ends[] = {64, 128, 150, 150};
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].lo, 0);
    EXPECT_EQ(ranges[i].hi, ends[i]);
  }
}

TEST(StreamVisits, withoutAMaskAllIsSeen) {
  LibraryNest of("full", 64);
  for (StreamRange range : streamRanges(of.nest, of.plan, 128, 300, 77)) {
    EXPECT_EQ(range.lo, 0);
    EXPECT_EQ(range.hi, 77);
  }
}

TEST(StreamVisits, aWindowHasABeginning) {
  LibraryNest of("sliding_window", 64);
  std::vector<StreamRange> ranges = streamRanges(of.nest, of.plan, 64, 4096, 4096);
  EXPECT_GT(ranges.back().lo, 2048);
  EXPECT_EQ(ranges.back().hi, 4096);
}

} // namespace
} // namespace attnc::schedule
