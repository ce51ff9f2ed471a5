#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

RegisterNeeds needsOf(const std::string &name) {
  LibraryNest of(name, 64);
  return of.plan.needs;
}

// Full attention that adds an element of a vector along the keys to each score.
nlohmann::json withColumnVector(const std::string &type) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["inputs"]["w"] = type + "[b, j]";
  std::string scores = spec["body"][0];
  spec["body"][0] = scores + " + w[b,j]";
  return spec;
}

TEST(RegisterNeeds, whatRowsKnowBeforeTheLoopCounts) {
  RegisterNeeds full = needsOf("full"), causal = needsOf("causal"),
                window = needsOf("sliding_window");
  EXPECT_EQ(full.uniform, 1); // the scale
  EXPECT_EQ(full.rows, 0);
  EXPECT_EQ(causal.rows, 1);                            // i
  EXPECT_EQ(window.rows, 2);                            // i and i - w
  EXPECT_EQ(needsOf("causal_bottom_right").uniform, 3); // and two sizes
}

TEST(RegisterNeeds, whatIsReadOrComputedForEachScoreCounts) {
  EXPECT_EQ(needsOf("alibi").terms, 1);
  EXPECT_EQ(needsOf("relative_bias").inputs, 1);
  EXPECT_EQ(needsOf("bias").inputs, 0) << "that one is the plan's";
  EXPECT_EQ(needsOf("dropout").random, 1);
  EXPECT_EQ(needsOf("entropy").moments, 1);
  EXPECT_EQ(needsOf("causal").terms, 0);
}

TEST(RegisterNeeds, elementsOf64BitsTakeTwoWords) {
  LibraryNest narrow(withColumnVector("i32")), wide(withColumnVector("i64"));
  ASSERT_EQ(wide.plan.needs.columns.size(), 1);
  EXPECT_EQ(wide.plan.needs.columns.front().words, 2);
  WarpgroupSchedule schedule = makeSchedule(narrow, 2, 96, 2);
  schedule.copyInputs = false;
  EXPECT_EQ(consumerRegisters(wide.plan, schedule) - consumerRegisters(narrow.plan, schedule),
            96 / 4);
  EXPECT_EQ(otherRegisters(wide.nest, wide.plan, {.streamTile = 64}) -
                otherRegisters(narrow.nest, narrow.plan, {.streamTile = 64}),
            64 / 4);
}

// So they are counted once for a nest, not for each of its schedules.
TEST(RegisterNeeds, areThoseOfTheWholePlanWhereColumnsAreCut) {
  for (const char *name : {"causal", "bias", "alibi", "entropy", "dropout"}) {
    LibraryNest of(name, 512);
    RegisterNeeds cut = countRegisterNeeds(of.nest, tiledPlan(of.plan, 128, 64));
    const RegisterNeeds &whole = of.plan.needs;
    EXPECT_EQ(
        std::tuple(cut.uniform, cut.rows, cut.columns.size(), cut.inputs, cut.terms),
        std::tuple(whole.uniform, whole.rows, whole.columns.size(), whole.inputs, whole.terms))
        << name;
    EXPECT_EQ(std::tie(cut.random, cut.moments, cut.asked, cut.quotients, cut.inParts, cut.masked),
              std::tie(whole.random, whole.moments, whole.asked, whole.quotients, whole.inParts,
                       whole.masked))
        << name;
  }
}

// A lane has a few of the elements that only say which keys count, every thread those that are
// added.
TEST(RegisterNeeds, countNoElementsThatLanesAskFor) {
  auto columnsOf = [](const char *mask) {
    nlohmann::json spec = librarySpec("full", 64);
    spec["inputs"]["x"] = "i32[b, j]";
    spec["body"][1] = std::string("p = softmax(j, ") + mask + ")";
    return LibraryNest(spec).plan.needs.columns.size();
  };
  EXPECT_EQ(columnsOf("where(x[b,j] >= 0, s, -inf)"), 0);
  EXPECT_EQ(columnsOf("where(x[b,j] % size(h) == 1 or exp(x[b,j]) > 7, s, -inf)"), 0);
  EXPECT_EQ(columnsOf("s + x[b,j]"), 1);
  EXPECT_EQ(columnsOf("where(x[b,j] >= 0, s + x[b,j], -inf)"), 1);
  EXPECT_EQ(columnsOf("where(x[b,j] >= i, s, -inf)"), 1);
}

// Where a row has its part in a condition, each thread reads the elements.
TEST(RegisterNeeds, tellWhatIsComparedFromWhatIsAdded) {
  auto comparesOnly = [](const char *mask) {
    nlohmann::json spec = librarySpec("full", 64);
    spec["inputs"]["x"] = "i64[b, j]";
    spec["body"][1] = std::string("p = softmax(j, ") + mask + ")";
    LibraryNest of(spec);
    EXPECT_EQ(of.plan.needs.columns.size(), 1);
    EXPECT_EQ(of.plan.needs.columns.front().words, 2);
    return of.plan.needs.columns.front().onlyCompared;
  };
  EXPECT_TRUE(comparesOnly("where(x[b,j] >= i, s, -inf)"));
  EXPECT_TRUE(comparesOnly("where(x[b,j] >= i and x[b,j] != 2 * i, s, -inf)"));
  EXPECT_FALSE(comparesOnly("where(x[b,j] % 3 == i % 3, s, -inf)"));
  EXPECT_FALSE(comparesOnly("s + x[b,j]"));
  EXPECT_FALSE(comparesOnly("where(x[b,j] >= i, s + x[b,j], -inf)"));
  EXPECT_FALSE(comparesOnly("where(x[b,j] >= s, s, -inf)"));
}

// Arithmetic that is shared has many more paths than operations.
TEST(RegisterNeeds, areCountedInOneWalk) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["inputs"]["x"] = "i32[b, j]";
  nlohmann::json body = {"z = x[b,j] + 0"};
  for (int n = 0; n < 40; ++n)
    body.push_back("z = z * z + z");
  body.push_back(spec["body"][0]);
  body.push_back("p = softmax(j, where(z > 3, s, -inf))");
  body.push_back(spec["body"][2]);
  spec["body"] = body;
  EXPECT_TRUE(LibraryNest(spec).plan.needs.columns.empty());
}

// What they need beside the plainest nest is what keeps a tile from them that it has.
TEST(RegisterNeeds, decideWhichTilesFit) {
  const GpuModel &ampere = *findGpuModel("sm_80");
  PortableSchedule large{.rowTile = 128, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2};
  LibraryNest plain("causal", 64), biased("bias", 64), moment("entropy", 64);
  EXPECT_EQ(checkSchedule(plain.nest, plain.plan, large, ampere), "");
  EXPECT_NE(checkSchedule(biased.nest, biased.plan, large, ampere), "");
  EXPECT_NE(checkSchedule(moment.nest, moment.plan, large, ampere), "");
  PlannedNest planned(biased.nest);
  EXPECT_LT(
      tile::scheduleAs<PortableSchedule>(chooseSchedule(planned, ampere).schedule)->streamTile, 64);
}

} // namespace
} // namespace attnc::schedule
