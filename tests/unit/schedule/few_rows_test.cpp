// The schedules for launches with few rows.
#include "compiler/schedule/choice/few_rows.h"
#include "compiler/schedule/choice/packing.h"
#include "tests/unit/schedule/library_nest.h"

#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

std::optional<WarpgroupSchedule> choose(LibraryNest &of, const GpuModel &machine = hopper()) {
  PlannedNest planned(of.nest);
  return fewRowsSchedule(planned, machine);
}

/// Grouped heads whose numbers are known.
LibraryNest groupedHeads(int64_t heads, int64_t keyHeads, int64_t width = 128) {
  nlohmann::json spec = librarySpec("gqa", width);
  spec["dims"]["h"] = heads;
  spec["dims"]["hk"] = keyHeads;
  return LibraryNest(spec);
}

TEST(FewRows, ofEachHeadAreThoseOfAWarp) {
  LibraryNest heads("gqa", 128);
  std::optional<WarpgroupSchedule> schedule = choose(heads);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->rowIndices(), kPackedRows);
  EXPECT_EQ(schedule->pack, 8);
  EXPECT_FALSE(schedule->pingPong);
  EXPECT_TRUE(schedule->persistent);
}

TEST(FewRows, takeAGroupForFourHeads) {
  LibraryNest four = groupedHeads(32, 8), five = groupedHeads(40, 8), one = groupedHeads(8, 8);
  EXPECT_EQ(choose(four)->groups, 1);
  EXPECT_EQ(choose(four)->pack, 4);
  EXPECT_EQ(choose(five)->pack, 8);
  EXPECT_FALSE(choose(one));
}

TEST(FewRows, waitForMemoryAlone) {
  for (int64_t width : {64, 128, 256}) {
    LibraryNest heads("gqa", width);
    std::optional<WarpgroupSchedule> schedule = choose(heads);
    ASSERT_TRUE(schedule) << width;
    CostModel model(heads.nest, heads.plan, hopper());
    StepPrediction step = model.step(*schedule);
    EXPECT_LT(step.clocks, step.copiedBytes / hopper().warpgroups->memoryBytes) << width;
    EXPECT_TRUE(fits(heads.nest, heads.plan, *schedule, hopper()));
  }
}

TEST(FewRows, needIndicesThatSeeTheSameStream) {
  LibraryNest full("full", 128), heads("gqa", 128);
  EXPECT_FALSE(choose(full));
  EXPECT_FALSE(choose(heads, *findGpuModel("sm_80")));
}

TEST(FewRows, areNotThoseOfAnExtentThatIsKnown) {
  nlohmann::json spec = librarySpec("gqa", 128);
  spec["dims"]["i"] = kPackedRows;
  LibraryNest few(spec);
  EXPECT_TRUE(choose(few));
  spec["dims"]["i"] = kPackedRows + 1;
  LibraryNest many(spec);
  EXPECT_FALSE(choose(many));
}

TEST(PackedTiles, haveIndicesOfOneStream) {
  LibraryNest heads = groupedHeads(42, 6); // 7 query heads on each key head
  auto tiles = [&](int64_t count) {
    return mlir::cast<mlir::IntegerAttr>(packedTiles(heads.nest, *heads.plan.packing, count))
        .getInt();
  };
  EXPECT_EQ(tiles(8), 6);
  EXPECT_EQ(tiles(4), 12);
  EXPECT_EQ(tiles(2), 24);
}

} // namespace
} // namespace attnc::schedule
