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
const ShortSequences &uneven() { return shortSequences()[2]; }

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
  return othersIfShort(planned, hopper())[&sequences - shortSequences().begin()];
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
  EXPECT_TRUE(isAlwaysShort(window.nest, window.plan, tiny()));
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
  EXPECT_FALSE(isAlwaysShort(longStream.nest, longStream.plan, few()));
  EXPECT_FALSE(other(longStream, few()));
}

// Rows of which tiles of 256 rows would have more empty ones have tiles of 192.
TEST(ShortSequences, leaveFewRowsEmpty) {
  for (int64_t rows : {257, 384})
    EXPECT_TRUE(uneven().fits(rows)) << rows;
  for (int64_t rows : {1, 192, 193, 256, 385, 512})
    EXPECT_FALSE(uneven().fits(rows)) << rows;
  LibraryNest narrow("full", 64), wide("full", 128);
  std::optional<WarpgroupSchedule> schedule = other(narrow, uneven());
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->rowTile(), 192);
  EXPECT_FALSE(other(wide, uneven())); // has tiles of 128
}

TEST(ShortSequences, whoseRowsAreKnownHaveTheTilesThatFitThem) {
  auto rowTile = [](int64_t rows, int64_t width = 64) {
    nlohmann::json spec = librarySpec("full", width);
    spec["dims"]["i"] = spec["dims"]["j"] = rows;
    LibraryNest of(spec);
    PlannedNest planned(of.nest);
    std::string why;
    red::Schedule schedule = warpgroupsForm().choose(planned, hopper(), why);
    EXPECT_TRUE(schedule) << why;
    return schedule ? tile::scheduleAs<WarpgroupSchedule>(schedule)->rowTile() : 0;
  };
  EXPECT_EQ(rowTile(384), 192);
  EXPECT_EQ(rowTile(256), 256);
  EXPECT_EQ(rowTile(128), 128);
  EXPECT_EQ(rowTile(384, 192), 128);
}

} // namespace
} // namespace attnc::schedule
