#include "compiler/schedule/choice/choose_schedule.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>
#include <set>

namespace attnc::schedule {
namespace {

std::vector<RankedSchedule> rank(LibraryNest &of) {
  return rankSchedules(of.nest, of.plan, hopper());
}

TEST(Ranking, theBestAreThoseThatWonTheMeasurements) {
  struct Row {
    const char *spec;
    int64_t width, groups, streamTile, stages;
    bool persistent;
  };
  for (const Row &row :
       {Row{"full", 64, 4, 64, 3, true}, Row{"full", 128, 3, 80, 3, true},
        Row{"full", 256, 2, 80, 2, true}, Row{"causal", 64, 4, 64, 3, false},
        Row{"causal", 128, 3, 80, 3, false}, Row{"causal", 256, 2, 80, 2, false}}) {
    LibraryNest of(row.spec, row.width);
    WarpgroupSchedule best = rank(of).front().schedule;
    EXPECT_EQ(best.groups, row.groups) << row.spec << ' ' << row.width;
    EXPECT_EQ(best.streamTile, row.streamTile) << row.spec << ' ' << row.width;
    EXPECT_EQ(best.stages, row.stages) << row.spec << ' ' << row.width;
    EXPECT_EQ(best.persistent, row.persistent) << row.spec << ' ' << row.width;
    EXPECT_EQ(best.pingPong, row.persistent) << "turns pay without a mask";
  }
}

// Up to 320 columns a group has rows of its own.
TEST(Ranking, groupsExchangeWeightsWhereColumnsAreMany) {
  struct Row {
    int64_t width, headDimTile, depth, stages;
  };
  for (const Row &row : {Row{384, 192, 192, 3}, Row{512, 256, 128, 4}, Row{640, 320, 128, 3}})
    for (const char *name : {"full", "causal"}) {
      LibraryNest of(name, row.width);
      WarpgroupSchedule best = rank(of).front().schedule;
      EXPECT_TRUE(best.seesaw) << name << ' ' << row.width;
      EXPECT_EQ(best.headDimTile, row.headDimTile) << row.width;
      EXPECT_EQ(best.depth, row.depth) << row.width;
      EXPECT_EQ(best.stages, row.stages) << row.width;
      EXPECT_EQ(best.streamTile, 64) << row.width;
    }
  LibraryNest narrower("full", 320);
  EXPECT_FALSE(rank(narrower).front().schedule.seesaw);
}

// Above 640 columns two blocks share rows; scores that are summed once pay for their exchange.
TEST(Ranking, blocksOfAClusterDivideTheDepthWhereOneCannotHaveAllColumns) {
  for (int64_t width : {512, 640, 704, 768, 1000, 1024, 1280})
    for (const char *name : {"full", "causal"}) {
      LibraryNest of(name, width);
      WarpgroupSchedule best = rank(of).front().schedule;
      EXPECT_TRUE(best.seesaw) << name << ' ' << width;
      EXPECT_EQ(best.cluster, width > 640) << name << ' ' << width;
      EXPECT_GE(best.headDimTile * (best.cluster ? 4 : 2), width) << name << ' ' << width;
    }
}

TEST(Ranking, noClusterWithoutDepthToDivide) {
  nlohmann::json spec = librarySpec("full", 1024);
  spec["dims"]["d"] = 16;
  LibraryNest of(spec);
  ASSERT_FALSE(rank(of).empty());
  for (const RankedSchedule &ranked : rank(of))
    EXPECT_FALSE(ranked.schedule.cluster);
}

TEST(Ranking, scoresWithoutValuesAreNoSeesaw) {
  LibraryNest of(nlohmann::json::parse(R"json({
    "attnc": 1, "name": "largest", "dims": { "d": 1024 },
    "inputs": { "q": "bf16[h, i, d]", "k": "bf16[h, j, d]" },
    "body": ["s = sum(d, q[h,i,d] * k[h,j,d])", "o = max(j, s)"],
    "outputs": { "o": "f32" } })json"));
  ASSERT_FALSE(rank(of).empty());
  for (const RankedSchedule &ranked : rank(of))
    EXPECT_FALSE(ranked.schedule.seesaw);
}

TEST(Ranking, everythingInItFitsAndFollowsTheOrder) {
  for (const char *name : {"full", "sliding_window", "softcap"})
    for (int64_t width : {16, 64, 72, 192, 256}) {
      LibraryNest of(name, width);
      std::vector<RankedSchedule> ranking = rank(of);
      ASSERT_FALSE(ranking.empty()) << name << ' ' << width;
      double before = ranking.front().share;
      for (const RankedSchedule &ranked : ranking) {
        EXPECT_EQ(checkSchedule(of.nest, of.plan, ranked.schedule, hopper()), "");
        EXPECT_LE(ranked.share, before * 1.006); // equal within 0.5 %
        before = ranked.share;
      }
    }
}

// Where nobody asks for it, no block draws its row tiles; with a mask those that do are ahead of
// those that stay and do not.
TEST(Ranking, drawingIsForThoseWhoAsk) {
  LibraryNest causal("causal", 128), full("full", 128);
  auto dynamicScheduler = [](const RankedSchedule &ranked) {
    return ranked.schedule.dynamicScheduler;
  };
  for (LibraryNest *of : {&causal, &full})
    EXPECT_TRUE(llvm::none_of(rank(*of), dynamicScheduler));
  std::vector<RankedSchedule> all = rankSchedules(causal.nest, causal.plan, hopper(), true);
  EXPECT_GT(all.size(), rank(causal).size());
  const WarpgroupSchedule &best = all.front().schedule;
  EXPECT_TRUE(best.dynamicScheduler && best.persistent);
  EXPECT_EQ(best.groups, 3);
  EXPECT_EQ(best.streamTile, 80);
  auto other = best;
  other.dynamicScheduler = false;
  auto dealt =
      llvm::find_if(all, [&](const RankedSchedule &ranked) { return ranked.schedule == other; });
  ASSERT_NE(dealt, all.end());
  EXPECT_LT(dealt->share, all.front().share);
}

TEST(Ranking, isTheSameInEveryRun) {
  LibraryNest one("causal", 96), two("causal", 96);
  std::vector<RankedSchedule> a = rank(one), b = rank(two);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i].schedule, b[i].schedule);
}

TEST(Ranking, isEmptyWithoutWarpgroups) {
  LibraryNest of("full", 64);
  EXPECT_TRUE(rankSchedules(of.nest, of.plan, *findGpuModel("sm_90")).empty());
}

// One accumulator as long as it fits the registers, then parts that blocks share.
TEST(Ranking, wideColumnsAreShared) {
  LibraryNest wide("full", 320), wider("full", 512);
  ASSERT_FALSE(rank(wide).empty());
  ASSERT_FALSE(rank(wider).empty());
  EXPECT_EQ(rank(wide).front().schedule.headDimTile, 0);
  EXPECT_EQ(rank(wider).front().schedule.headDimTile, 256);
  EXPECT_LT(rank(wider).front().share, rank(wide).front().share);
}

// A window leaves tiles of rows partly without work; small ones less.
TEST(Ranking, aWindowWantsSmallerTilesOfRows) {
  LibraryNest full("full", 64), window("sliding_window", 64);
  EXPECT_LT(rank(window).front().schedule.rowTile(), rank(full).front().schedule.rowTile());
}

TEST(Ranking, candidatesToMeasureDiffer) {
  LibraryNest of("full", 128);
  std::vector<RankedSchedule> picked = pickCandidates(rank(of), 8);
  EXPECT_EQ(picked.size(), 8u);
  std::multiset<std::pair<int64_t, int64_t>> shapes;
  for (const RankedSchedule &one : picked)
    shapes.insert({one.schedule.groups, one.schedule.streamTile});
  for (auto shape : shapes)
    EXPECT_LE(shapes.count(shape), 2u);
  EXPECT_EQ(picked.front().schedule, rank(of).front().schedule);
}

TEST(Ranking, theBudgetLeavesCopiesWhatGroupsDoNotNeed) {
  LibraryNest of("full", 128);
  WarpgroupSchedule schedule{.groups = 2};
  for (schedule.streamTile = 16; schedule.streamTile <= 256; schedule.streamTile += 16) {
    bool needsMore = consumerRegisters(of.plan, schedule) > 232;
    EXPECT_EQ(needsMore, schedule.streamTile > 176);
    EXPECT_EQ(registerBudget(of.nest, of.plan, schedule).group, needsMore ? 240 : 232);
  }
  schedule.groups = 3;
  EXPECT_EQ(registerBudget(of.nest, of.plan, schedule).load, 32);
}

TEST(Ranking, theBudgetOfRowsThatLieAnywhereLetsThreadsFindThem) {
  LibraryNest of("varlen", 128);
  for (int64_t groups : {2, 3, 4}) {
    RegisterBudget budget = registerBudget(of.nest, of.plan, {.groups = groups});
    EXPECT_GE(budget.load, producerRegisters(of.plan));
  }
}

TEST(ChooseSmaller, eachNextOneHasMoreRegistersToSpareUntilThePortableOnes) {
  LibraryNest of("full", 128);
  of.nest.setScheduleAttr(
      tile::WarpgroupsAttr::get(of.nest.getContext(), rank(of).front().schedule));
  int64_t spare = -1;
  int steps = 0;
  PlannedNest planned(of.nest);
  while (auto schedule = tile::scheduleAs<WarpgroupSchedule>(of.nest.getScheduleAttr())) {
    int64_t now = schedule->consumerRegisters - consumerRegisters(of.plan, *schedule);
    EXPECT_GT(now, spare);
    spare = now;
    red::Schedule next = smallerSchedule(planned, hopper());
    ASSERT_TRUE(next);
    of.nest.setScheduleAttr(next);
    ASSERT_LT(++steps, 300);
  }
  EXPECT_GE(steps, 2);
  EXPECT_EQ(formOf(of.nest).name(), "portable");
  while (red::Schedule next = smallerSchedule(planned, hopper())) {
    of.nest.setScheduleAttr(next);
    ASSERT_LT(++steps, 300);
  }
  EXPECT_EQ(formOf(of.nest).name(), "portable");
}

} // namespace
} // namespace attnc::schedule
