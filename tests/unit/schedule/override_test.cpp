#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/choice/cpu_tiles.h"
#include "compiler/schedule/choice/schedule_override.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Sets the schedule with these keys, or says why that cannot be.
std::string change(red::NestOp nest, const GpuModel &machine, const json &keys) {
  PlannedNest planned(nest);
  Result<red::Schedule> changed = overriddenSchedule(planned, machine, keys);
  if (!changed)
    return changed.error().message;
  nest.setScheduleAttr(*changed);
  return "";
}

class Override : public testing::Test {
protected:
  std::string refusal(const json &keys, const char *target = "sm_90a") {
    return change(of.nest, *findGpuModel(target), keys);
  }
  template <typename T = WarpgroupSchedule> T now() {
    return *tile::scheduleAs<T>(of.nest.getScheduleAttr());
  }

  LibraryNest of{"full", 128};
};

TEST_F(Override, everyKeyIsTaken) {
  EXPECT_EQ(refusal({{"form", "warpgroups"},
                     {"groups", 2},
                     {"stream_tile", 96},
                     {"stages", 3},
                     {"row_stages", 1},
                     {"producer_registers", 24},
                     {"consumer_registers", 240},
                     {"ping_pong", false},
                     {"persistent", false},
                     {"copy_inputs", false},
                     {"bulk_stores", true},
                     {"pack", 1},
                     {"rescale_threshold", 4}}),
            "");
  EXPECT_EQ(now().groups, 2);
  EXPECT_EQ(now().streamTile, 96);
  EXPECT_EQ(now().stages, 3);
  EXPECT_EQ(now().producerRegisters, 24);
  EXPECT_EQ(now().consumerRegisters, 240);
  EXPECT_FALSE(now().pingPong);
  EXPECT_FALSE(now().persistent);
  EXPECT_FALSE(now().copyInputs);
  EXPECT_TRUE(now().bulkStores);
  EXPECT_EQ(now().pack, 1);
  EXPECT_EQ(now().rescaleThreshold, 4);
}

TEST_F(Override, whatIsNotNamedIsTheBestForWhatIs) {
  EXPECT_EQ(refusal({{"form", "warpgroups"}}), "");
  EXPECT_EQ(now(), rankSchedules(of.nest, of.plan, hopper()).front().schedule);
  EXPECT_EQ(refusal({{"groups", 1}}), "");
  EXPECT_EQ(now().groups, 1);
  EXPECT_FALSE(now().pingPong);
  EXPECT_EQ(now().consumerRegisters, 256);
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"stream_tile", 112}}), "");
  EXPECT_EQ(now().groups, 2) << "three groups have no registers for it";
}

// The best schedule of all may have no room for what a key asks for.
TEST_F(Override, aKeyThatTheBestHasNoRoomForFindsAnother) {
  EXPECT_EQ(refusal({{"consumer_registers", 240}}), "");
  EXPECT_EQ(now().consumerRegisters, 240);
  EXPECT_EQ(now().groups, 2);
  LibraryNest heads("gqa", 128);
  EXPECT_EQ(change(heads.nest, hopper(), {{"pack", 4}}), "");
}

// Blocks that draw stay, so what is not named follows from that.
TEST_F(Override, drawingNamesTheRest) {
  LibraryNest causal("causal", 128);
  EXPECT_EQ(change(causal.nest, hopper(), {{"dynamic_scheduler", true}}), "");
  auto drawing = *tile::scheduleAs<WarpgroupSchedule>(causal.nest.getScheduleAttr());
  EXPECT_TRUE(drawing.dynamicScheduler && drawing.persistent);
  EXPECT_EQ(drawing.groups, 3);
  EXPECT_EQ(drawing.streamTile, 80);
  EXPECT_EQ(refusal({{"dynamic_scheduler", true}}), "") << "a nest without a mask may";
  EXPECT_TRUE(now().dynamicScheduler && now().persistent);
  EXPECT_EQ(refusal({{"dynamic_scheduler", true}, {"persistent", false}}),
            "schedule: dynamic_scheduler needs persistent: a block of one row tile takes no "
            "further ones");
  EXPECT_EQ(refusal({{"form", "portable"}, {"dynamic_scheduler", true}}).substr(0, 41),
            "schedule: unknown key 'dynamic_scheduler'");
}

TEST_F(Override, aKeyOfOneFormNamesTheForm) {
  EXPECT_EQ(refusal({{"persistent", false}}), "");
  EXPECT_EQ(formOf(of.nest).name(), "warpgroups");
  EXPECT_EQ(refusal({{"row_tile", 64}}), "");
  EXPECT_EQ(formOf(of.nest).name(), "portable");
  EXPECT_EQ(refusal({{"threads", 64}}), "");
  EXPECT_EQ(formOf(of.nest).name(), "generic");
}

TEST_F(Override, rowsKeepTheirFormWhereThreadsAreNamed) {
  EXPECT_EQ(refusal({{"form", "rows"}}), "");
  EXPECT_EQ(formOf(of.nest).name(), "rows");
  EXPECT_EQ(refusal({{"threads", 64}}), "");
  EXPECT_EQ(formOf(of.nest).name(), "rows");
  EXPECT_EQ(refusal({{"rows", 2}, {"stream_tile", 24}}), "");
  EXPECT_EQ(now<RowsSchedule>(), (RowsSchedule{.threads = 64, .rows = 2, .streamTile = 24}));
  EXPECT_EQ(refusal({{"rows", 33}}), "schedule: rows is 33; it is 1 to 32");
  EXPECT_EQ(refusal({{"form", "rows"}, {"threads", 100}}),
            "schedule: threads is 100; it is a multiple of 32 up to 1024");
  EXPECT_EQ(refusal({{"form", "rows"}, {"stream_tile", 0}}),
            "schedule: stream_tile is 0; it is 1 to 1024");
  EXPECT_EQ(refusal({{"form", "rows"}, {"stages", 2}}),
            "schedule: unknown key 'stages'; the rows form has threads, rows, stream_tile");
  // Of each row scores and weights of the tile, two states and how far one moves, 128 values; f32.
  EXPECT_EQ(refusal({{"form", "rows"}, {"rows", 32}, {"stream_tile", 1024}}).substr(0, 50),
            "schedule: rows 32 with stream_tile 1024 needs 305 ");
  EXPECT_EQ(
      refusal({{"form", "rows"}, {"rows", 32}, {"stream_tile", 8}, {"threads", 32}}),
      "schedule: rows 32 with 32 threads has 128 elements of states a thread, and 64 is the most");
}

TEST_F(Override, refusalsNameTheKey) {
  EXPECT_EQ(
      refusal({{"form", "warps"}}),
      "schedule: form is \"warpgroups\", \"portable\", \"rows\" or \"generic\", not \"warps\"");
  EXPECT_EQ(refusal({{"form", 3}}),
            "schedule: form is \"warpgroups\", \"portable\", \"rows\" or \"generic\", not 3");
  EXPECT_EQ(refusal({{"groups", "two"}}), "schedule: groups is an integer, not \"two\"");
  EXPECT_EQ(refusal({{"ping_pong", 1}}), "schedule: ping_pong is true or false, not 1");
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"rescale_threshold", "8"}}),
            "schedule: rescale_threshold is a number, not \"8\"");
  EXPECT_EQ(refusal({{"threads", 1.5}}), "schedule: threads is an integer, not 1.5");
  EXPECT_EQ(refusal({{"threads", 100}}),
            "schedule: threads is 100; it is a multiple of 32 up to 1024");
  EXPECT_EQ(
      refusal({{"groups", 2}, {"warp", 2}}),
      "schedule: unknown key 'warp'; the warpgroups form has groups, stream_tile, stages, "
      "row_stages, producer_registers, consumer_registers, ping_pong, persistent, "
      "dynamic_scheduler, "
      "copy_inputs, bulk_stores, pack, rescale_threshold, head_dim_tile, depth, "
      "depth_stages, resident_inputs, seesaw, cluster, staged_weights, adder_registers, accuracy");
  EXPECT_EQ(refusal({{"groups", 9}}), "schedule: groups is 9; it is 1 to 4");
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"accuracy", "TF32"}}),
            "schedule: accuracy is \"f32\", \"halves\" or \"tf32\", not \"TF32\"");
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"accuracy", 1}}),
            "schedule: accuracy is \"f32\", \"halves\" or \"tf32\", not 1");
  EXPECT_THAT(refusal({{"form", "warpgroups"}, {"accuracy", "tf32"}}), // its operands have 16 bits
              HasSubstr("accuracy is of products of f32, and there are none"));
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
  red::Schedule before = of.nest.getScheduleAttr();
  EXPECT_NE(refusal({{"groups", 9}}), "");
  EXPECT_EQ(of.nest.getScheduleAttr(), before);
}

TEST(OverrideOfOthers, saysWhyANestCannotUseWarpgroups) {
  LibraryNest of(librarySpec("full", 20));
  EXPECT_EQ(change(of.nest, hopper(), {{"form", "warpgroups"}}),
            "schedule: full_o cannot use warpgroups: 'q' is 20 wide; it can be a multiple of 8");
}

// The other nest finds the tiles of the documents, scalar by scalar.
TEST(OverrideOfOthers, aFormIsForTheNestsThatCanHaveIt) {
  auto forms = [](const char *form) {
    FusedProgram program(librarySpec("documents", 64).dump());
    Status status = chooseSchedules(program.fused(), "sm_90a", {{"form", form}});
    EXPECT_TRUE(status) << status.error().text();
    std::vector<std::string> names;
    for (red::NestOp nest : program.nests())
      names.push_back(formOf(nest).name().str());
    return names;
  };
  EXPECT_EQ(forms("warpgroups"), (std::vector<std::string>{"rows", "rows", "warpgroups"}));
  EXPECT_EQ(forms("portable"), (std::vector<std::string>{"rows", "rows", "portable"}));
  EXPECT_EQ(forms("generic"), (std::vector<std::string>{"generic", "generic", "generic"}));
}

TEST_F(Override, namesOfEarlierVersionsAreRefusedWithTheNewOnes) {
  EXPECT_EQ(refusal({{"slack", 8}}), "schedule: key 'slack' is called rescale_threshold");
  EXPECT_EQ(refusal({{"form", "warpgroups"}, {"draws", true}}),
            "schedule: key 'draws' is called dynamic_scheduler");
  EXPECT_EQ(refusal({{"load_registers", 24}}),
            "schedule: key 'load_registers' is called producer_registers");
  auto refused = [&](const json &keys) {
    Status status = checkOverrides({of.nest}, keys);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused({{"columns", 64}}), "schedule: key 'columns' is called head_dim_tile");
  EXPECT_EQ(refused({{"form", "stream"}}), "schedule: form \"stream\" is called \"portable\"");
}

TEST_F(Override, withoutSchedulesKeysAreCheckedAllTheSame) {
  auto refused = [&](const json &keys) {
    Status status = checkOverrides({of.nest}, keys);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused(json()), "");
  EXPECT_EQ(refused({{"form", "warpgroups"}, {"groups", 2}, {"rescale_threshold", 4}}), "");
  EXPECT_EQ(refused({{"row_tile", 64}, {"warps", 4}}), "");
  EXPECT_EQ(refused({{"threads", 128}, {"full_o", {{"stages", 2}}}}), "");
  EXPECT_THAT(refused({{"stage", 2}}), HasSubstr("unknown key 'stage'; the keys are form, "));
  EXPECT_THAT(refused({{"full_o", {{"grups", 2}}}}),
              HasSubstr("full_o: unknown key 'grups'; the keys are form, "));
  EXPECT_EQ(refused({{"full_x", {{"stages", 2}}}}),
            "schedule: there is no kernel 'full_x'; there is full_o");
  EXPECT_EQ(refused({{"stages", "two"}}), "schedule: stages is an integer, not \"two\"");
  EXPECT_EQ(
      refused({{"form", "fast"}}),
      "schedule: form is \"warpgroups\", \"portable\", \"rows\" or \"generic\", not \"fast\"");
  EXPECT_EQ(refused(json::array()), "schedule: it is an object of keys, not []");
}

TEST_F(Override, ofTheProcessorAreTiles) {
  auto refused = [&](const json &keys) {
    Status status = setCpuTiles({of.nest}, keys);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused({{"form", "cpu"}, {"row_tile", 16}, {"stream_tile", 24}}), "");
  EXPECT_EQ(now<tile::CpuSchedule>(), (tile::CpuSchedule{.rowTile = 16, .streamTile = 24}));
  EXPECT_EQ(refused({{"full_o", {{"form", "cpu"}, {"row_tile", 5}}}}), "");
  EXPECT_EQ(now<tile::CpuSchedule>(), tile::CpuSchedule{.rowTile = 5});
  EXPECT_EQ(refused({{"form", "cpu"}, {"row_tile", 2048}}),
            "schedule: row_tile is 2048; it is 1 to 1024, or 0 for the "
            "compiler's choice");
  EXPECT_EQ(refused({{"form", "cpu"}, {"warps", 4}}),
            "schedule: unknown key 'warps'; the cpu form has row_tile, stream_tile");
  EXPECT_EQ(refused({{"full_x", {{"form", "cpu"}}}}),
            "schedule: there is no kernel 'full_x'; there is full_o");
}

TEST_F(Override, ofGpusDoNotChangeTheProcessorsCode) {
  red::Schedule before = of.nest.getScheduleAttr();
  EXPECT_TRUE(setCpuTiles({of.nest}, {{"form", "warpgroups"}, {"groups", 2}}));
  EXPECT_TRUE(setCpuTiles({of.nest}, json()));
  EXPECT_EQ(of.nest.getScheduleAttr(), before);
  EXPECT_FALSE(setCpuTiles({of.nest}, {{"grups", 2}}));
}

} // namespace
} // namespace attnc::schedule
