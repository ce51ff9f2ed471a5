// Backward programs whose blocks add to each other's sums, in the interpreter of GPU kernels
// against the derived gradients in float64.
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/gradient.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

struct Joined {
  std::string name, spec;
  std::map<std::string, int64_t> set = {};
  std::string keys = "{}"; ///< of kernels
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
    options.schedule = nlohmann::json::parse(GetParam().keys);
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
                                         Joined{"scores_read_again", "softcap"}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace attnc::e2e
