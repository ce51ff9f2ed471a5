// Inputs that stay in shared memory while the dims of the grid go on that they lack: in the tile
// interpreter, with runs of several lengths, and ranges of blocks that begin and end inside of
// runs.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

struct Case {
  std::string name;
  Setting setting;
  nlohmann::json schedule; ///< besides the form
  int64_t multiprocessors = 2;
};

void PrintTo(const Case &each, std::ostream *os) { *os << each.name; }

class ResidentInputs : public testing::TestWithParam<Case> {
protected:
  Result<driver::Compilation> compile(const Spec &spec) {
    driver::CompileOptions options;
    options.target = "sm_90a";
    options.schedule = GetParam().schedule;
    options.schedule["form"] = "warpgroups";
    options.upTo = driver::Stage::Tile;
    return driver::compile(spec, options);
  }
};

TEST_P(ResidentInputs, areRight) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  Result<driver::Compilation> compilation = compile(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(
      *compilation, {.seeds = {0, 6}, .multiprocessors = GetParam().multiprocessors});
  ASSERT_TRUE(executor) << executor.error().text();
  for (const Extents &some : {Extents{{"b", 1}, {"n", 1}, {"h", 1}, {"i", 1}, {"j", 1}},
                              Extents{{"b", 1}, {"n", 5}, {"h", 2}, {"i", 77}, {"j", 65}},
                              Extents{{"b", 2}, {"n", 3}, {"h", 2}, {"i", 130}, {"j", 64}},
                              Extents{{"b", 1}, {"n", 2}, {"h", 3}, {"i", 200}, {"j", 128}}}) {
    Extents extents = spec.extents({70, 100});
    for (const auto &[dim, extent] : some)
      extents[dim] = extent;
    expectCorrect(*spec, **executor, extents);
  }
  Extents extents = spec.extents({70, 100});
  expectCorrectOnAdversarialInputs(*spec, **executor, extents);
}

TEST_P(ResidentInputs, areNoLongerThanWhatStays) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  Result<driver::Compilation> compilation = compile(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  const std::vector<RequireDecl> &all = compilation->program.manifest.requires_;
  std::string text = "at most " + GetParam().schedule["resident_inputs"].dump() + " elements of j";
  EXPECT_TRUE(std::ranges::any_of(
      all, [&](const RequireDecl &require) { return require.text.starts_with(text); }));
}

nlohmann::json keys(int64_t groups, int64_t tile, int64_t columns) {
  return {{"groups", groups}, {"stream_tile", tile}, {"resident_inputs", columns}};
}

nlohmann::json with(nlohmann::json keys, const nlohmann::json &more) {
  keys.update(more);
  return keys;
}

std::vector<Case> cases() {
  const Setting evoformer = {"evoformer", {}}, three = {"kept_biases", {}};
  return {
      {"all_in_a_tile", evoformer, keys(1, 128, 128)},
      {"tiles", evoformer, keys(2, 64, 128)},
      {"one_block", evoformer, keys(1, 64, 128), 1},
      {"blocks_of_one_cell", evoformer, keys(1, 64, 128), 4},
      {"more_blocks_than_divide", evoformer, keys(1, 64, 128), 5},
      {"rows_ahead", evoformer, with(keys(2, 64, 128), {{"row_stages", 2}})},
      {"three_groups", evoformer, keys(3, 64, 128)},
      {"no_turns", evoformer, with(keys(2, 64, 128), {{"ping_pong", false}})},
      {"threads_store", evoformer, with(keys(2, 64, 128), {{"bulk_stores", false}})},
      {"two_beside_one_that_arrives", three, keys(1, 64, 128)},
      {"two_in_a_tile", three, keys(1, 128, 128), 3},
  };
}

INSTANTIATE_TEST_SUITE_P(Hopper, ResidentInputs, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace attnc::e2e
