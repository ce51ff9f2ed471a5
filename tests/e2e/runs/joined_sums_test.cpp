// Backward programs whose blocks add to each other's sums, in the interpreter of GPU kernels
// against the derived gradients in float64.
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/gradient.h"
#include "tests/e2e/variant.h"
#include <gmock/gmock.h>

namespace attnc::e2e {
namespace {

struct Joined {
  std::string name, spec;
};

void PrintTo(const Joined &joined, std::ostream *os) { *os << joined.name; }

class JoinedSums : public testing::TestWithParam<Joined> {
protected:
  JoinedSums() : spec(GetParam().spec) {}

  void compile(bool joins) {
    const_cast<Spec &>(*spec).grad = {"q", "k", "v"};
    Result<driver::GradientSpecs> derived = driver::differentiateSpec(*spec);
    ASSERT_TRUE(derived.ok()) << derived.error().text();
    whole = std::move(derived->whole);
    driver::CompileOptions options;
    options.schedule["joined_sums"] = joins;
    options.target = "sm_90a";
    options.upTo = driver::Stage::Tile;
    Result<driver::Compilation> compiled = driver::compile(*spec, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().text();
    compilation = std::move(*compiled);
  }

  LoadedSpec spec;
  std::optional<Spec> whole;
  std::optional<driver::Compilation> compilation;
};

// Lengths of less than a tile of either dim, and of some with a part of one.
TEST_P(JoinedSums, giveCorrectGradients) {
  ASSERT_TRUE(spec);
  ASSERT_NO_FATAL_FAILURE(compile(/*joins=*/true));
  const std::vector<LaunchDecl> &launches =
      compilation->backward->program.manifest.variants.front().launches;
  EXPECT_TRUE(std::ranges::any_of(
      launches, [](const LaunchDecl &each) { return each.kernel.ends_with("_clear"); }));
  auto executor = driver::makeInterpreterExecutor(*compilation, {.seeds = {0, 3, 6}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{1, 70}, Lengths{150, 90}, Lengths{65, 300}, Lengths{130, 1}})
    expectNothingWrong(*whole, **executor, spec.extents(lengths));
}

// Without them kernels give the same bits in each order of warps, which the interpreter compares.
TEST_P(JoinedSums, areNotThereWhereTheScheduleForbidsThem) {
  ASSERT_TRUE(spec);
  ASSERT_NO_FATAL_FAILURE(compile(/*joins=*/false));
  for (const VariantDecl &variant : compilation->backward->program.manifest.variants)
    for (const LaunchDecl &launch : variant.launches)
      EXPECT_FALSE(llvm::StringRef(launch.kernel).ends_with("_clear"));
}

INSTANTIATE_TEST_SUITE_P(Some, JoinedSums,
                         testing::Values(Joined{"plain", "full"}, Joined{"mask", "causal"},
                                         Joined{"window", "sliding_window"},
                                         Joined{"keys_of_several_heads", "gqa"},
                                         Joined{"bias", "bias"},
                                         Joined{"scores_read_again", "softcap"},
                                         Joined{"infinite_beyond_rows", "scores_below_zero"}),
                         [](const auto &info) { return info.param.name; });

Result<driver::Compilation> compileWith(const Spec &spec, nlohmann::json schedule,
                                        const std::string &target = "sm_90a") {
  driver::CompileOptions options;
  options.schedule = std::move(schedule);
  options.target = target;
  options.upTo = driver::Stage::Tile;
  options.parts = driver::SplitVariant::OnFirstUse;
  return driver::compile(spec, options);
}

bool hasJoined(const driver::Compilation &compilation) {
  return llvm::any_of(compilation.backward->program.manifest.kernels, [](const KernelDecl &kernel) {
    return llvm::StringRef(kernel.name).starts_with("joined_");
  });
}

// A window of 256 leaves less to save than clearing and reading the sums takes.
TEST(JoinedSumsByThemselves, areThereWhereTheySaveMoreThanTheyCost) {
  for (auto [name, target, isThere] : {std::tuple("causal", "sm_90a", true),
                                       {"sliding_window", "sm_90a", false},
                                       {"causal", "sm_80", false}}) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    const_cast<Spec &>(*spec).grad = {"q", "k", "v"};
    Result<driver::Compilation> compiled = compileWith(*spec, {}, target);
    ASSERT_TRUE(compiled.ok()) << compiled.error().text();
    EXPECT_EQ(hasJoined(*compiled), isThere) << name << " for " << target;
  }
}

TEST(JoinedSumsByThemselves, areOfTheFormThatKnowsThem) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  const_cast<Spec &>(*spec).grad = {"q", "k", "v"};
  Result<driver::Compilation> portable =
      compileWith(*spec, {{"joined_sums", true}, {"form", "portable"}});
  ASSERT_FALSE(portable.ok());
  EXPECT_THAT(portable.error().text(), testing::HasSubstr("sums over rows"));
  Result<driver::Compilation> misspelt = compileWith(*spec, {{"joined_sums", 3}});
  ASSERT_FALSE(misspelt.ok());
  EXPECT_THAT(misspelt.error().text(), testing::HasSubstr("joined_sums is 3"));
}

} // namespace
} // namespace attnc::e2e
