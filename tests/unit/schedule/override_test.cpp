#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/cpu_tiles.h"
#include "compiler/schedule/schedule_override.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Override : public testing::Test {
protected:
  std::string refusal(const json &keys, const char *target = "sm_90a") {
    Status status = overrideSchedule(of.nest, *findMachine(target), keys);
    return status ? "" : status.error().message;
  }
  WarpgroupSchedule now() { return WarpgroupSchedule::from(of.nest.getScheduleAttr()); }

  LibraryNest of{"full", 128};
};

TEST_F(Override, everyKeyIsTaken) {
  EXPECT_EQ(refusal({{"form", "warpgroups"},
                     {"groups", 2},
                     {"stream_tile", 96},
                     {"stages", 3},
                     {"row_stages", 1},
                     {"load_registers", 24},
                     {"group_registers", 240},
                     {"alternate", false},
                     {"persistent", false},
                     {"copy_inputs", false},
                     {"bulk_stores", true},
                     {"pack", 1},
                     {"slack", 4}}),
            "");
  EXPECT_EQ(now().groups, 2);
  EXPECT_EQ(now().streamTile, 96);
  EXPECT_EQ(now().stages, 3);
  EXPECT_EQ(now().loadRegisters, 24);
  EXPECT_EQ(now().groupRegisters, 240);
  EXPECT_FALSE(now().alternate);
  EXPECT_FALSE(now().persistent);
  EXPECT_FALSE(now().copyInputs);
  EXPECT_TRUE(now().bulkStores);
  EXPECT_EQ(now().pack, 1);
  EXPECT_EQ(now().slack, 4);
}

TEST_F(Override, whatIsNotNamedIsTheBestForWhatIs) {
  EXPECT_EQ(refusal({{"form", "warpgroups"}}), "");
  EXPECT_EQ(
      of.nest.getScheduleAttr(),
      rankSchedules(of.nest, of.plan, hopper()).front().schedule.toAttr(of.nest.getContext()));
  EXPECT_EQ(refusal({{"groups", 1}}), "");
  EXPECT_EQ(now().groups, 1);
  EXPECT_FALSE(now().alternate);
  EXPECT_EQ(now().groupRegisters, 256);
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"stream_tile", 112}}), "");
  EXPECT_EQ(now().groups, 2) << "three groups have no registers for it";
}

// The best schedule of all may have no room for what a key asks for.
TEST_F(Override, aKeyThatTheBestHasNoRoomForFindsAnother) {
  EXPECT_EQ(refusal({{"group_registers", 240}}), "");
  EXPECT_EQ(now().groupRegisters, 240);
  EXPECT_EQ(now().groups, 2);
  LibraryNest heads("gqa", 128);
  EXPECT_TRUE(overrideSchedule(heads.nest, hopper(), {{"pack", 4}}).ok());
}

// Blocks that draw stay, so what is not named follows from that.
TEST_F(Override, drawingNamesTheRest) {
  LibraryNest causal("causal", 128);
  EXPECT_TRUE(overrideSchedule(causal.nest, hopper(), {{"draws", true}}).ok());
  auto drawing = WarpgroupSchedule::from(causal.nest.getScheduleAttr());
  EXPECT_TRUE(drawing.draws && drawing.persistent);
  EXPECT_EQ(drawing.groups, 3);
  EXPECT_EQ(drawing.streamTile, 80);
  EXPECT_EQ(refusal({{"draws", true}}), "") << "a nest without a mask may";
  EXPECT_TRUE(now().draws && now().persistent);
  EXPECT_EQ(refusal({{"draws", true}, {"persistent", false}}),
            "schedule: draws needs persistent: a block of one row tile draws no further ones");
  EXPECT_EQ(refusal({{"form", "stream"}, {"draws", true}}).substr(0, 29),
            "schedule: unknown key 'draws'");
}

TEST_F(Override, aKeyOfOneFormNamesTheForm) {
  EXPECT_EQ(refusal({{"persistent", false}}), "");
  EXPECT_EQ(scheduleForm(of.nest), "warpgroups");
  EXPECT_EQ(refusal({{"row_tile", 64}}), "");
  EXPECT_EQ(scheduleForm(of.nest), "stream");
  EXPECT_EQ(refusal({{"threads", 64}}), "");
  EXPECT_EQ(scheduleForm(of.nest), "generic");
}

TEST_F(Override, rowsKeepTheirFormWhereThreadsAreNamed) {
  EXPECT_EQ(refusal({{"form", "rows"}}), "");
  EXPECT_EQ(scheduleForm(of.nest), "rows");
  EXPECT_EQ(refusal({{"threads", 64}}), "");
  EXPECT_EQ(scheduleForm(of.nest), "rows");
  EXPECT_EQ(refusal({{"rows", 2}, {"stream_tile", 24}}), "");
  auto value = [&](llvm::StringRef key) {
    return of.nest.getScheduleAttr().getAs<mlir::IntegerAttr>(key).getInt();
  };
  EXPECT_EQ(value("threads"), 64);
  EXPECT_EQ(value("rows"), 2);
  EXPECT_EQ(value("stream_tile"), 24);
  EXPECT_EQ(refusal({{"rows", 33}}), "schedule: rows is 33; it is 1 to 32");
  EXPECT_EQ(refusal({{"form", "rows"}, {"threads", 100}}),
            "schedule: threads is 100; it is a multiple of 32 up to 1024");
  EXPECT_EQ(refusal({{"form", "rows"}, {"stream_tile", 0}}),
            "schedule: stream_tile is 0; it is 1 to 1024");
  EXPECT_EQ(refusal({{"form", "rows"}, {"stages", 2}}),
            "schedule: unknown key 'stages'; the rows form has threads, rows, stream_tile");
  // Of each row scores and weights of the tile, two states and how far one moves, 128 values; f32.
  EXPECT_EQ(refusal({{"form", "rows"}, {"rows", 32}, {"stream_tile", 1024}}).substr(0, 50),
            "schedule: rows 32 with stream_tile 1024 needs 273 ");
  EXPECT_EQ(
      refusal({{"form", "rows"}, {"rows", 32}, {"stream_tile", 8}, {"threads", 32}}),
      "schedule: rows 32 with 32 threads has 128 elements of states a thread, and 64 is the most");
}

TEST_F(Override, refusalsNameTheKey) {
  EXPECT_EQ(refusal({{"form", "warps"}}),
            "schedule: form is \"warpgroups\", \"stream\", \"rows\" or \"generic\", not \"warps\"");
  EXPECT_EQ(refusal({{"form", 3}}),
            "schedule: form is \"warpgroups\", \"stream\", \"rows\" or \"generic\", not 3");
  EXPECT_EQ(refusal({{"groups", "two"}}), "schedule: groups is an integer, not \"two\"");
  EXPECT_EQ(refusal({{"alternate", 1}}), "schedule: alternate is true or false, not 1");
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"slack", "8"}}),
            "schedule: slack is a number, not \"8\"");
  EXPECT_EQ(refusal({{"threads", 1.5}}), "schedule: threads is an integer, not 1.5");
  EXPECT_EQ(refusal({{"threads", 100}}),
            "schedule: threads is 100; it is a multiple of 32 up to 1024");
  EXPECT_EQ(refusal({{"groups", 2}, {"warp", 2}}),
            "schedule: unknown key 'warp'; the warpgroups form has groups, stream_tile, stages, "
            "row_stages, load_registers, group_registers, alternate, persistent, draws, "
            "copy_inputs, bulk_stores, pack, slack, columns, depth, depth_stages");
  EXPECT_EQ(refusal({{"groups", 9}}), "schedule: groups is 9; it is 1 to 4");
  EXPECT_THAT(refusal({{"groups", 3}, {"stream_tile", 96}}), HasSubstr("stream_tile 80 fits"));
  EXPECT_THAT(refusal({{"groups", 2}}, "sm_80"), HasSubstr("sm_80 has no products of warpgroups"));
}

// A value of more than 64 bits arrives as unsigned or as a float; neither is taken for another.
TEST_F(Override, integersBeyond64BitsAreRefusedAsSuch) {
  const std::string refused = "schedule: groups is an integer of 64 bits, and the number is larger";
  for (const json &value : {json(UINT64_MAX), json(uint64_t(1) << 63), json(0x1p64), json(-0x1p64)})
    EXPECT_EQ(refusal({{"groups", value}}), refused) << value;
  EXPECT_EQ(refusal({{"groups", INT64_MAX}}),
            "schedule: groups is 9223372036854775807; it is 1 to 4");
}

TEST_F(Override, aLongValueIsCut) {
  std::string message = refusal({{"groups", std::string(1000, 'x')}});
  EXPECT_THAT(message, testing::StartsWith("schedule: groups is an integer, not \"xxx"));
  EXPECT_THAT(message, testing::EndsWith("x..."));
  EXPECT_LT(message.size(), 120U);
}

TEST_F(Override, theKernelIsNamed) {
  auto refused = [&](const json &overrides) {
    Status status = applyOverrides(of.nest, hopper(), overrides);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused({{"full_o", {{"groups", 2}}}}), "");
  EXPECT_EQ(refused({{"full_o", {{"groups", "2"}}}}),
            "schedule: full_o: groups is an integer, not \"2\"");
  EXPECT_EQ(refused({{"full_o", {{"groups", 9}}}}), "schedule: full_o: groups is 9; it is 1 to 4");
  EXPECT_EQ(refused({{"full_o", json::array({1})}}),
            "schedule: full_o is an object of keys, not [1]");
  EXPECT_EQ(refused({{"ful_o", {{"groups", 2}}}}),
            "schedule: there is no kernel 'ful_o'; there is full_o");
  EXPECT_EQ(refused(json::array()), "schedule: it is an object of keys, not []");
  EXPECT_THAT(refused({{"threads", 64}}), HasSubstr("no kernel has the generic form"));
}

TEST_F(Override, aRefusedOneChangesNothing) {
  EXPECT_EQ(refusal({{"groups", 2}}), "");
  mlir::DictionaryAttr before = of.nest.getScheduleAttr();
  EXPECT_NE(refusal({{"groups", 9}}), "");
  EXPECT_EQ(of.nest.getScheduleAttr(), before);
}

TEST(OverrideOfOthers, saysWhyANestCannotUseWarpgroups) {
  json spec = librarySpec("full", 64);
  spec["types"]["T"] = "f32";
  LibraryNest of(spec);
  Status status = overrideSchedule(of.nest, hopper(), {{"form", "warpgroups"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "schedule: full_o cannot use warpgroups: 'q' is f32; products "
                                    "of warpgroups take f16 and bf16");
}

TEST_F(Override, withoutSchedulesKeysAreCheckedAllTheSame) {
  auto refused = [&](const json &keys) {
    Status status = checkOverrides({of.nest}, keys);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused(json()), "");
  EXPECT_EQ(refused({{"form", "warpgroups"}, {"groups", 2}, {"slack", 4}}), "");
  EXPECT_EQ(refused({{"row_tile", 64}, {"warps", 4}}), "");
  EXPECT_EQ(refused({{"threads", 128}, {"full_o", {{"stages", 2}}}}), "");
  EXPECT_THAT(refused({{"stage", 2}}), HasSubstr("unknown key 'stage'; the keys are form, "));
  EXPECT_THAT(refused({{"full_o", {{"grups", 2}}}}),
              HasSubstr("full_o: unknown key 'grups'; the keys are form, "));
  EXPECT_EQ(refused({{"full_x", {{"stages", 2}}}}),
            "schedule: there is no kernel 'full_x'; there is full_o");
  EXPECT_EQ(refused({{"stages", "two"}}), "schedule: stages is an integer, not \"two\"");
  EXPECT_EQ(refused({{"form", "fast"}}),
            "schedule: form is \"warpgroups\", \"stream\", \"rows\" or \"generic\", not \"fast\"");
  EXPECT_EQ(refused(json::array()), "schedule: it is an object of keys, not []");
}

TEST_F(Override, ofTheProcessorAreTiles) {
  auto refused = [&](const json &keys) {
    Status status = setCpuTiles({of.nest}, keys);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused({{"form", "cpu"}, {"row_tile", 16}, {"stream_tile", 24}}), "");
  auto tile = [&](const char *key) {
    return of.nest.getScheduleAttr().getAs<mlir::IntegerAttr>(key).getInt();
  };
  EXPECT_EQ(tile("row_tile"), 16);
  EXPECT_EQ(tile("stream_tile"), 24);
  EXPECT_EQ(refused({{"full_o", {{"form", "cpu"}, {"row_tile", 5}}}}), "");
  EXPECT_EQ(tile("row_tile"), 5);
  EXPECT_EQ(refused({{"form", "cpu"}, {"row_tile", 0}}),
            "schedule: row_tile is 0; of the cpu form it is a whole number from 1 to 1024");
  EXPECT_EQ(refused({{"form", "cpu"}, {"warps", 4}}),
            "schedule: unknown key 'warps'; the cpu form has row_tile, stream_tile");
  EXPECT_EQ(refused({{"full_x", {{"form", "cpu"}}}}),
            "schedule: there is no kernel 'full_x'; there is full_o");
}

TEST_F(Override, ofGpusDoNotChangeTheProcessorsCode) {
  mlir::DictionaryAttr before = of.nest.getScheduleAttr();
  EXPECT_TRUE(setCpuTiles({of.nest}, {{"form", "warpgroups"}, {"groups", 2}}));
  EXPECT_TRUE(setCpuTiles({of.nest}, json()));
  EXPECT_EQ(of.nest.getScheduleAttr(), before);
  EXPECT_FALSE(setCpuTiles({of.nest}, {{"grups", 2}}));
}

} // namespace
} // namespace attnc::schedule
