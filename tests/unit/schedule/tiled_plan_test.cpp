#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/transforms/pair_roles.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using testing::HasSubstr;

TEST(TiledPlan, tilesHaveAPartOfTheColumns) {
  LibraryNest of("full", 500);
  StreamPlan cut = tiledPlan(of.plan, 256, 128);
  EXPECT_EQ(headDimTiles(cut), 2);
  EXPECT_EQ(depthTiles(cut), 4);
  for (const OperandTile &operand : cut.streamed) {
    bool isScore = &operand == &cut.streamed[cut.contractions.front().streamed];
    EXPECT_EQ(operand.cols, isScore ? 128 : 256);
    EXPECT_EQ(operand.wholeCols(), 500);
  }
  EXPECT_EQ(headDimTiles(tiledPlan(cut, 256, 128)), 2);
  EXPECT_EQ(headDimTiles(tiledPlan(of.plan, 512, 0)), 1);
  EXPECT_EQ(depthTiles(tiledPlan(of.plan, 256, 0)), 1);
}

TEST(TiledPlan, anOperandOfScoresAndStatesBecomesTwo) {
  nlohmann::json spec = librarySpec("full", 512);
  spec["inputs"].erase("v");
  spec["dims"].erase("e");
  for (auto &line : spec["body"])
    if (std::string text = line; text.starts_with("o["))
      line = "o[b,h,i,d] = sum(j, p * k[b,h,j,d])";
  LibraryNest of(spec);
  ASSERT_EQ(of.plan.streamed.size(), 1u);
  EXPECT_EQ(tiledPlan(of.plan, 0, 0).streamed.size(), 1u);
  StreamPlan cut = tiledPlan(of.plan, 256, 0);
  ASSERT_EQ(cut.streamed.size(), 2u);
  EXPECT_EQ(cut.streamed[0].cols, 512);
  EXPECT_EQ(cut.streamed[1].cols, 256);
}

TEST(TiledPlan, evenColumnsLeaveFewPadded) {
  EXPECT_EQ(evenColumns(512, 256), 256);
  EXPECT_EQ(evenColumns(384, 256), 192);
  EXPECT_EQ(evenColumns(576, 256), 192);
  EXPECT_EQ(evenColumns(100, 256), 128);
}

TEST(TiledPlan, wideOperandsFitEveryGpu) {
  for (const char *type : {"bf16", "f32"})
    for (int64_t width : {320, 384, 512, 768, 1024})
      for (const GpuModel &machine : gpuModels()) {
        nlohmann::json spec = librarySpec("full", width);
        spec["types"]["T"] = type;
        LibraryNest of(spec);
        PlannedNest planned(of.nest);
        EXPECT_TRUE(chooseSchedule(planned, machine).schedule.hasTiles())
            << type << " " << width << " " << machine.name.str();
      }
}

TEST(TiledPlan, narrowOperandsStayWhole) {
  for (int64_t width : {64, 96, 128}) {
    LibraryNest of("full", width);
    PlannedNest planned(of.nest);
    Choice choice = chooseSchedule(planned, *findGpuModel("sm_80"));
    auto schedule = *tile::scheduleAs<PortableSchedule>(choice.schedule);
    EXPECT_EQ(schedule.headDimTile, 0);
    EXPECT_EQ(schedule.depth, 0);
  }
}

// What column_warps says where the nest or the other keys do not allow it.
std::string refusedSharing(const LibraryNest &of, PortableSchedule schedule) {
  std::string why;
  llvm::FailureOr<StreamPlan> plan = planStream(of.nest, why);
  EXPECT_TRUE(llvm::succeeded(plan)) << why;
  return checkSchedule(of.nest, *plan, schedule, *findGpuModel("sm_80"));
}

TEST(ColumnWarps, areThereForWideHeadsOfSixteenBits) {
  for (int64_t width : {256, 320, 384, 512, 640, 768, 1024})
    for (const char *target : {"sm_80", "sm_86"}) {
      LibraryNest of("full", width);
      PlannedNest planned(of.nest);
      Choice choice = chooseSchedule(planned, *findGpuModel(target));
      auto schedule = *tile::scheduleAs<PortableSchedule>(choice.schedule);
      EXPECT_GE(schedule.columnWarps, 2) << width << " " << target;
      EXPECT_GE(schedule.columnWarps * schedule.headDimTile, width);
      EXPECT_LT(schedule.columnWarps * schedule.headDimTile, width * 4 / 3);
    }
}

// Groups have the same rows: each would store all of their pairs.
TEST(ColumnGroups, areRefusedWherePairsAreStored) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["body"] = {"p[b,h,i,j] = softmax(j, sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale)"};
  spec["inputs"].erase("v");
  spec["dims"].erase("e");
  spec["outputs"] = {{"p", "T"}};
  FusedProgram program(spec.dump());
  red::NestOp nest = program.nests().back();
  ASSERT_TRUE(givePairRoles(nest, mlir::StringAttr::get(nest.getContext(), "j")));
  std::string why;
  mlir::FailureOr<StreamPlan> plan = planStream(nest, why);
  ASSERT_TRUE(mlir::succeeded(plan)) << why;
  PortableSchedule schedule = {
      .rowTile = 32, .streamTile = 64, .warps = 4, .headDimTile = 16, .columnGroups = 2};
  EXPECT_EQ(
      checkSchedule(nest, *plan, schedule, *findGpuModel("sm_80")),
      "column_groups is for columns of states; the nest stores values of pairs: leave it out");
}

TEST(ColumnGroups, haveAllColumnsTogether) {
  PortableSchedule schedule = {
      .rowTile = 32, .streamTile = 64, .warps = 4, .headDimTile = 32, .columnGroups = 2};
  EXPECT_EQ(refusedSharing(LibraryNest("full", 64), schedule), "");
  EXPECT_EQ(refusedSharing(LibraryNest("full", 128), schedule),
            "head_dim_tile 32 makes 4 parts of the columns for 2 column_groups: 64 fits");
  EXPECT_EQ(
      refusedSharing(LibraryNest("differential_norm", 64), schedule),
      "head_dim_tile divides columns that a fold over the result needs together: leave it out");
  schedule.headDimTile = 0; // all of them, of each group
  EXPECT_EQ(refusedSharing(LibraryNest("differential_norm", 64), schedule), "");
}

TEST(ColumnWarps, areRefusedWithTheReason) {
  PortableSchedule schedule = {.rowTile = 32,
                               .streamTile = 64,
                               .warps = 4,
                               .headDimTile = 64,
                               .depth = 64,
                               .columnWarps = 2};
  EXPECT_EQ(refusedSharing(LibraryNest("full", 128), schedule), "");
  EXPECT_EQ(refusedSharing(LibraryNest("full", 256), schedule),
            "head_dim_tile 64 makes 4 parts of the columns for 2 column_warps: 128 fits");
  EXPECT_EQ(refusedSharing(LibraryNest("differential", 128), schedule),
            "column_warps is for nests with one product for the scores and one for the states, of "
            "tensors: leave it out");
  nlohmann::json wide = librarySpec("full", 128);
  wide["dims"]["d"] = 32;
  EXPECT_EQ(
      refusedSharing(LibraryNest(wide), schedule),
      "column_warps needs scores and states over depth 64 or more, not over 32: leave it out");
  nlohmann::json narrow = librarySpec("full", 128);
  narrow["dims"]["e"] = 32;
  EXPECT_EQ(refusedSharing(LibraryNest(narrow), schedule),
            "column_warps needs scores and states over depth 64 or more, not over 32: "
            "head_dim_tile and depth 16 fit");
  nlohmann::json two = librarySpec("full", 128); // weights of two kinds, of which one would be lost
  two["body"].push_back("squares[b,h,i,e] = sum(j, p * p * v[b,h,j,e])");
  two["outputs"]["squares"] = "f32";
  EXPECT_EQ(refusedSharing(LibraryNest(two), schedule),
            "column_warps is for nests with one product for the scores and one for the states, of "
            "tensors: leave it out");
  nlohmann::json f32 = librarySpec("full", 128);
  f32["types"]["T"] = "f32";
  EXPECT_EQ(refusedSharing(LibraryNest(f32), schedule),
            "column_warps is for nests with operands of 16 bits: leave it out");
  schedule.stages = 8;
  EXPECT_EQ(refusedSharing(LibraryNest("full", 128), schedule),
            "stages is 8; a tile arrives in 4 parts, so it is 2 to 4");
}

TEST(TiledPlan, copiesAreAheadByLessThanATile) {
  LibraryNest of("full", 512);
  PortableSchedule schedule{
      .rowTile = 64, .streamTile = 16, .stages = 3, .headDimTile = 256, .depth = 256};
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, *findGpuModel("sm_80")),
            "stages is 3; a tile arrives in 2 parts, so it is 2");
  schedule.depth = 24;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, *findGpuModel("sm_80")),
            "depth is 24; it is a multiple of 16, or 0 for all");
}

TEST(TiledPlan, turnsNeedAllPartsOfATile) {
  LibraryNest of("full", 512);
  WarpgroupSchedule schedule = makeSchedule(of, 2, 32, 2);
  schedule.headDimTile = 256;
  schedule.depth = 64;
  schedule.depthStages = 4;
  schedule.producerRegisters = 24;
  schedule.consumerRegisters = 240;
  EXPECT_THAT(checkSchedule(of.nest, of.plan, schedule, hopper()),
              HasSubstr("ping_pong needs depth_stages 8"));
  schedule.pingPong = false;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()), "");
}

} // namespace
} // namespace attnc::schedule
