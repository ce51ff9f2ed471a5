#include "compiler/driver/compile.h"
#include "compiler/driver/tune.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::driver {
namespace {

std::vector<TuningCandidate> numbered(int count) {
  std::vector<TuningCandidate> candidates;
  for (int i = 0; i < count; ++i)
    candidates.push_back({{{"form", "portable"}, {"number", i}}, {}, {}});
  return candidates;
}

/// Measures nothing: candidate i takes times[i], or fails where that is 0.
Measure from(std::vector<double> times) {
  return [times](const nlohmann::json &schedule) -> Result<double> {
    double time = times[schedule.at("number").get<size_t>()];
    if (time == 0)
      return compilationError("it spills");
    return time;
  };
}

TEST(Tune, theFastestWins) {
  std::vector<Measured> all = measureAll(numbered(3), from({0.5, 0.25, 0.75}), [](size_t) {});
  ASSERT_NE(fastest(all), nullptr);
  EXPECT_EQ(fastest(all)->candidate.schedule.at("number"), 1);
}

TEST(Tune, ofEqualOnesTheBetterByPrediction) {
  std::vector<Measured> all = measureAll(numbered(3), from({0.5, 0.25, 0.25}), [](size_t) {});
  EXPECT_EQ(fastest(all)->candidate.schedule.at("number"), 1);
}

TEST(Tune, whatFailsIsToldAndDoesNotWin) {
  std::vector<Measured> all = measureAll(numbered(2), from({0, 9}), [](size_t) {});
  EXPECT_EQ(all[0].why, "it spills");
  EXPECT_FALSE(all[0].milliseconds);
  EXPECT_EQ(fastest(all)->candidate.schedule.at("number"), 1);
  EXPECT_EQ(fastest(measureAll(numbered(2), from({0, 0}), [](size_t) {})), nullptr);
}

TEST(Tune, progressComesBeforeEachMeasurement) {
  std::vector<size_t> told;
  size_t measured = 0;
  measureAll(
      numbered(3),
      [&](const nlohmann::json &) -> Result<double> {
        EXPECT_EQ(told.size(), ++measured);
        return 1.0;
      },
      [&](size_t i) { told.push_back(i); });
  EXPECT_THAT(told, testing::ElementsAre(0, 1, 2));
}

class Candidates : public testing::Test {
protected:
  Result<std::vector<NestCandidates>> of(const std::string &name, const std::string &target,
                                         size_t count) {
    loadDialects(context);
    Diagnostics diagnostics;
    spec = parseSpec(context, name, schedule::librarySpec(name, 128).dump(), {}, diagnostics);
    return tuningCandidates(*spec, target, count);
  }
  mlir::MLIRContext context;
  std::optional<Spec> spec;
};

TEST_F(Candidates, areTheBestByPrediction) {
  auto nests = of("full", "sm_90a", 5);
  ASSERT_TRUE(nests);
  ASSERT_EQ(nests->size(), 1u);
  const NestCandidates &nest = nests->front();
  EXPECT_EQ(nest.kernel, "full_o");
  EXPECT_EQ(nest.key.size(), 32u);
  ASSERT_EQ(nest.candidates.size(), 5u);
  EXPECT_EQ(nest.candidates[0].schedule.at("form"), "warpgroups");
  EXPECT_EQ(nest.candidates[0].schedule.at("ping_pong"), true);
  for (const TuningCandidate &candidate : nest.candidates)
    EXPECT_GT(candidate.share.value_or(0), 0);
}

TEST_F(Candidates, eachIsTakenByTheCompiler) {
  auto nests = of("causal", "sm_90a", 8);
  ASSERT_TRUE(nests);
  for (const TuningCandidate &candidate : nests->front().candidates) {
    CompileOptions options;
    options.target = "sm_90a";
    options.upTo = Stage::Red;
    options.schedule = {{nests->front().kernel, candidate.schedule}};
    Result<Compilation> compiled = compile(*spec, options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_EQ(compiled->nests.front().scheduled.source, "as asked for");
  }
}

// Also where passes between the fused nests and the choice of schedules change them.
TEST_F(Candidates, areFoundWhereTheyAreStored) {
  for (const char *name : {"full", "alibi", "relative_bias", "bias"}) {
    auto nests = of(name, "sm_90a", 2);
    ASSERT_TRUE(nests);
    const NestCandidates &nest = nests->front();
    schedule::TuningFile file{.device = "a GPU", .multiprocessors = 132, .entries = {}};
    file.put({.key = nest.key,
              .target = "sm_90a",
              .kernel = nest.kernel,
              .schedule = nest.candidates.back().schedule,
              .milliseconds = 1,
              .shape = {},
              .date = "2026-01-01",
              .driver = "13.0"});
    schedule::TuningDatabase database;
    database.add("a file", file);
    CompileOptions options;
    options.target = "sm_90a";
    options.upTo = Stage::Red;
    options.tuned = &database;
    Result<Compilation> compiled = compile(*spec, options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_THAT(compiled->nests.front().scheduled.source, testing::HasSubstr("a file")) << name;
  }
}

TEST_F(Candidates, ofRowTilesThatDifferDrawThem) {
  auto dynamicScheduler = [](const TuningCandidate &candidate) {
    return candidate.schedule.at("dynamic_scheduler");
  };
  auto masked = of("causal", "sm_90a", 8), full = of("full", "sm_90a", 8);
  ASSERT_TRUE(masked && full);
  EXPECT_TRUE(llvm::any_of(masked->front().candidates, dynamicScheduler));
  EXPECT_FALSE(llvm::all_of(masked->front().candidates, dynamicScheduler));
  EXPECT_TRUE(llvm::none_of(full->front().candidates, dynamicScheduler));
}

TEST_F(Candidates, elsewhereArePortableOnes) {
  auto nests = of("full", "sm_80", 3);
  ASSERT_TRUE(nests);
  ASSERT_EQ(nests->front().candidates.size(), 3u);
  EXPECT_EQ(nests->front().candidates[0].schedule.at("form"), "portable");
  EXPECT_FALSE(nests->front().candidates[0].share);
}

TEST_F(Candidates, theProcessorHasNone) { EXPECT_FALSE(of("full", "cpu", 3)); }

TEST(Tune, schedulesAreDescribedInShort) {
  EXPECT_EQ(describeSchedule({{"form", "warpgroups"},
                              {"groups", 3},
                              {"stream_tile", 80},
                              {"stages", 3},
                              {"ping_pong", true},
                              {"persistent", false}}),
            "3 groups, stream_tile 80, 3 stages, ping-pong");
  EXPECT_EQ(describeSchedule({{"form", "warpgroups"},
                              {"groups", 3},
                              {"stream_tile", 80},
                              {"stages", 3},
                              {"ping_pong", false},
                              {"persistent", true},
                              {"dynamic_scheduler", true}}),
            "3 groups, stream_tile 80, 3 stages, dynamic scheduler");
  EXPECT_EQ(describeSchedule({{"form", "portable"},
                              {"row_tile", 128},
                              {"stream_tile", 64},
                              {"warps", 4},
                              {"stages", 2}}),
            "row_tile 128, stream_tile 64, 4 warps, 2 stages");
}

} // namespace
} // namespace attnc::driver
