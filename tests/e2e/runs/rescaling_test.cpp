// Maxima that keep rising over many small tiles: every kernel has to rescale what it has, more than
// once. Other inputs of small shapes seldom move a maximum by more than a schedule lets it lag.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"
#include <regex>

namespace attnc::e2e {
namespace {

using driver::Compilation;

struct Rising {
  const char *name, *spec, *target, *schedule;
  const char *depth = "16", *columns = "64";
};

void PrintTo(const Rising &rising, std::ostream *os) { *os << rising.name; }

class Rescaling : public testing::TestWithParam<Rising> {
protected:
  void SetUp() override {
    spec.emplace(GetParam().spec, std::map<std::string, std::string>{{"d", GetParam().depth},
                                                                     {"e", GetParam().columns}});
    ASSERT_TRUE(*spec);
    driver::CompileOptions options;
    options.target = GetParam().target;
    options.schedule = nlohmann::json::parse(GetParam().schedule);
    options.upTo = driver::Stage::Tile;
    Result<Compilation> compiled = driver::compile(**spec, options);
    ASSERT_TRUE(compiled) << compiled.error().text();
    ASSERT_EQ(compiled->nests.size(), 1U);
    compilation.emplace(std::move(*compiled));
  }

  /// Whether all outputs are right on maxima that rise.
  bool isRight(const std::string &tile) {
    compilation->nests[0].tile = tile;
    auto executor = driver::makeInterpreterExecutor(*compilation, {{0, 1}, 2});
    driver::CheckRequest request;
    request.extents = spec->extents({17, 150});
    request.extents["b"] = request.extents["h"] = 1;
    request.kinds = {evaluator::InputKind::AscendingMaxima, evaluator::InputKind::LargeLogits};
    auto report = executor ? driver::checkProgram(**spec, **executor, request)
                           : Result<driver::CheckReport>(executor.error());
    return report && report->ok();
  }

  std::optional<LoadedSpec> spec;
  std::optional<Compilation> compilation;
};

TEST_P(Rescaling, FollowsTheMaximum) { EXPECT_TRUE(isRight(compilation->nests[0].tile)); }

// Accumulators whose rows are not scaled, those of a first tile need not be; or, where groups
// exchange weights, weights that are not.
TEST_P(Rescaling, FaultsAreSeen) {
  const std::string tile = compilation->nests[0].tile;
  for (const char *op : {"scale_rows", "scale_packed %weights", "scale_packed %p"}) {
    std::regex scalings("\n[^\n]*tile\\." + std::string(op) + "[^\n]*");
    std::string faulty = std::regex_replace(tile, scalings, "");
    if (op == std::string("scale_rows") ||
        llvm::StringRef(GetParam().schedule).contains("seesaw")) {
      ASSERT_NE(faulty, tile) << op;
      EXPECT_FALSE(isRight(faulty)) << op;
    }
  }
}

constexpr const char *kWarps =
    R"({"form": "portable", "row_tile": 32, "warps": 2, "stream_tile": 16})";
constexpr const char *kGroup = R"({"groups": 1, "stream_tile": 16})";

INSTANTIATE_TEST_SUITE_P(
    Targets, Rescaling,
    testing::Values(
        Rising{"warps", "lse", "sm_80", kWarps},
        Rising{"warps_that_share_rows", "lse", "sm_80",
               R"({"form": "portable", "row_tile": 16, "warps": 4, "stream_tile": 64,
                   "head_dim_tile": 16, "depth": 16, "column_warps": 4})"},
        Rising{"group", "lse", "sm_90a", kGroup},
        Rising{"exact", "lse", "sm_90a",
               R"({"groups": 2, "stream_tile": 16, "rescale_threshold": 0})"},
        Rising{"seesaw", "lse", "sm_90a",
               R"({"seesaw": true, "stream_tile": 16, "head_dim_tile": 32, "stages": 4})"},
        Rising{"cluster", "lse", "sm_90a",
               R"({"seesaw": true, "cluster": true, "stream_tile": 16, "head_dim_tile": 32,
                   "stages": 4, "producer_registers": 40, "consumer_registers": 232})",
               "32", "128"}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace attnc::e2e
