// Backward programs whose weights go through memory, a slab of cells at a time, in the interpreter
// of GPU kernels against the derived gradients in float64.
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/gradient.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

struct StoredWeights {
  std::string name, spec;
  int64_t bytes;
  std::string keys = "{}"; ///< of kernels
};

void PrintTo(const StoredWeights &stored, std::ostream *os) { *os << stored.name; }

class Slabs : public testing::TestWithParam<StoredWeights> {};

TEST_P(Slabs, giveCorrectGradients) {
  LoadedSpec spec(GetParam().spec);
  ASSERT_TRUE(spec);
  const_cast<Spec &>(*spec).grad = {"q", "k", "v"};
  Result<driver::GradientSpecs> derived = driver::differentiateSpec(*spec);
  ASSERT_TRUE(derived.ok()) << derived.error().text();
  driver::CompileOptions options;
  options.schedule = nlohmann::json::parse(GetParam().keys);
  options.schedule["slab_bytes"] = GetParam().bytes;
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  EXPECT_EQ(compilation->backward->program.manifest.variants.front().loops.size(), 1U);
  auto executor = driver::makeInterpreterExecutor(*compilation, {.seeds = {0, 6}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{1, 70}, Lengths{150, 90}, Lengths{65, 200}})
    expectNothingWrong(derived->whole, **executor, spec.extents(lengths));
}

// Of one cell, of some cells with fewer in the last slab, and of all.
INSTANTIATE_TEST_SUITE_P(
    Some, Slabs,
    testing::Values(
        StoredWeights{"one_cell", "full", 1}, StoredWeights{"some_cells", "full", 200000},
        StoredWeights{"all_cells", "full", 1 << 30}, StoredWeights{"mask", "causal", 150000},
        // Rows beyond the keys, and keys that no row sees.
        StoredWeights{"mask_from_the_end", "causal_bottom_right", 150000},
        StoredWeights{"window", "sliding_window", 150000},
        StoredWeights{"scores_read_again", "softcap", 150000},
        StoredWeights{"slopes", "alibi", 150000},
        // Rows of a tile may have no part of the stream.
        StoredWeights{"lengths", "lengths_of_keys", 1},
        StoredWeights{"groups_with_their_own_part", "causal", 150000,
                      R"({"causal_grad_p_exp_grad_s": {"form": "warpgroups", "groups": 2,
                                  "stream_tile": 64, "persistent": true, "ping_pong": true,
                                  "producer_registers": 40, "consumer_registers": 232,
                                  "bulk_stores": true}})"}),
    [](const auto &info) { return info.param.name; });

/// Sums over either of two dims, in programs without gradients.
class SlabsOfSums : public testing::TestWithParam<std::tuple<std::string, int64_t>> {};

TEST_P(SlabsOfSums, areCorrect) {
  auto [name, bytes] = GetParam();
  LoadedSpec spec(name);
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.schedule = {{"slab_bytes", bytes}};
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  EXPECT_EQ(compilation->program.manifest.variants.front().loops.size(), 1U);
  auto executor = driver::makeInterpreterExecutor(*compilation, {.seeds = {0, 6}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{1, 70}, Lengths{150, 90}})
    expectNothingWrong(*spec, **executor, spec.extents(lengths));
}

INSTANTIATE_TEST_SUITE_P(Some, SlabsOfSums,
                         testing::Combine(testing::Values("weights_alike", "factors_of_rows"),
                                          testing::Values(1, 1 << 30)),
                         [](const auto &info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) == 1 ? "_one_cell" : "_all_cells");
                         });

} // namespace
} // namespace attnc::e2e
