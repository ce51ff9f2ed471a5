// Every spec of the library, and specs beyond it, on the processor, against the float64 evaluator.
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

class CpuVariant : public testing::TestWithParam<std::string> {};

TEST_P(CpuVariant, isCorrectAtAllLengths) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : lengthPairs)
    expectCorrect(*spec, **executor, spec.extents(lengths));
}

class CpuAdversarial : public testing::TestWithParam<std::string> {};

TEST_P(CpuAdversarial, isCorrect) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 65}, Lengths{129, 200}, Lengths{300, 64}})
    expectCorrectOnAdversarialInputs(*spec, **executor, spec.extents(lengths));
}

INSTANTIATE_TEST_SUITE_P(All, CpuAdversarial, testing::ValuesIn(specNamesForLargeLogits()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Library, CpuVariant, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Further, CpuVariant, testing::ValuesIn(furtherSpecNames()),
                         [](const auto &info) { return info.param; });

TEST(CpuUnaligned, isCorrect) {
  for (const char *name : {"full", "bias", "gqa"}) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    auto executor = makeExecutor(*spec);
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    for (const driver::TensorLayout &layout : unalignedLayouts())
      expectCorrect(*spec, **executor, spec.extents({70, 100}), layout);
  }
}

class CpuSetting : public testing::TestWithParam<Setting> {};

TEST_P(CpuSetting, isCorrect) {
  LoadedSpec spec(GetParam().spec, GetParam().set);
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 1}, Lengths{65, 127}, Lengths{129, 300}})
    expectCorrect(*spec, **executor, spec.extents(lengths));
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndHeadDims, CpuSetting,
    testing::Values(Setting{"causal", {{"T", "f16"}}}, Setting{"causal", {{"T", "f32"}}},
                    Setting{"softcap", {{"T", "f16"}}}, Setting{"gqa", {{"T", "f32"}}},
                    Setting{"bias", {{"T", "f16"}}}, Setting{"lse", {{"T", "f32"}}},
                    Setting{"full", {{"d", "16"}, {"e", "24"}}},
                    Setting{"full", {{"d", "80"}, {"e", "128"}}},
                    Setting{"causal", {{"d", "256"}, {"e", "256"}, {"T", "f16"}}},
                    Setting{"ffpa_causal", {{"d", "1024"}, {"e", "1024"}}},
                    Setting{"nystrom", {{"m", "64"}}}),
    [](const auto &info) { return info.param.name(); });

TEST(CpuFloat32, losesNoMoreThanFloat32Does) {
  for (const char *name : {"causal", "gqa", "softcap", "lse"}) {
    LoadedSpec spec(name, {{"T", "f32"}});
    ASSERT_TRUE(spec);
    auto executor = makeExecutor(*spec);
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    expectFloat32Accuracy(*spec, **executor, spec.extents({300, 1000}));
  }
}

TEST(CpuParams, arePassed) {
  LoadedSpec spec("causal");
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  driver::CheckRequest request;
  request.extents = spec.extents({33, 50});
  request.params = {{"scale", 0.3}};
  auto report = driver::checkProgram(*spec, **executor, request);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->ok()) << report->worst()->why();
}

TEST(CpuParams, areRefusedOutsideTheirRange) {
  LoadedSpec spec("causal");
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  driver::CheckRequest request;
  request.extents = spec.extents({33, 50});
  request.params = {{"scale", -1}};
  auto report = driver::checkProgram(*spec, **executor, request);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::InvalidArgument);
  EXPECT_NE(report.error().message.find("scale"), std::string::npos) << report.error().message;
}

TEST(CpuCheck, comparesAtSamplesWhereTheReferenceWouldBeTooLarge) {
  LoadedSpec spec("causal");
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  driver::CheckRequest request;
  request.extents = spec.extents({1000, 129});
  request.maxElements = 1 << 20;
  auto report = driver::checkProgram(*spec, **executor, request);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->ok()) << report->worst()->why();
  EXPECT_EQ(report->sampled.at("i"), 66);
}

} // namespace
} // namespace attnc::e2e
