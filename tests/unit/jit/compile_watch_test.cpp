// Limits of a compilation: where it stops, what it says, and that NVRTC stops with it.
#include "compiler/driver/compile_watch.h"
#include "compiler/jit/compile_program.h"
#include "compiler/jit/open_program.h"
#include "tests/unit/jit/parsed_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

using namespace attnc;
using namespace attnc::test;
using driver::CompileWatch;
using testing::HasSubstr;

namespace {

/// Compiles for sm_80 without a store, to CUDA C++ or, if there are `images`, to machine code.
Result<driver::Compilation> compile(const ParsedSpec &parsed, CompileWatch &watch,
                                    std::shared_ptr<const ImageCompiler> images = nullptr) {
  driver::CompileOptions options;
  options.target = "sm_80";
  options.upTo = images ? driver::Stage::Cubin : driver::Stage::Cuda;
  options.images = std::move(images);
  options.parts = driver::SplitVariant::OnFirstUse;
  options.watch = &watch;
  return driver::compile(*parsed.spec, options);
}

/// A spec that is one long kernel: NVRTC takes a minute for it.
std::string longSpec() {
  return R"json({"attnc": 1, "name": "long", "inputs": {"x": "f32[i, j]"}, "body": ["z = x",
    {"repeat": 9999, "carry": ["z"], "body": ["z = tanh(z) + x"]}], "outputs": {"z": "f32"}})json";
}

TEST(CompileWatch, IsToldOfEveryStageInItsOrder) {
  std::vector<std::string> stages;
  CompileWatch watch({}, [&](const std::string &stage) { stages.push_back(stage); });
  ASSERT_TRUE(compile(ParsedSpec(), watch));
  EXPECT_EQ(stages.front(), "desugar");
  EXPECT_THAT(stages, testing::IsSupersetOf({"fuse-nests", "choose-schedules"}));
  EXPECT_THAT(stages, testing::Contains(testing::StartsWith("lower-nests")));
  EXPECT_FALSE(watch.crossed());
}

TEST(CompileWatch, TimeThatIsOverEndsTheCompilationAtItsNextStage) {
  CompileWatch watch({.time = std::chrono::seconds(0)});
  Result<driver::Compilation> late = compile(ParsedSpec(), watch);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message, "the time limit of 0 s was reached (desugar)");
  ASSERT_TRUE(watch.crossed());
  EXPECT_EQ(watch.crossed()->limit, CompileWatch::Limit::Time);
  EXPECT_EQ(watch.crossed()->error.message, late.error().message);
}

// The program and its variant in parts have three kernels together. Without the latter it would be
// another program under the same key.
TEST(CompileWatch, KernelsOfBothVariantsCount) {
  CompileWatch counting({});
  Result<driver::Compilation> whole = compile(ParsedSpec(), counting);
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->variants.size(), 1u);
  size_t kernels = whole->nests.size() + whole->variants[0].nests.size();
  CompileWatch enough({.kernels = kernels});
  EXPECT_TRUE(compile(ParsedSpec(), enough));
  CompileWatch tooFew({.kernels = kernels - 1});
  Result<driver::Compilation> refused = compile(ParsedSpec(), tooFew);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the program has " + std::to_string(kernels) +
                                         " kernels, and the limit is " +
                                         std::to_string(kernels - 1));
  ASSERT_TRUE(tooFew.crossed());
  EXPECT_EQ(tooFew.crossed()->limit, CompileWatch::Limit::Kernels);
}

TEST(CompileWatch, NvrtcStopsInTheMiddleOfAKernel) {
  auto images = std::make_shared<const ImageCompiler>();
  if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  ParsedSpec parsed(longSpec());
  // On a machine with much to do the time may be over before NVRTC begins: then it gets more.
  for (int limit : {2, 10, 30}) {
    auto start = std::chrono::steady_clock::now();
    CompileWatch watch({.time = std::chrono::seconds(limit)});
    Result<driver::Compilation> stopped = compile(parsed, watch, images);
    auto took = std::chrono::steady_clock::now() - start;
    ASSERT_FALSE(stopped);
    if (limit < 30 && stopped.error().message.find("(nvrtc") == std::string::npos)
      continue;
    EXPECT_EQ(stopped.error().message,
              fmt::format("the time limit of {} s was reached (nvrtc, kernel long_z)", limit));
    EXPECT_TRUE(watch.crossed());
    EXPECT_LT(took, std::chrono::seconds(limit + 18)) << "NVRTC has gone on";
    return;
  }
}

TEST(CompileWatch, WhatIsLeftToFirstUseStopsToo) {
  auto images = std::make_shared<const ImageCompiler>();
  if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  CompileWatch watch({});
  Result<driver::Compilation> compiled = compile(ParsedSpec(), watch, images);
  ASSERT_TRUE(compiled) << compiled.error().text();
  CompileWatch over({.time = std::chrono::seconds(0)});
  Result<Program> late = completed(*compiled, &over);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("the time limit of 0 s was reached (nvrtc, kernel"));
  EXPECT_TRUE(completed(*compiled)) << "it has to be possible later";
}

} // namespace
