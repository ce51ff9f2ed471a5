// Sums about a centre that moves are kernels with tiles; what is wrong in them is seen. That they
// are right, on large logits too, is among what all specs are tested for.
#include "compiler/driver/compile.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"
#include <regex>

namespace attnc::e2e {
namespace {

using driver::Compilation;

class Moments : public testing::TestWithParam<std::string> {
protected:
  Result<Compilation> compile(const Spec &spec) {
    driver::CompileOptions options;
    options.target = GetParam();
    options.upTo = driver::Stage::Tile;
    return driver::compile(spec, options);
  }
};

TEST_P(Moments, AreFoldedByTiles) {
  for (const char *name : {"entropy_by_logarithm", "entropy_by_xlogy", "variance_of_scores"}) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    Result<Compilation> compilation = compile(*spec);
    ASSERT_TRUE(compilation) << compilation.error().text();
    ASSERT_EQ(compilation->nests.size(), 1U) << name;
    EXPECT_EQ(compilation->nests[0].form, GetParam() == "sm_90a" ? "warpgroups" : "portable")
        << name;
  }
}

// Lanes that do not put their shares together, tiles whose sums are left out.
TEST_P(Moments, FaultsAreSeen) {
  LoadedSpec spec("entropy_by_xlogy");
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compile(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto isRight = [&](const std::string &tile) {
    compilation->nests[0].tile = tile;
    auto executor = driver::makeInterpreterExecutor(*compilation, {{0}, 2});
    driver::CheckRequest request;
    request.extents = spec.extents({110, 120});
    request.extents["b"] = request.extents["h"] = 1;
    request.kinds = {evaluator::InputKind::Random};
    auto report = executor ? driver::checkProgram(*spec, **executor, request)
                           : Result<driver::CheckReport>(executor.error());
    return report && report->ok();
  };
  const std::string tile = compilation->nests[0].tile;
  EXPECT_TRUE(isRight(tile));
  std::regex sums("\n[^\n]*tile\\.reduce_(quad|rows) add[^\n]*");
  int faults = 0;
  for (std::sregex_iterator line(tile.begin(), tile.end(), sums), end; line != end; ++line) {
    std::string faulty = tile;
    faulty.erase(static_cast<size_t>(line->position()), static_cast<size_t>(line->length()));
    EXPECT_FALSE(isRight(faulty)) << "without" << line->str();
    ++faults;
  }
  EXPECT_GE(faults, 4); // the weights and their moment, in a tile and after the last one
}

INSTANTIATE_TEST_SUITE_P(Targets, Moments, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace attnc::e2e
