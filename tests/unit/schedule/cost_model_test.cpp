#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

StepPrediction stepOf(const std::string &spec, int64_t width, int64_t groups, int64_t streamTile,
                      int64_t stages = 2) {
  LibraryNest of(spec, width);
  return CostModel(of.nest, of.plan, hopper()).step(makeSchedule(of, groups, streamTile, stages));
}

double bound(const StepPrediction &step, llvm::StringRef name) {
  for (const StepBound &one : step.bounds)
    if (one.name == name)
      return one.clocks;
  ADD_FAILURE() << "no bound " << name.str();
  return 0;
}

// Tensor-core use of hand-written kernels on an H100 at 16384 rows, without the rows and rounds
// that do not divide (docs/schedules.md). They are soft-cap 30 where the name says so.
TEST(CostModel, agreesWithMeasuredKernels) {
  struct Row {
    const char *spec;
    int64_t width, groups, streamTile, stages;
    double measured;
  };
  for (const Row &row : {Row{"full", 128, 3, 80, 3, .99}, Row{"full", 128, 3, 64, 5, .95},
                         Row{"full", 128, 2, 128, 2, .87}, Row{"full", 128, 2, 176, 2, .89},
                         Row{"full", 256, 2, 80, 2, .99}, Row{"full", 256, 2, 64, 2, .99},
                         Row{"full", 64, 4, 64, 3, .66}, Row{"full", 64, 3, 128, 3, .66},
                         Row{"full", 64, 3, 96, 3, .65}, Row{"softcap", 128, 3, 80, 3, .73},
                         Row{"softcap", 128, 3, 64, 5, .71}, Row{"softcap", 64, 4, 64, 3, .41}}) {
    StepPrediction step = stepOf(row.spec, row.width, row.groups, row.streamTile, row.stages);
    // The fit's own residuals: 14 % at the worst, where the exponentials are all there is.
    EXPECT_NEAR(step.tensorShare / row.measured, 1, 0.14)
        << row.spec << ' ' << row.width << ": " << row.groups << " x " << row.streamTile;
  }
}

TEST(CostModel, boundsFollowFromTheWork) {
  StepPrediction step = stepOf("full", 128, 2, 128);
  // 128 x 128 scores; 128 + 128 multiply-adds of 2048 a clock; a start for each group.
  EXPECT_DOUBLE_EQ(bound(step, "tensor cores"), 128.0 * 128 * 256 / 2048 + 2 * 24);
  EXPECT_DOUBLE_EQ(bound(step, "exponentials and arithmetic"),
                   128.0 * 128 * (1.0 / 16 + 3.5 / 128));
  EXPECT_DOUBLE_EQ(step.flops, 2.0 * 128 * 128 * 256);
  EXPECT_GE(step.clocks, step.limit().clocks);
  EXPECT_LE(step.tensorShare, 1);
}

TEST(CostModel, oneGroupCannotHideItsOwnArithmetic) {
  EXPECT_EQ(stepOf("full", 128, 1, 128).limit().name, "the chain of one group");
  EXPECT_EQ(stepOf("full", 128, 3, 80, 3).limit().name, "tensor cores");
}

TEST(CostModel, aDenseBiasIsLimitedByMemory) {
  EXPECT_EQ(stepOf("bias", 64, 4, 64, 3).limit().name, "memory");
}

TEST(CostModel, tilesOfABiasSpareTheGroupsItsLatency) {
  LibraryNest of("bias", 128);
  CostModel model(of.nest, of.plan, hopper());
  WarpgroupSchedule copied = makeSchedule(of, 3, 64, 3), read = copied;
  read.copyInputs = false;
  EXPECT_GT(model.step(read).chain, model.step(copied).chain);
  EXPECT_LT(bound(model.step(read), "shared memory"), bound(model.step(copied), "shared memory"));
}

TEST(CostModel, turnsPayWithoutAMask) {
  for (auto [name, pays] : {std::pair("full", true), std::pair("causal", false)}) {
    LibraryNest of(name, 64);
    CostModel model(of.nest, of.plan, hopper());
    WarpgroupSchedule turns = makeSchedule(of, 4, 64, 3), any = turns;
    turns.persistent = any.persistent = false;
    any.pingPong = false;
    EXPECT_EQ(model.kernelShare(turns) > model.kernelShare(any), pays) << name;
  }
}

TEST(CostModel, theSoftcapIsLimitedByItsExponentials) {
  EXPECT_EQ(stepOf("softcap", 128, 3, 80, 3).limit().name, "exponentials and arithmetic");
}

TEST(CostModel, moreStagesNeverCost) {
  LibraryNest of("full", 64);
  CostModel model(of.nest, of.plan, hopper());
  double before = 0;
  for (int64_t stages : {2, 3, 4, 5}) {
    double share = model.kernelShare(makeSchedule(of, 4, 64, stages));
    EXPECT_GE(share, before);
    before = share;
  }
}

TEST(CostModel, kernelsReachLessThanTheirSteps) {
  for (const char *name : {"full", "causal", "softcap", "alibi"}) {
    LibraryNest of(name, 128);
    CostModel model(of.nest, of.plan, hopper());
    WarpgroupSchedule schedule = makeSchedule(of, 3, 80, 3);
    double share = model.kernelShare(schedule);
    EXPECT_GT(share, 0) << name;
    EXPECT_LT(share, model.step(schedule).tensorShare) << name;
  }
}

// Tiles that differ in work and are dealt out in advance may all meet the longest of a round.
TEST(CostModel, masksWantBlocksThatStartAsOthersEnd) {
  for (auto [name, staying] : {std::pair("full", true), std::pair("causal", false)}) {
    LibraryNest of(name, 128);
    CostModel model(of.nest, of.plan, hopper());
    WarpgroupSchedule schedule = makeSchedule(of, 3, 80, 3), other = schedule;
    schedule.persistent = staying;
    other.persistent = !staying;
    EXPECT_GT(model.kernelShare(schedule), model.kernelShare(other)) << name;
  }
}

} // namespace
} // namespace attnc::schedule
