// Variants for short sequences: at which lengths they are launched, also on copies of tensors that
// are not aligned, and what they compute.
#include "compiler/driver/compile.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "runtime/program/launch.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

using driver::Compilation;

Result<Compilation> compileWithVariants(const Spec &spec) {
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  options.parts = driver::SplitVariant::OnFirstUse;
  return driver::compile(spec, options);
}

/// What the kernels of the variant begin with that serves aligned tensors of these extents; empty:
/// it is the program itself.
std::string prefixAt(const Compilation &compilation, Extents extents) {
  const Manifest &manifest = compilation.program.manifest;
  Scope scope{std::move(extents), {}, {}};
  EXPECT_TRUE(addMachineSizes(manifest, scope, 132));
  for (const VariantDecl &variant : manifest.variants) {
    Result<Scalar> isChosen =
        variant.when ? evaluate(*variant.when, scope) : Scalar(std::int64_t(1));
    EXPECT_TRUE(isChosen) << isChosen.error().text();
    if (!isTrue(*isChosen))
      continue;
    for (const char *prefix :
         {"short_64_", "short_128_", "uneven_512_", "short_512_", "split_", "packed_"})
      if (variant.launches.front().kernel.starts_with(prefix))
        return prefix;
    return "";
  }
  return "none";
}

/// Plain attention with so many columns, and what prefixAt says of `i` queries and `j` keys.
struct PlainAttention {
  explicit PlainAttention(std::int64_t columns)
      : columns(columns), width(std::to_string(columns)),
        spec("full", {{"d", width}, {"e", width}}), compilation(compileWithVariants(*spec)) {
    EXPECT_TRUE(compilation) << compilation.error().text();
  }
  std::string at(std::int64_t i, std::int64_t j) {
    return prefixAt(*compilation,
                    {{"b", 64}, {"h", 16}, {"i", i}, {"j", j}, {"d", columns}, {"e", columns}});
  }

  std::int64_t columns;
  std::string width;
  LoadedSpec spec;
  Result<Compilation> compilation;
};

TEST(ShortSequences, haveKernelsOfTheirOwn) {
  PlainAttention plain(128);
  auto at = [&](std::int64_t i, std::int64_t j) { return plain.at(i, j); };
  EXPECT_EQ(at(1, 1), "short_64_");
  EXPECT_EQ(at(64, 64), "short_64_");
  EXPECT_EQ(at(65, 64), "short_128_");
  EXPECT_EQ(at(128, 128), "short_128_");
  EXPECT_EQ(at(129, 128), "short_512_");
  EXPECT_EQ(at(64, 512), "short_512_");
  EXPECT_EQ(at(512, 512), "short_512_");
  EXPECT_EQ(at(512, 513), "");
  EXPECT_EQ(at(513, 512), "");
}

TEST(ShortSequences, haveTilesThatLeaveFewRowsEmpty) {
  PlainAttention plain(64);
  auto at = [&](std::int64_t i, std::int64_t j) { return plain.at(i, j); };
  EXPECT_EQ(at(64, 64), "short_64_");
  EXPECT_EQ(at(100, 65), "short_128_");
  EXPECT_EQ(at(192, 512), "short_512_");
  EXPECT_EQ(at(193, 193), "short_512_");
  EXPECT_EQ(at(257, 64), "uneven_512_");
  EXPECT_EQ(at(384, 384), "uneven_512_");
  EXPECT_EQ(at(385, 384), "short_512_");
  EXPECT_EQ(at(384, 513), "");
}

// However few the keys are.
TEST(ShortSequences, leaveFewRowsToTheVariantThatPacksThem) {
  LoadedSpec spec("gqa", {{"d", "128"}, {"e", "128"}});
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileWithVariants(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto at = [&](std::int64_t i) {
    return prefixAt(
        *compilation,
        {{"b", 64}, {"h", 32}, {"hk", 8}, {"i", i}, {"j", 256}, {"d", 128}, {"e", 128}});
  };
  EXPECT_EQ(at(1), "packed_");
  EXPECT_EQ(at(17), "short_512_");
}

TEST(ShortSequences, copyOnlyWhatIsNotAligned) {
  LoadedSpec spec("bias");
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileWithVariants(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  std::vector<std::vector<std::string>> launched;
  for (const VariantDecl &variant : compilation->program.manifest.variants) {
    launched.emplace_back();
    for (const LaunchDecl &launch : variant.launches)
      launched.back().push_back(launch.kernel);
  }
  auto position = [&](const std::vector<std::string> &kernels) {
    auto found = std::find(launched.begin(), launched.end(), kernels);
    EXPECT_NE(found, launched.end()) << kernels.front();
    return found - launched.begin();
  };
  auto direct = position({"short_64_bias_o"}), one = position({"align_bias", "short_64_bias_o"});
  auto all =
      position({"align_q", "align_k", "align_v", "align_bias", "short_64_bias_o", "unalign_o"});
  EXPECT_LT(direct, one);
  EXPECT_LT(one, all);
  EXPECT_LT(all, position({"bias_o"}));
}

class ShortSequencesOf : public testing::TestWithParam<std::string> {};

TEST_P(ShortSequencesOf, AreRight) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileWithVariants(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(*compilation, {{0}, 8});
  ASSERT_TRUE(executor) << executor.error().text();
  for (Lengths lengths : {Lengths{49, 63}, Lengths{64, 17}, Lengths{100, 128}, Lengths{130, 200}}) {
    Extents extents = spec.extents(lengths);
    if (lengths.queries <= 64)
      EXPECT_EQ(prefixAt(*compilation, extents), "short_64_");
    expectCorrect(*spec, **executor, extents);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, ShortSequencesOf,
                         testing::Values("full", "causal", "bias", "evoformer", "documents",
                                         "sliding_window", "lse"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace attnc::e2e
