#include "compiler/schedule/stream/weight_stages.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Sums of values with the weight `p`, of the scores `s`, and of keys with `second`.
nlohmann::json twoSums(const std::string &second) {
  return {
      {"attnc", 1},
      {"name", "two_sums"},
      {"types", {{"T", "bf16"}}},
      {"dims", {{"d", 64}, {"e", 64}}},
      {"inputs", {{"q", "T[i, d]"}, {"k", "T[j, d]"}, {"v", "T[j, e]"}, {"g", "T[i, e]"}}},
      {"body",
       {"s[i,j] = sum(d, q[i,d] * k[j,d])", "p[i,j] = tanh(s)", "t[i,j] = sum(e, g[i,e] * v[j,e])",
        "o[i,e] = sum(j, p * v[j,e])", "c[i,d] = sum(j, " + second + " * k[j,d])"}},
      {"outputs", {{"o", "T"}, {"c", "T"}}}};
}

TEST(WeightStages, aWeightIsMadeOfAnEarlierOne) {
  LibraryNest of(twoSums("p * t"));
  auto stages = weightStages(of.nest, of.plan);
  ASSERT_THAT(stages, SizeIs(2));
  ASSERT_THAT(stages[0].weights, SizeIs(1));
  ASSERT_THAT(stages[1].weights, SizeIs(1));
  EXPECT_EQ(stages[0].weights[0].from, std::nullopt);
  EXPECT_EQ(stages[1].weights[0].from, stages[0].weights[0].number);
  EXPECT_THAT(stages[1].weights[0].others, SizeIs(1));
  EXPECT_THAT(stages[0].contractions, SizeIs(1));
  EXPECT_THAT(stages[1].contractions, SizeIs(1));
  EXPECT_NE(stages[0].contractions[0], stages[1].contractions[0]);
  EXPECT_THAT(stages[1].weightsRead, ElementsAre(stages[0].weights[0].number));
  EXPECT_THAT(stages[1].contractionsRead, IsEmpty()) << "p has what it needs of s";
  EXPECT_THAT(stages[1].arraysRead, IsEmpty());
}

TEST(WeightStages, anArrayThatBothWeightsAreMadeOfStays) {
  LibraryNest of(twoSums("where(t > 0, p * t, 0)"));
  auto stages = weightStages(of.nest, of.plan);
  ASSERT_THAT(stages, SizeIs(2));
  EXPECT_EQ(stages[1].weights[0].from, std::nullopt);
  ASSERT_THAT(stages[1].arraysRead, SizeIs(1)) << "p";
  EXPECT_EQ(stages[0].arraysMade, stages[1].arraysRead);
  EXPECT_THAT(stages[1].contractionsRead, IsEmpty());
}

// Factors are no set: p * p * t has more of p than p.
TEST(WeightStages, squaresAreMadeAnew) {
  for (const char *second : {"p * p * t", "t * t * p"}) {
    LibraryNest of(twoSums(second));
    auto stages = weightStages(of.nest, of.plan);
    ASSERT_THAT(stages, SizeIs(2));
    EXPECT_EQ(stages[1].weights[0].from, std::nullopt);
    EXPECT_THAT(stages[1].weights[0].others, SizeIs(3));
  }
  nlohmann::json spec = twoSums("s * t");
  spec["body"][3] = "o[i,e] = sum(j, s * s * v[j,e])";
  LibraryNest of(spec);
  EXPECT_EQ(weightStages(of.nest, of.plan)[1].weights[0].from, std::nullopt);
}

TEST(WeightStages, aWeightWithoutScoresIsMadeWithTheFirstThatHasSome) {
  nlohmann::json spec = twoSums("w[i,j] * t");
  spec["inputs"]["w"] = "T[i, j]";
  spec["body"][3] = "o[i,e] = sum(j, w[i,j] * v[j,e])";
  LibraryNest of(spec);
  EXPECT_THAT(weightStages(of.nest, of.plan), SizeIs(1));
}

TEST(WeightStages, scoresThatAreReadAgainStay) {
  LibraryNest of(twoSums("p * (t + s)"));
  auto stages = weightStages(of.nest, of.plan);
  ASSERT_THAT(stages, SizeIs(2));
  EXPECT_THAT(stages[1].contractionsRead, ElementsAre(stages[0].contractions[0]));
}

TEST(WeightStages, thereIsOneWhereWeightsNeedTheSameScores) {
  LibraryNest of(twoSums("s * s"));
  EXPECT_THAT(weightStages(of.nest, of.plan), SizeIs(1));
}

TEST(WeightStages, aRunningMaximumIsOne) {
  LibraryNest of("full", 64);
  EXPECT_THAT(weightStages(of.nest, of.plan), SizeIs(1));
}

TEST(WeightStages, takeFewerRegistersThanAllScoresAtOnce) {
  LibraryNest of(twoSums("p * t"));
  WarpgroupSchedule schedule = makeSchedule(of, 2, 64, 2);
  schedule.pingPong = false;
  int64_t together = consumerRegisters(of.plan, schedule);
  schedule.stagedWeights = true;
  // A fragment of 64 columns and an operand less, and 4 words more.
  EXPECT_EQ(together - consumerRegisters(of.plan, schedule), 32 + 16 - 4);
}

TEST(WeightStages, areRefusedWithAReason) {
  WarpgroupSchedule schedule;
  schedule.stagedWeights = true;
  EXPECT_EQ(schedule.check(), "staged_weights excludes ping_pong: leave out the one or the other");
  schedule.pingPong = false;
  EXPECT_EQ(schedule.check(), "");
  LibraryNest of("full", 64);
  EXPECT_THAT(checkSchedule(of.nest, of.plan, schedule, hopper()),
              testing::HasSubstr("staged_weights takes weights without a running maximum"));
}

} // namespace
} // namespace attnc::schedule
