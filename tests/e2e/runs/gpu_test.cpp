// Every spec of the library, and specs beyond it, on the GPU, against the float64 evaluator.
// Skipped where there is none.
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

/// One GPU for all tests of the process.
const Result<std::shared_ptr<const CudaDevice>> &gpu() {
  static const Result<std::shared_ptr<const CudaDevice>> opened = openGpu();
  return opened;
}

#define SKIP_WITHOUT_GPU()                                                                         \
  if (!gpu().ok())                                                                                 \
  GTEST_SKIP() << gpu().error().text()

class GpuVariant : public testing::TestWithParam<std::string> {};

TEST_P(GpuVariant, isCorrectAtAllLengths) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : lengthPairs)
    expectCorrect(*spec, **executor, spec.extents(lengths));
}

class GpuLong : public testing::TestWithParam<std::string> {};

/// 16384 queries and keys, or half as many and so on where the reference cannot be computed for
/// samples of the queries: where a result is a sum over them.
Extents longExtents(const LoadedSpec &spec) {
  Extents extents;
  for (int64_t length = 16384; length > 0; length /= 2) {
    extents = spec.extents({length, length});
    if (!extents.contains("hk")) // a dense bias of one head alone has 2^28 elements
      extents["h"] = 1;
    if (driver::canSample(driver::programOf(*spec), extents, driver::CheckRequest().maxElements))
      break;
  }
  return extents;
}

TEST_P(GpuLong, isCorrect) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  expectCorrect(*spec, **executor, longExtents(spec));
}

/// Not those that read values for each pair of residues: 2^28 of them for each head or column.
std::vector<std::string> specNamesForLongSequences() {
  std::vector<std::string> names = specNames();
  llvm::erase_if(names, [](llvm::StringRef name) { return name.starts_with("ipa"); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, GpuLong, testing::ValuesIn(specNamesForLongSequences()),
                         [](const auto &info) { return info.param; });

class GpuFloat32 : public testing::TestWithParam<Setting> {};

TEST_P(GpuFloat32, losesNoMoreThanFloat32Does) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam().spec, GetParam().set);
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  expectFloat32Accuracy(*spec, **executor, spec.extents({300, 1000}));
}

INSTANTIATE_TEST_SUITE_P(
    Library, GpuFloat32,
    testing::Values(Setting{"causal", {{"T", "f32"}}},
                    Setting{"full", {{"T", "f32"}, {"d", "128"}, {"e", "128"}}},
                    Setting{"full", {{"T", "f32"}, {"d", "256"}, {"e", "256"}}},
                    Setting{"softcap", {{"T", "f32"}}}, Setting{"lse", {{"T", "f32"}}}),
    [](const auto &info) { return info.param.name(); });

class GpuAdversarial : public testing::TestWithParam<std::string> {};

TEST_P(GpuAdversarial, isCorrect) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 65}, Lengths{129, 200}, Lengths{300, 64}})
    expectCorrectOnAdversarialInputs(*spec, **executor, spec.extents(lengths));
}

INSTANTIATE_TEST_SUITE_P(All, GpuAdversarial, testing::ValuesIn(specNamesForLargeLogits()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Library, GpuVariant, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Further, GpuVariant, testing::ValuesIn(furtherSpecNames()),
                         [](const auto &info) { return info.param; });

class GpuRepeated : public testing::TestWithParam<std::string> {};

// More row tiles than multiprocessors.
TEST_P(GpuRepeated, givesTheSameBits) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  Extents extents = spec.extents({2000, 1500});
  if (extents.contains("b"))
    extents["b"] = 5;
  expectSameBits(*spec, **executor, extents);
}

INSTANTIATE_TEST_SUITE_P(Library, GpuRepeated, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });

class GpuDrawn : public testing::TestWithParam<Setting> {};

// Blocks draw their row tiles: more than there are multiprocessors, so in another order each time.
TEST_P(GpuDrawn, isCorrectAndTheSameEachTime) {
  SKIP_WITHOUT_GPU();
  if ((*gpu())->properties().major != 9)
    GTEST_SKIP() << "the form is for compute capability 9.0";
  LoadedSpec spec(GetParam().spec, GetParam().set);
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu(), {{"dynamic_scheduler", true}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 65}, Lengths{300, 1001}, Lengths{2000, 1500}})
    expectCorrect(*spec, **executor, spec.extents(lengths));
  Extents extents = spec.extents({2000, 1500});
  extents["b"] = 5;
  expectSameBits(*spec, **executor, extents);
}

INSTANTIATE_TEST_SUITE_P(Library, GpuDrawn,
                         testing::Values(Setting{"causal", {}},
                                         Setting{"causal", {{"d", "128"}, {"e", "128"}}},
                                         Setting{"causal", {{"d", "256"}, {"e", "256"}}},
                                         Setting{"sliding_window", {}}, Setting{"prefix_lm", {}},
                                         Setting{"full", {}}, Setting{"gqa", {}}),
                         [](const auto &info) { return info.param.name(); });

class GpuUnaligned : public testing::TestWithParam<Setting> {};

TEST_P(GpuUnaligned, isCorrect) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam().spec, GetParam().set);
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 1}, Lengths{70, 100}, Lengths{300, 1001}})
    for (const driver::TensorLayout &layout : unalignedLayouts())
      expectCorrect(*spec, **executor, spec.extents(lengths), layout);
}

INSTANTIATE_TEST_SUITE_P(Library, GpuUnaligned,
                         testing::Values(Setting{"full", {}}, Setting{"bias", {}},
                                         Setting{"gqa", {}}, Setting{"lse", {}},
                                         Setting{"causal", {{"T", "f16"}}},
                                         Setting{"causal", {{"T", "f32"}}}),
                         [](const auto &info) { return info.param.name(); });

class GpuSetting : public testing::TestWithParam<Setting> {};

TEST_P(GpuSetting, isCorrect) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam().spec, GetParam().set);
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 1}, Lengths{65, 127}, Lengths{129, 300}})
    expectCorrect(*spec, **executor, spec.extents(lengths));
}

/// Every head dim in steps of 8 is padded to the next atom; these cover both sides of each.
std::vector<Setting> settings() {
  std::vector<Setting> list = {
      {"causal", {{"T", "f16"}}},      {"causal", {{"T", "f32"}}},
      {"softcap", {{"T", "f16"}}},     {"gqa", {{"T", "f32"}}},
      {"bias", {{"T", "f16"}}},        {"lse", {{"T", "f32"}}},
      {"filled_mask", {{"T", "f16"}}}, {"full", {{"d", "80"}, {"e", "128"}}}};
  for (const char *dim : {"16", "24", "40", "72", "96", "128", "136", "192", "256"})
    for (const char *type : {"bf16", "f32"})
      list.push_back({"causal", {{"d", dim}, {"e", dim}, {"T", type}}});
  return list;
}

/// Each way to divide wide heads among groups and blocks, for whole rows and for parts of them.
std::vector<Setting> wideSettings() {
  std::vector<Setting> list;
  for (const char *dim : {"320", "456", "512", "640", "768", "1024"})
    for (const char *spec : {"ffpa", "ffpa_causal", "lse"})
      list.push_back({spec, {{"d", dim}, {"e", dim}, {"T", "f16"}}});
  for (const char *spec : {"ffpa_dropout", "ffpa_mask", "ffpa_gqa", "ffpa_cross"})
    list.push_back({spec, {{"d", "1024"}, {"e", "768"}}});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Wide, GpuSetting, testing::ValuesIn(wideSettings()),
                         [](const auto &info) { return info.param.name(); });

// The form of GPUs before Hopper on the one that is there.
class GpuPortable : public testing::TestWithParam<Setting> {};

TEST_P(GpuPortable, isCorrect) {
  SKIP_WITHOUT_GPU();
  LoadedSpec spec(GetParam().spec, GetParam().set);
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *gpu(), {{"form", "portable"}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 1}, Lengths{129, 300}})
    expectCorrect(*spec, **executor, spec.extents(lengths));
}

INSTANTIATE_TEST_SUITE_P(Wide, GpuPortable, testing::ValuesIn(wideSettings()),
                         [](const auto &info) { return info.param.name(); });

INSTANTIATE_TEST_SUITE_P(TypesAndHeadDims, GpuSetting, testing::ValuesIn(settings()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
} // namespace attnc::e2e
