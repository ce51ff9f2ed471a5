#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/stream_parts.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using testing::HasSubstr;

TEST(StreamParts, tilesHaveAPartOfTheColumns) {
  LibraryNest of("full", 500);
  StreamPlan cut = cutPlan(of.plan, 256, 128);
  EXPECT_EQ(columnParts(cut), 2);
  EXPECT_EQ(depthParts(cut), 4);
  for (const OperandTile &operand : cut.streamed) {
    bool isScore = &operand == &cut.streamed[cut.contractions.front().streamed];
    EXPECT_EQ(operand.cols, isScore ? 128 : 256);
    EXPECT_EQ(operand.wholeCols(), 500);
  }
  EXPECT_EQ(columnParts(cutPlan(cut, 256, 128)), 2);
  EXPECT_EQ(columnParts(cutPlan(of.plan, 512, 0)), 1);
  EXPECT_EQ(depthParts(cutPlan(of.plan, 256, 0)), 1);
}

TEST(StreamParts, anOperandOfScoresAndStatesBecomesTwo) {
  nlohmann::json spec = librarySpec("full", 512);
  spec["inputs"].erase("v");
  spec["dims"].erase("e");
  for (auto &line : spec["body"])
    if (std::string text = line; text.starts_with("o["))
      line = "o[b,h,i,d] = sum(j, p * k[b,h,j,d])";
  LibraryNest of(spec);
  ASSERT_EQ(of.plan.streamed.size(), 1u);
  EXPECT_EQ(cutPlan(of.plan, 0, 0).streamed.size(), 1u);
  StreamPlan cut = cutPlan(of.plan, 256, 0);
  ASSERT_EQ(cut.streamed.size(), 2u);
  EXPECT_EQ(cut.streamed[0].cols, 512);
  EXPECT_EQ(cut.streamed[1].cols, 256);
}

TEST(StreamParts, evenColumnsLeaveFewPadded) {
  EXPECT_EQ(evenColumns(512, 256), 256);
  EXPECT_EQ(evenColumns(384, 256), 192);
  EXPECT_EQ(evenColumns(576, 256), 192);
  EXPECT_EQ(evenColumns(100, 256), 128);
}

TEST(StreamParts, wideOperandsFitEveryMachine) {
  for (const char *type : {"bf16", "f32"})
    for (int64_t width : {320, 384, 512, 768, 1024})
      for (const Machine &machine : machines()) {
        nlohmann::json spec = librarySpec("full", width);
        spec["types"]["T"] = type;
        LibraryNest of(spec);
        EXPECT_EQ(chooseSchedule(of.nest, machine), "")
            << type << " " << width << " " << machine.name.str();
        EXPECT_NE(scheduleForm(of.nest), "generic");
      }
}

TEST(StreamParts, narrowOperandsStayWhole) {
  for (int64_t width : {64, 128, 256}) {
    LibraryNest of("full", width);
    ASSERT_EQ(chooseSchedule(of.nest, *findMachine("sm_80")), "");
    EXPECT_FALSE(of.nest.getScheduleAttr().contains("columns"));
    EXPECT_FALSE(of.nest.getScheduleAttr().contains("depth"));
  }
}

TEST(StreamParts, copiesAreAheadByLessThanATile) {
  LibraryNest of("full", 512);
  StreamSchedule schedule{
      .rowTile = 64, .streamTile = 16, .stages = 3, .columns = 256, .depth = 256};
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, *findMachine("sm_80")),
            "stages is 3; with depth 256, which makes 2 parts, it is 2 to 2");
  schedule.depth = 24;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, *findMachine("sm_80")),
            "depth is 24; it is a multiple of 16, or 0 for all");
}

TEST(StreamParts, turnsNeedAllPartsOfATile) {
  LibraryNest of("full", 512);
  WarpgroupSchedule schedule = makeSchedule(of, 2, 32, 2);
  schedule.columns = 256;
  schedule.depth = 64;
  schedule.depthStages = 4;
  schedule.loadRegisters = 24;
  schedule.groupRegisters = 240;
  EXPECT_THAT(checkSchedule(of.nest, of.plan, schedule, hopper()),
              HasSubstr("alternate needs depth_stages 8"));
  schedule.alternate = false;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()), "");
}

} // namespace
} // namespace attnc::schedule
