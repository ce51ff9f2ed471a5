#include "compiler/schedule/portable/portable_schedule.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tests/unit/schedule/library_nest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using testing::HasSubstr;

std::string check(LibraryNest &of, int64_t groups, int64_t streamTile, int64_t stages) {
  return checkSchedule(of.nest, of.plan, makeSchedule(of, groups, streamTile, stages), hopper());
}

std::string whyNotWarpgroups(const nlohmann::json &spec) {
  LibraryNest of(spec);
  std::string why;
  EXPECT_FALSE(canUseWarpgroups(of.plan, why));
  return why;
}

TEST(WarpgroupSchedule, theAttributeKeepsEveryKey) {
  LibraryNest of("full", 64);
  WarpgroupSchedule schedule{.groups = 3,
                             .streamTile = 80,
                             .stages = 4,
                             .rowStages = 2,
                             .producerRegisters = 32,
                             .consumerRegisters = 160,
                             .pingPong = false,
                             .persistent = true,
                             .dynamicScheduler = true,
                             .copyInputs = false,
                             .bulkStores = true,
                             .pack = 3,
                             .rescaleThreshold = 2.5,
                             .headDimTile = 64,
                             .depth = 128,
                             .depthStages = 3};
  auto attribute = tile::WarpgroupsAttr::get(of.nest.getContext(), schedule);
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  EXPECT_EQ(text,
            "#tile.warpgroups<groups = 3, stream_tile = 80, stages = 4, row_stages = 2, "
            "producer_registers = 32, consumer_registers = 160, ping_pong = false, "
            "persistent = true, dynamic_scheduler = true, copy_inputs = false, bulk_stores = true, "
            "pack = 3, rescale_threshold = 2.500000e+00, head_dim_tile = 64, depth = 128, "
            "depth_stages = 3>");
  EXPECT_EQ(mlir::parseAttribute(text, of.nest.getContext()), attribute);
}

// Tiles of 16-bit elements in panels of 64 columns, 16 bytes of barriers a slot.
TEST(WarpgroupSchedule, sharedMemoryIsTilesAndBarriers) {
  LibraryNest wide("full", 128), padded("full", 96);
  EXPECT_EQ(sharedBytes(wide.plan, makeSchedule(wide, 3, 80, 3)),
            2 * 128 * (192 + 2 * 3 * 80) + 16 * 7);
  EXPECT_EQ(sharedBytes(padded.plan, makeSchedule(padded, 3, 80, 3)),
            sharedBytes(wide.plan, makeSchedule(wide, 3, 80, 3)));
}

// Two numbers with the barriers of their slots.
TEST(WarpgroupSchedule, whatIsDrawnTakesSharedMemory) {
  LibraryNest of("causal", 128);
  WarpgroupSchedule schedule = makeSchedule(of, 3, 80, 3);
  int64_t before = sharedBytes(of.plan, schedule);
  schedule.dynamicScheduler = true;
  EXPECT_EQ(sharedBytes(of.plan, schedule), before + 2 * (32 + 16));
}

TEST(WarpgroupSchedule, onlyPersistentBlocksDraw) {
  LibraryNest masked("causal", 128), full("full", 128);
  for (LibraryNest *of : {&masked, &full}) {
    WarpgroupSchedule schedule = makeSchedule(*of, 3, 80, 3);
    schedule.dynamicScheduler = schedule.persistent = true;
    EXPECT_EQ(checkSchedule(of->nest, of->plan, schedule, hopper()), "");
    schedule.persistent = false;
    EXPECT_EQ(checkSchedule(of->nest, of->plan, schedule, hopper()),
              "dynamic_scheduler needs persistent: a block of one row tile takes no further ones");
  }
}

TEST(WarpgroupSchedule, resultsOnTheirWayOutTakeSharedMemory) {
  LibraryNest of("full", 128);
  WarpgroupSchedule schedule = makeSchedule(of, 3, 80, 3);
  int64_t before = sharedBytes(of.plan, schedule);
  schedule.bulkStores = true;
  EXPECT_EQ(sharedBytes(of.plan, schedule), before + 2 * 128 * 192);
}

// Hand-written kernels of these shapes compiled without spills in these budgets.
TEST(WarpgroupSchedule, shapesThatCompileCleanFit) {
  struct Clean {
    int64_t width, groups, streamTile, stages, budget;
  };
  for (const Clean &clean :
       {Clean{128, 3, 80, 3, 160}, Clean{128, 3, 80, 4, 160}, Clean{128, 2, 128, 2, 232},
        Clean{128, 2, 176, 2, 240}, Clean{64, 4, 64, 3, 112}, Clean{64, 3, 128, 3, 160},
        Clean{256, 2, 80, 2, 232}}) {
    LibraryNest of("full", clean.width);
    WarpgroupSchedule schedule = makeSchedule(of, clean.groups, clean.streamTile, clean.stages);
    EXPECT_LE(schedule.consumerRegisters, clean.budget) << clean.width << ' ' << clean.streamTile;
    EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()), "");
  }
}

// 208 registers of fragments are the most that two groups can have, 124 that three had.
TEST(WarpgroupSchedule, oneTileMoreDoesNotFit) {
  LibraryNest narrow("full", 64), middle("full", 128), wide("full", 256);
  EXPECT_THAT(check(middle, 3, 96, 2), HasSubstr("registers a thread"));
  EXPECT_THAT(check(narrow, 4, 80, 3), HasSubstr("registers a thread"));
  EXPECT_THAT(check(wide, 2, 112, 2), HasSubstr("shared memory"));
  EXPECT_GT(consumerRegisters(wide.plan, makeSchedule(wide, 2, 112, 2)), 240);
}

TEST(WarpgroupSchedule, aRefusalHasFiguresAndWhatFits) {
  LibraryNest of("full", 256);
  EXPECT_EQ(check(of, 2, 96, 2), "bf16 operands of width 256 with 2 groups, stream_tile 96, 2 "
                                 "stages needs 257 KB of shared memory, sm_90a has 227: "
                                 "stream_tile 80 fits");
  // 128 registers of accumulators, 48 of scores and weights, 32 of the rest: no tile fits in 160.
  EXPECT_EQ(check(of, 3, 64, 2), "bf16 operands of width 256 with 3 groups, stream_tile 64, 2 "
                                 "stages needs about 208 registers a thread, consumer_registers is "
                                 "160");
}

// A pass that keeps only a maximum has registers for tiles so wide that ptxas refuses their
// product: it holds each instruction to the equal share of the block's threads.
TEST(WarpgroupSchedule, aProductFitsInTheShareThatABlockStartsWith) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["body"] = {"s = sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale", "m[b,h,i] = max(j, s)"};
  spec["inputs"].erase("v");
  spec["dims"].erase("e");
  spec["outputs"] = {{"m", "f32"}};
  LibraryNest of(spec);
  EXPECT_EQ(check(of, 4, 128, 2), "");
  EXPECT_EQ(
      check(of, 4, 144, 2),
      "bf16 operands of width 64 with 4 groups, stream_tile 144, 2 stages needs 102 registers "
      "a thread for one product, a block of 640 threads starts with 96: stream_tile 128 fits");
  EXPECT_EQ(check(of, 3, 192, 2), "");
  EXPECT_THAT(check(of, 3, 208, 2), HasSubstr("starts with 128: stream_tile 192 fits"));
  EXPECT_EQ(check(of, 2, 256, 2), "");
  for (const RankedSchedule &ranked : rankSchedules(of.nest, of.plan, hopper()))
    EXPECT_LE(ranked.schedule.streamTile, 256 - 64 * (ranked.schedule.groups - 2));
}

// The same of the columns of what is accumulated.
TEST(WarpgroupSchedule, aWideAccumulatorFitsInThatShareToo) {
  nlohmann::json spec = librarySpec("full", 16);
  spec["dims"]["e"] = 136;
  LibraryNest of(spec);
  EXPECT_THAT(check(of, 4, 16, 2), HasSubstr("needs 98 registers a thread for one product"));
  spec["dims"]["e"] = 128;
  LibraryNest narrower(spec);
  EXPECT_EQ(check(narrower, 4, 16, 2), "");
}

TEST(WarpgroupSchedule, shapesAreChecked) {
  LibraryNest of("full", 64);
  auto with = [&](auto change) {
    WarpgroupSchedule schedule = makeSchedule(of, 2, 64, 2);
    change(schedule);
    return checkSchedule(of.nest, of.plan, schedule, hopper());
  };
  EXPECT_EQ(with([](auto &s) { s.groups = 5; }), "groups is 5; it is 1 to 4");
  EXPECT_EQ(with([](auto &s) { s.streamTile = 72; }),
            "stream_tile is 72; it is a multiple of 16 up to 256");
  EXPECT_EQ(with([](auto &s) { s.streamTile = 272; }),
            "stream_tile is 272; it is a multiple of 16 up to 256");
  EXPECT_EQ(with([](auto &s) { s.stages = 1; }), "stages is 1; it is 2 to 8");
  EXPECT_EQ(with([](auto &s) { s.rescaleThreshold = 9; }),
            "rescale_threshold is 9.00; it is 0 to 8");
  EXPECT_EQ(with([](auto &s) { s.groups = 1; }), "ping_pong needs 2 groups or more");
  EXPECT_EQ(with([](auto &s) { s.producerRegisters = 20; }),
            "producer_registers is 20; it is a multiple of 8 from 24 to 256");
  // 65536 / 384 in multiples of 8, for each of three warpgroups.
  EXPECT_EQ(with([](auto &s) { s.producerRegisters = 48; }),
            "producer_registers 48 and 2 times consumer_registers 232 are 512; a block of 384 "
            "threads has "
            "504 for one thread of each warpgroup");
}

TEST(WarpgroupSchedule, packedIndicesFillWholeWarpsAndGroups) {
  LibraryNest of("gqa", 64), fixed("full", 64);
  auto packed = [](LibraryNest &nest, int64_t groups, int64_t pack) {
    WarpgroupSchedule schedule = makeSchedule(nest, groups, 64, 2);
    schedule.pack = pack;
    return checkSchedule(nest.nest, nest.plan, schedule, hopper());
  };
  for (auto [groups, pack] : {std::pair(1, 4), {2, 2}, {2, 8}, {3, 3}, {3, 12}, {4, 16}})
    EXPECT_EQ(packed(of, groups, pack), "") << groups << ' ' << pack;
  EXPECT_EQ(packed(of, 2, 16), "pack is 16; 128 rows can be shared by 2, 4 or 8 indices");
  EXPECT_EQ(packed(of, 3, 4), "pack is 4; 192 rows can be shared by 3, 6 or 12 indices");
  EXPECT_EQ(packed(of, 2, 0), "pack is 0; 128 rows can be shared by 2, 4 or 8 indices");
  EXPECT_EQ(packed(of, 2, -2), "pack is -2; 128 rows can be shared by 2, 4 or 8 indices");
  EXPECT_EQ(packed(fixed, 2, 2),
            "pack is 2; no dim of full_o has indices that see the same stream");
}

TEST(WarpgroupSchedule, otherMachinesHaveNone) {
  LibraryNest of("full", 64);
  EXPECT_EQ(checkSchedule(of.nest, of.plan, makeSchedule(of, 2, 64, 2), *findGpuModel("sm_80")),
            "sm_80 has no products of warpgroups; sm_90a has");
}

TEST(WarpgroupSchedule, saysWhatANestLacks) {
  EXPECT_EQ(whyNotWarpgroups(librarySpec("full", 20)), "'q' is 20 wide; it can be a multiple of 8");
}

// Halves have scales that somebody finds.
TEST(WarpgroupSchedule, saysWhyF32HasNoHalves) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["types"]["T"] = "f32";
  LibraryNest whole(spec);
  std::string why;
  EXPECT_TRUE(canUseWarpgroups(whole.plan, why)) << why;
  nlohmann::json wide = spec;
  wide["dims"]["e"] = 1032;
  EXPECT_EQ(whyNotWarpgroups(wide), "'v' is f32 and 1032 wide; rows of halves are at most 1024");
  nlohmann::json plain = spec;
  plain["body"] = {"s = sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale",
                   "o[b,h,i,e] = sum(j, tanh(s) * v[b,h,j,e])"};
  LibraryNest unbounded(plain); // each row of a tile finds a scale for its weights
  EXPECT_TRUE(canUseWarpgroups(unbounded.plan, why)) << why;
  spec["inputs"]["q"] = "T[i, d]";
  spec["body"][0] = "s = sum(d, q[i,d] * k[b,h,j,d]) * scale";
  EXPECT_EQ(whyNotWarpgroups(spec), "halves of 'q' need the maxima of 'k', whose cell does not "
                                    "follow from that of 'q'");
}

TEST(WarpgroupSchedule, halvesComeWholeToGroupsWithRowsOfTheirOwn) {
  nlohmann::json spec = librarySpec("full", 128);
  spec["types"]["T"] = "f32";
  LibraryNest of(spec);
  WarpgroupSchedule schedule = makeSchedule(of, 2, 32, 2);
  schedule.depth = 64;
  schedule.depthStages = 2;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()),
            "operands of f32 come as halves, not with depth: leave depth out");
}

// Keys in more axes than a tensor map has, and a table that names them.
TEST(WarpgroupSchedule, rowsThatLieAnywhereComeToBlocksOfOneRowTile) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["inputs"]["k"] = "T[b, h, x, y, j, d]";
  spec["reference"]["shape"]["x"] = spec["reference"]["shape"]["y"] = 1;
  spec["body"][0] = "s = sum(d, q[b,h,i,d] * k[b,h,0,0,j,d]) * scale";
  LibraryNest deep(spec), paged("paged", 64);
  for (LibraryNest *of : {&deep, &paged}) {
    WarpgroupSchedule schedule = makeSchedule(*of, 2, 64, 2);
    schedule.persistent = false;
    EXPECT_EQ(checkSchedule(of->nest, of->plan, schedule, hopper()), "");
    schedule.persistent = true;
    EXPECT_EQ(checkSchedule(of->nest, of->plan, schedule, hopper()),
              std::string(of == &deep ? "'k'" : "'kp'") +
                  " comes row by row, not with persistent: leave persistent out");
  }
}

WarpgroupSchedule seesaw(int64_t columns) {
  WarpgroupSchedule schedule;
  schedule.seesaw = true;
  schedule.pingPong = schedule.persistent = false;
  schedule.streamTile = 64;
  schedule.stages = 3;
  schedule.headDimTile = columns;
  schedule.depth = 64;
  return schedule;
}

// Each is refused with what stands in the way.
TEST(Seesaw, SaysWhatItCannotTake) {
  auto check = [](const char *spec, const WarpgroupSchedule &schedule) {
    LibraryNest of(spec, 192);
    return checkSchedule(of.nest, of.plan, schedule, hopper());
  };
  EXPECT_EQ(check("full", seesaw(96)), "");
  EXPECT_THAT(check("full", seesaw(64)), HasSubstr("divides 192 columns in 3"));
  EXPECT_THAT(check("full", seesaw(192)), HasSubstr("divides 192 columns in 1"));
  EXPECT_THAT(check("differential", seesaw(96)), HasSubstr("scores of one product, not 2"));
  EXPECT_THAT(check("mla", seesaw(96)), HasSubstr("scores of one product, not 2"));
  WarpgroupSchedule three = seesaw(96), drawing = seesaw(96), whole = seesaw(0);
  three.groups = 3;
  drawing.persistent = drawing.dynamicScheduler = true;
  EXPECT_THAT(check("full", three), HasSubstr("seesaw needs 2"));
  EXPECT_EQ(check("full", drawing), "seesaw excludes persistent, dynamic_scheduler: leave out the "
                                    "one or the other");
  EXPECT_THAT(check("full", whole), HasSubstr("needs head_dim_tile"));
  FusedProgram listed(librarySpec("documents", 192).dump());
  red::NestOp nest = listed.nests().back();
  std::string why;
  mlir::FailureOr<StreamPlan> plan = planStream(nest, why);
  ASSERT_TRUE(succeeded(plan)) << why;
  EXPECT_THAT(checkSchedule(nest, *plan, seesaw(96), hopper()),
              HasSubstr("list of the tiles that matter: leave it out"));
}

// A norm of the result needs all of its columns.
TEST(HeadDimTile, DoesNotDivideWhatAFoldOverTheResultNeeds) {
  LibraryNest of("differential_norm", 256);
  for (int64_t columns : {64, 128}) {
    WarpgroupSchedule schedule = makeSchedule(of, 1, 16, 2);
    schedule.headDimTile = columns;
    EXPECT_THAT(checkSchedule(of.nest, of.plan, schedule, hopper()), HasSubstr("needs together"));
    EXPECT_FALSE(fits(of.nest, of.plan, schedule, hopper()));
    PortableSchedule portable;
    portable.headDimTile = columns;
    EXPECT_THAT(checkSchedule(of.nest, of.plan, portable, hopper()), HasSubstr("needs together"));
  }
  for (const RankedSchedule &ranked : rankSchedules(of.nest, of.plan, hopper()))
    EXPECT_EQ(columnBlocks(*cutPlan(of.plan, ranked.schedule), ranked.schedule), 1);
}

// A part is free for the next tile when it has been read: the second product would wait for ever.
TEST(DepthStages, HoldAllPartsThatAreReadTwice) {
  nlohmann::json spec = librarySpec("full", 512);
  spec["inputs"]["g"] = spec["inputs"]["q"];
  spec["body"] = {"s = sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale",
                  "t = sum(d, g[b,h,i,d] * k[b,h,j,d])", "o[b,h,i] = sum(j, softmax(j, s) * t)"};
  spec["inputs"].erase("v");
  spec["dims"].erase("e");
  LibraryNest of(spec);
  WarpgroupSchedule schedule = makeSchedule(of, 1, 64, 2);
  schedule.depth = 128;
  schedule.depthStages = 3;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()),
            "the nest needs depth_stages 4, all parts of depth 128: two products of scores read "
            "the same parts");
  EXPECT_FALSE(fits(of.nest, of.plan, schedule, hopper()));
  schedule.depthStages = 4;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()), "");
}

TEST(BulkStores, AreOfWholePanels) {
  LibraryNest of("full", 192);
  WarpgroupSchedule schedule = makeSchedule(of, 1, 64, 2);
  schedule.bulkStores = true;
  schedule.headDimTile = 64;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()), "");
  schedule.headDimTile = 96; // a box of the first part would have 32 columns of the second
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()),
            "bulk_stores needs head_dim_tile in multiples of 64, not 96: leave bulk_stores out");
  EXPECT_FALSE(fits(of.nest, of.plan, schedule, hopper()));
  schedule.bulkStores = false;
  EXPECT_EQ(checkSchedule(of.nest, of.plan, schedule, hopper()), "");
}

TEST(Cluster, SaysWhatItCannotDivide) {
  auto check = [](int64_t width, int64_t columns) {
    LibraryNest of("full", width);
    WarpgroupSchedule schedule = seesaw(columns);
    schedule.cluster = true;
    return checkSchedule(of.nest, of.plan, schedule, hopper());
  };
  EXPECT_EQ(check(256, 64), "");
  EXPECT_THAT(check(256, 128), HasSubstr("256 columns in 2 parts; it needs one for each of 4 "
                                         "groups: head_dim_tile 64 makes 4"));
  EXPECT_THAT(check(384, 64), HasSubstr("384 columns in 6 parts"));
  EXPECT_THAT(check(64, 32), HasSubstr("leave cluster out"));
  EXPECT_THAT(check(288, 96), HasSubstr("leave cluster out")); // 3 parts of 96, or 5 of 64
  WarpgroupSchedule alone = WarpgroupSchedule();
  alone.cluster = true;
  EXPECT_EQ(alone.check(), "cluster needs seesaw");
}

// A part of 16 columns at least, and both parts cover the depth.
TEST(Cluster, DividesADepthInMultiplesOfAProduct) {
  EXPECT_EQ(depthShare(1024, 2), 512);
  EXPECT_EQ(depthShare(1000, 2), 512);
  EXPECT_EQ(depthShare(712, 2), 368);
  EXPECT_EQ(depthShare(72, 1), 72);
  LibraryNest of("full", 200);
  StreamPlan cut = tiledPlan(of.plan, 64, 64, 2);
  EXPECT_EQ(cut.contractions.front().resident.wholeCols(), 112);
  EXPECT_EQ(depthTiles(cut), 2);
  EXPECT_EQ(headDimTiles(cut), 4);
  StreamPlan again = tiledPlan(cut, 64, 64, 2);
  EXPECT_EQ(again.contractions.front().resident.wholeCols(), 112);
}

} // namespace
} // namespace attnc::schedule
