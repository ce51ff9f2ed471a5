// Every spec of the library, and specs beyond it, in the tile interpreter: the kernels of GPU
// targets at small shapes, in several orders of warps and asynchronous ops, against the float64
// evaluator.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

Result<driver::Compilation> compileFor(const Spec &spec, const std::string &target,
                                       const nlohmann::json &schedule = {}) {
  driver::CompileOptions options;
  options.schedule = schedule;
  options.target = target;
  options.upTo = driver::Stage::Tile;
  return driver::compile(spec, options);
}

Result<std::unique_ptr<driver::Executor>> interpret(const Spec &spec, const std::string &target,
                                                    const nlohmann::json &schedule = {}) {
  Result<driver::Compilation> compilation = compileFor(spec, target, schedule);
  if (!compilation)
    return compilation.error();
  return driver::makeInterpreterExecutor(*compilation);
}

struct Interpreted {
  Setting setting;
  std::string target;
};

void PrintTo(const Interpreted &interpreted, std::ostream *os) {
  *os << interpreted.setting.name() << " on " << interpreted.target;
}

std::string nameOf(const testing::TestParamInfo<Interpreted> &info) {
  return info.param.setting.name() + "_" + info.param.target;
}

class InterpretedVariant : public testing::TestWithParam<Interpreted> {};

/// Whether a kernel of the generic form visits all pairs of queries and keys, one after the other.
bool visitsPairsOneByOne(const driver::NestReport &nest) {
  auto isLength = [](const std::string &dim) { return dim == "i" || dim == "j"; };
  return nest.form == "generic" && llvm::any_of(nest.stream, isLength) &&
         (llvm::any_of(nest.grid, isLength) || llvm::any_of(nest.row, isLength));
}

/// Lengths within a tile, of a few tiles, and of more. The generic form has no tiles, and takes
/// minutes for long ones.
std::vector<Lengths> lengthsFor(const driver::Compilation &compilation) {
  if (llvm::any_of(compilation.nests, visitsPairsOneByOne))
    return {{17, 1}, {37, 50}};
  return {{17, 1}, {70, 100}, {129, 200}};
}

TEST_P(InterpretedVariant, isCorrectInAnyOrder) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  Result<driver::Compilation> compilation = compileFor(*spec, GetParam().target);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(*compilation);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : lengthsFor(*compilation)) {
    Extents extents = spec.extents(lengths);
    if (extents.contains("b"))
      extents["b"] = 1;
    expectCorrect(*spec, **executor, extents);
  }
}

std::vector<Interpreted> allSpecs() {
  std::vector<Interpreted> list;
  std::vector<std::string> names = specNames();
  llvm::append_range(names, furtherSpecNames());
  for (const std::string &name : names)
    for (const char *target : {"sm_80", "sm_90a"})
      list.push_back({{name, {}}, target});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, InterpretedVariant, testing::ValuesIn(allSpecs()), nameOf);

class InterpretedUnaligned : public testing::TestWithParam<Interpreted> {};

TEST_P(InterpretedUnaligned, isCorrect) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, GetParam().target);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  Extents extents = spec.extents({70, 100});
  if (extents.contains("b"))
    extents["b"] = 1;
  for (const driver::TensorLayout &layout : unalignedLayouts())
    expectCorrect(*spec, **executor, extents, layout);
}

std::vector<Interpreted> unalignedSettings() {
  std::vector<Interpreted> list;
  for (const char *target : {"sm_80", "sm_90a"})
    for (const Setting &setting : {Setting{"full", {}}, Setting{"bias", {}}, Setting{"gqa", {}},
                                   Setting{"lse", {}}, Setting{"causal", {{"T", "f16"}}},
                                   Setting{"causal", {{"T", "f32"}}}, Setting{"near_rows", {}}})
      list.push_back({setting, target});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Library, InterpretedUnaligned, testing::ValuesIn(unalignedSettings()),
                         nameOf);

struct Scheduled {
  std::string name, spec, schedule;
  Extents extents; ///< besides the spec's own
};

void PrintTo(const Scheduled &scheduled, std::ostream *os) { *os << scheduled.name; }

class InterpretedSchedule : public testing::TestWithParam<Scheduled> {};

TEST_P(InterpretedSchedule, isCorrectInAnyOrder) {
  LoadedSpec spec(GetParam().spec);
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, "sm_90a", nlohmann::json::parse(GetParam().schedule));
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{1, 70}, Lengths{150, 210}}) {
    Extents extents = spec.extents(lengths);
    extents["b"] = 1;
    for (const auto &[dim, extent] : GetParam().extents)
      extents[dim] = extent;
    expectCorrect(*spec, **executor, extents);
  }
}

std::vector<Scheduled> schedules() {
  return {
      {"one_group", "causal", R"({"groups": 1, "stream_tile": 48})", {}},
      {"near_rows_of_two_groups", "near_rows", R"({"groups": 2, "stream_tile": 32})", {}},
      {"near_rows_of_blocks_that_end", "near_rows", R"({"groups": 1, "persistent": false})", {}},
      {"differences_in_turns",
       "differences",
       R"({"groups": 3, "ping_pong": true, "stream_tile": 48})",
       {{"h", 2}, {"hk", 1}}},
      {"differences_drawn",
       "differences",
       R"({"groups": 2, "stream_tile": 32, "dynamic_scheduler": true})",
       {{"h", 4}, {"hk", 2}}},
      {"differences_of_packed_heads",
       "differences",
       R"({"groups": 2, "pack": 2})",
       {{"h", 4}, {"hk", 2}}},
      {"differences_under_a_mask",
       "relative_bias",
       R"({"groups": 2, "stream_tile": 32, "dynamic_scheduler": true})",
       {{"h", 3}}},
      {"differences_of_one_group",
       "relative_bias",
       R"({"groups": 1, "stream_tile": 128, "persistent": true})",
       {{"h", 3}}},
      // The next row tile begins while warps read the last table of this one.
      {"differences_of_two_row_tiles",
       "relative_bias",
       R"({"groups": 2, "stream_tile": 64, "persistent": true, "row_stages": 2})",
       {{"h", 12}}},
      {"differences_of_some_tiles",
       "differences_of_some",
       R"({"groups": 2, "stream_tile": 16, "persistent": true})",
       {{"h", 3}}},
      {"staged_squares",
       "squared_weights",
       R"({"groups": 1, "stream_tile": 32, "staged_weights": true})",
       {{"h", 2}}},
      {"three_stages",
       "weights_of_three_scores",
       R"({"groups": 1, "stream_tile": 16, "staged_weights": true, "dynamic_scheduler": true})",
       {{"h", 2}}},
      // Stream tiles that are no multiple of a panel of the weights, and columns cut in parts.
      {"tiles_of_some_panels",
       "products_of_tiles",
       R"({"groups": 2, "stream_tile": 96, "stages": 2, "bulk_stores": true})",
       {{"h", 3}}},
      {"tiles_drawn",
       "products_of_tiles",
       R"({"groups": 1, "stream_tile": 16, "dynamic_scheduler": true})",
       {{"h", 3}}},
      {"pairs_beside_scores",
       "stored_weights",
       R"({"groups": 2, "stream_tile": 64, "persistent": true})",
       {{"h", 3}}},
      {"pairs_in_turns",
       "stored_weights",
       R"({"groups": 3, "stream_tile": 64, "ping_pong": true})",
       {{"h", 3}}},
      {"pairs_of_elements",
       "stored_weights",
       R"({"groups": 1, "stream_tile": 64, "copy_inputs": false, "dynamic_scheduler": true})",
       {{"h", 3}}},
      {"turns_and_masks", "causal", R"({"groups": 3, "ping_pong": true, "persistent": true})", {}},
      {"drawn", "causal", R"({"groups": 2, "stream_tile": 32, "dynamic_scheduler": true})", {}},
      {"drawn_in_turns",
       "causal",
       R"({"groups": 3, "ping_pong": true, "dynamic_scheduler": true, "bulk_stores": true})",
       {{"h", 3}}},
      {"drawn_without_boxes",
       "causal",
       R"({"groups": 1, "dynamic_scheduler": true, "bulk_stores": false})",
       {}},
      {"drawn_two_row_tiles",
       "causal",
       R"({"groups": 2, "row_stages": 2, "dynamic_scheduler": true})",
       {}},
      {"drawn_windows",
       "sliding_window",
       R"({"groups": 1, "stream_tile": 32, "dynamic_scheduler": true})",
       {{"h", 3}}},
      {"drawn_prefixes", "prefix_lm", R"({"groups": 2, "dynamic_scheduler": true})", {}},
      {"drawn_without_mask",
       "full",
       R"({"groups": 2, "stream_tile": 32, "dynamic_scheduler": true})",
       {}},
      {"drawn_heads",
       "gqa",
       R"({"groups": 2, "pack": 2, "dynamic_scheduler": true})",
       {{"h", 8}, {"hk", 2}}},
      {"exact_maximum",
       "sliding_window",
       R"({"groups": 2, "rescale_threshold": 0, "bulk_stores": false})",
       {}},
      {"two_row_tiles", "full", R"({"groups": 2, "stream_tile": 32, "row_stages": 2})", {}},
      {"two_row_tiles_and_masks", "causal", R"({"groups": 3, "row_stages": 2})", {}},
      {"many_stages", "full", R"({"groups": 2, "stream_tile": 32, "stages": 5})", {}},
      {"stores_between_row_tiles", "lse", R"({"groups": 2, "bulk_stores": true})", {}},
      {"elements_of_the_bias", "bias", R"({"groups": 2, "copy_inputs": false})", {}},
      {"two_heads", "gqa", R"({"groups": 2, "pack": 2})", {{"h", 8}, {"hk", 2}}},
      {"four_heads", "gqa", R"({"groups": 2, "pack": 4})", {{"h", 8}, {"hk", 2}}},
      {"eight_heads", "gqa", R"({"groups": 2, "pack": 8})", {{"h", 16}, {"hk", 2}}},
      {"three_heads", "gqa", R"({"groups": 3, "pack": 3})", {{"h", 6}, {"hk", 2}}},
      {"heads_of_one_key_head",
       "shared_kv",
       R"({"groups": 4, "pack": 8, "bulk_stores": true})",
       {{"h", 8}}},
  };
}

INSTANTIATE_TEST_SUITE_P(Space, InterpretedSchedule, testing::ValuesIn(schedules()),
                         [](const auto &info) { return info.param.name; });

// Query heads on key heads: a tile has heads of one key head, and where they do not fill it, rows
// that nobody stores.
TEST(Packing, numbersOfHeadsAreAny) {
  LoadedSpec spec("gqa");
  ASSERT_TRUE(spec);
  for (bool boxes : {true, false}) {
    auto executor =
        interpret(*spec, "sm_90a", {{"groups", 2}, {"pack", 4}, {"bulk_stores", boxes}});
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    for (auto [heads, keyHeads] : {std::pair(1, 1), {3, 3}, {2, 1}, {6, 2}, {10, 2}})
      for (int64_t queries : {1, 33}) {
        SCOPED_TRACE(testing::Message() << heads << "/" << keyHeads << " heads, " << queries
                                        << " queries" << (boxes ? ", in boxes" : ""));
        Extents extents = spec.extents({queries, 20});
        extents["h"] = heads;
        extents["hk"] = keyHeads;
        expectCorrect(*spec, **executor, extents);
      }
  }
}

TEST(Packing, numbersOfHeadsAreAnyWhereAllSeeTheSameKeys) {
  LoadedSpec spec("shared_kv");
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, "sm_90a", {{"groups", 1}, {"pack", 4}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (int64_t heads : {1, 3, 5, 8}) {
    Extents extents = spec.extents({17, 20});
    extents["h"] = heads;
    expectCorrect(*spec, **executor, extents);
  }
}

// Blocks that take row tiles in turn count them in 32 bits.
TEST(RowTiles, thatAreTooManyAreRefused) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, "sm_90a", {{"persistent", true}});
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  const std::vector<RequireDecl> &facts = (*executor)->manifest().requires_;
  auto limit = llvm::find_if(facts, [](const RequireDecl &fact) {
    return fact.text == "at most 2147418112 row tiles (full_o)";
  });
  ASSERT_NE(limit, facts.end());
  auto holds = [&](int64_t heads) { // one row tile for each of 2^16 batches and each head
    Scope scope;
    scope.sizes = {{"b", 1 << 16}, {"h", heads}, {"i", 1}, {"j", 1}};
    Result<Scalar> value = evaluate(limit->expr, scope);
    return value.ok() && isTrue(*value);
  };
  EXPECT_TRUE(holds((1 << 15) - 1));
  EXPECT_FALSE(holds(1 << 15));
}

TEST(Packing, needsIndicesThatSeeTheSameStream) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, "sm_90a", {{"groups", 2}, {"pack", 4}});
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().message, "schedule: pack is 4; no dim of full_o has indices that see "
                                      "the same stream");
}

class InterpretedAdversarial : public testing::TestWithParam<std::string> {};

TEST_P(InterpretedAdversarial, isCorrect) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  Result<driver::Compilation> compilation = compileFor(*spec, "sm_90a");
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(*compilation);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  bool slow = llvm::any_of(compilation->nests, visitsPairsOneByOne);
  Extents extents = spec.extents(slow ? Lengths{37, 50} : Lengths{70, 200});
  if (extents.contains("b"))
    extents["b"] = 1;
  expectCorrectOnAdversarialInputs(*spec, **executor, extents);
}

INSTANTIATE_TEST_SUITE_P(Library, InterpretedAdversarial, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });
// Weights that are stored: another nest than that of their maximum computes the scores again.
INSTANTIATE_TEST_SUITE_P(Stored, InterpretedAdversarial, testing::Values("packed_weights"),
                         [](const auto &info) { return info.param; });

std::vector<Interpreted> settings() {
  std::vector<Interpreted> list;
  for (const char *target : {"sm_80", "sm_90a"})
    for (const Setting &setting :
         {Setting{"causal", {{"T", "f16"}}}, Setting{"causal", {{"T", "f32"}}},
          Setting{"filled_mask", {{"T", "f16"}}}, Setting{"filled_mask", {{"T", "f32"}}},
          Setting{"full", {{"d", "80"}, {"e", "128"}}},
          Setting{"causal", {{"d", "40"}, {"e", "40"}}},
          Setting{"causal", {{"d", "256"}, {"e", "256"}}},
          // Operands of f16 beside halves of f32.
          Setting{"nystrom", {{"T", "f16"}}},
          // Sums over more near rows than a box has for two groups.
          Setting{"near_rows", {{"w", "130"}}}, Setting{"near_rows", {{"T", "bf16"}, {"w", "33"}}},
          // Folds over a result that is wider than the tiles of a block.
          Setting{"differential_norm", {{"e", "256"}}},
          Setting{"softmax_of_outputs", {{"d", "512"}, {"e", "512"}}}})
      list.push_back({setting, target});
  return list;
}

class InterpretedProjections : public testing::TestWithParam<Interpreted> {};

// Projections that change sides: heads and batches enough that terms of large products cancel.
TEST_P(InterpretedProjections, areCorrectInAnyOrderOfProducts) {
  LoadedSpec spec(GetParam().setting.spec);
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, GetParam().target);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{1, 17}, Lengths{127, 129}, Lengths{129, 63}})
    expectCorrect(*spec, **executor, spec.extents(lengths));
}

std::vector<Interpreted> projections() {
  std::vector<Interpreted> list;
  for (const char *target : {"sm_80", "sm_90a"})
    for (const char *spec : {"latent_decode", "latent_projections"})
      list.push_back({{spec, {}}, target});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Further, InterpretedProjections, testing::ValuesIn(projections()), nameOf);

class InterpretedWide : public testing::TestWithParam<std::string> {};

// The widest heads of all, at lengths that even kernels without tiles have soon done.
TEST_P(InterpretedWide, isCorrect) {
  LoadedSpec spec("ffpa_causal", {{"d", "1024"}, {"e", "1024"}});
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, GetParam());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  expectCorrect(*spec, **executor, {{"b", 1}, {"h", 1}, {"i", 2}, {"j", 9}});
}

INSTANTIATE_TEST_SUITE_P(Targets, InterpretedWide, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(TypesAndHeadDims, InterpretedVariant, testing::ValuesIn(settings()),
                         nameOf);

} // namespace
} // namespace attnc::e2e
