// The schedules for launches with short sequences.
#include "compiler/schedule/choice/short_sequences.h"
#include "compiler/schedule/forms/keyed_form.h"
#include "compiler/schedule/model/schedule_ranking.h"
#include "tests/unit/schedule/library_nest.h"

#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

const ShortSequences &tiny() { return shortSequences().front(); }
const ShortSequences &few() { return shortSequences().back(); }

WarpgroupSchedule choose(LibraryNest &of, const ShortSequences &sequences) {
  std::optional<WarpgroupSchedule> schedule = shortSchedule(of.nest, of.plan, hopper(), sequences);
  EXPECT_TRUE(schedule);
  EXPECT_TRUE(schedule && checkSchedule(of.nest, of.plan, *schedule, hopper()).empty());
  return schedule.value_or(WarpgroupSchedule());
}

/// The schedule of the nest for short sequences, beside the one that it has.
std::optional<WarpgroupSchedule> other(LibraryNest &of, const ShortSequences &sequences) {
  std::vector<RankedSchedule> ranked = rankSchedules(of.nest, of.plan, hopper());
  of.nest.setScheduleAttr(tile::WarpgroupsAttr::get(of.nest.getContext(), ranked.front().schedule));
  PlannedNest planned(of.nest);
  return otherIfShort(planned, hopper(), sequences);
}

TEST(ShortSequences, haveRowsOfTheNextTileAhead) {
  for (int64_t width : {32, 64, 128}) {
    LibraryNest full("full", width);
    for (const ShortSequences &sequences : shortSequences()) {
      WarpgroupSchedule schedule = choose(full, sequences);
      EXPECT_TRUE(schedule.persistent) << width;
      EXPECT_EQ(schedule.rowStages, 2) << width;
      EXPECT_FALSE(schedule.dynamicScheduler) << width;
    }
  }
}

TEST(ShortSequences, ofOneRowTileNeedOneGroup) {
  LibraryNest full("full", 64);
  EXPECT_EQ(choose(full, tiny()).rowTile(), 64);
  EXPECT_GT(choose(full, few()).rowTile(), 64);
}

TEST(ShortSequences, drawRowTilesThatAMaskMakesUnequal) {
  LibraryNest causal("causal", 128);
  EXPECT_TRUE(choose(causal, few()).dynamicScheduler);
  EXPECT_FALSE(choose(causal, tiny()).dynamicScheduler); // one row tile each
}

TEST(ShortSequences, areServedBesideLongOnes) {
  LibraryNest full("full", 128);
  EXPECT_TRUE(other(full, few()));
  EXPECT_TRUE(other(full, tiny()));
}

TEST(ShortSequences, whoseExtentsAreKnownAreAllThereIs) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["dims"]["i"] = spec["dims"]["j"] = 49;
  LibraryNest window(spec);
  EXPECT_TRUE(isAlwaysShort(window.nest, window.plan, tiny().longest));
  EXPECT_FALSE(other(window, tiny()));
  PlannedNest planned(window.nest);
  std::string why;
  red::Schedule chosen = warpgroupsForm().choose(planned, hopper(), why);
  ASSERT_TRUE(chosen) << why;
  EXPECT_EQ(*tile::scheduleAs<WarpgroupSchedule>(chosen), choose(window, tiny()));
}

TEST(ShortSequences, doNotConcernLongRowsOrStreams) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["dims"]["j"] = 4096;
  LibraryNest longStream(spec);
  EXPECT_FALSE(isAlwaysShort(longStream.nest, longStream.plan, few().longest));
  EXPECT_FALSE(other(longStream, few()));
}

} // namespace
} // namespace attnc::schedule
