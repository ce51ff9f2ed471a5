// Operands cut along their inner dims: blocks that share the columns of a result, scores that are
// sums of parts. In the tile interpreter, at widths so small that many cases are soon done.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"
#include <regex>

namespace attnc::e2e {
namespace {

struct Cut {
  std::string name;
  Setting setting;
  std::string target, schedule;
  Extents extents = {}; ///< besides the spec's own
};

void PrintTo(const Cut &cut, std::ostream *os) { *os << cut.name; }

class InterpretedCut : public testing::TestWithParam<Cut> {};

TEST_P(InterpretedCut, isCorrectInAnyOrder) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.target = GetParam().target;
  options.schedule = nlohmann::json::parse(GetParam().schedule);
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(*compilation);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{1, 70}, Lengths{70, 100}}) {
    Extents extents = spec.extents(lengths);
    extents["b"] = 1;
    for (const auto &[dim, extent] : GetParam().extents)
      extents[dim] = extent;
    expectCorrect(*spec, **executor, extents);
    // References that groups, or warps, agree on.
    if (std::regex_search(GetParam().schedule, std::regex("seesaw|column_warps")))
      expectCorrectOnAdversarialInputs(*spec, **executor, extents);
  }
}

std::vector<Cut> portable() {
  auto cut = [](int64_t columns, int64_t depth, const std::string &more = "") {
    return R"({"form": "portable", "row_tile": 32, "warps": 2, "stream_tile": 16, "head_dim_tile": )" +
           std::to_string(columns) + R"(, "depth": )" + std::to_string(depth) + more + "}";
  };
  return {
      {"head_dim_tile", {"full", {}}, "sm_80", cut(32, 0)},
      {"depth", {"full", {}}, "sm_80", cut(0, 16)},
      {"rows_stored_once", {"lse", {}}, "sm_80", cut(32, 32)},
      {"last_parts_are_smaller", {"causal", {{"d", "72"}, {"e", "76"}}}, "sm_80", cut(32, 32)},
      {"copies_of_two_bytes", {"full", {{"d", "51"}, {"e", "51"}}}, "sm_80", cut(16, 16)},
      {"f32", {"causal", {{"T", "f32"}, {"d", "40"}, {"e", "44"}}}, "sm_80", cut(16, 16)},
      {"many_stages", {"full", {}}, "sm_80", cut(16, 16, R"(, "stages": 4)")},
      {"bias", {"bias", {}}, "sm_80", cut(32, 48)},
      {"skipped_tiles", {"dilated", {}}, "sm_80", cut(32, 16)},
      {"one_operand_of_both", {"shared_kv", {}}, "sm_80", cut(32, 32)},
      {"two_scores", {"differential", {}}, "sm_80", cut(64, 32)},
      {"heads_of_one_key_head", {"gqa", {}}, "sm_80", cut(32, 32), {{"h", 4}, {"hk", 2}}},
  };
}

INSTANTIATE_TEST_SUITE_P(Portable, InterpretedCut, testing::ValuesIn(portable()),
                         [](const auto &info) { return info.param.name; });

// Warps that share rows: columns that divide evenly or not, fewer parts of the scores than of the
// columns and more, slots for many parts and for two.
std::vector<Cut> sharedRows() {
  auto cut = [](int64_t sharing, int64_t rows, int64_t columns, const std::string &more = "") {
    return R"({"form": "portable", "warps": 4, "stream_tile": 64, "column_warps": )" +
           std::to_string(sharing) + R"(, "row_tile": )" + std::to_string(rows) +
           R"(, "head_dim_tile": )" + std::to_string(columns) + R"(, "depth": )" +
           std::to_string(columns) + more + "}";
  };
  const std::map<std::string, std::string> wide = {{"d", "128"}, {"e", "128"}};
  const std::string noLag = R"(, "rescale_threshold": 0)";
  return {
      {"two_warps", {"full", {}}, "sm_80", cut(2, 32, 32)},
      {"four_warps", {"causal", wide}, "sm_80", cut(4, 16, 32)},
      {"rows_of_two_products", {"causal", wide}, "sm_80", cut(2, 64, 64)},
      {"rows_of_three_products", {"full", wide}, "sm_80", cut(4, 48, 32)},
      {"many_stages", {"causal", wide}, "sm_80", cut(4, 16, 32, R"(, "stages": 8)")},
      {"last_columns_are_fewer", {"causal", {{"d", "72"}, {"e", "76"}}}, "sm_80", cut(2, 32, 48)},
      {"a_warp_without_columns", {"lse", {{"d", "128"}, {"e", "80"}}}, "sm_80", cut(4, 16, 32)},
      {"tensors_by_column", {"gated_columns", {}}, "sm_80", cut(4, 16, 16)},
      {"copies_of_two_bytes", {"full", {{"d", "51"}, {"e", "51"}}}, "sm_80", cut(2, 32, 32)},
      {"f16", {"full", {{"T", "f16"}, {"d", "128"}, {"e", "128"}}}, "sm_80", cut(2, 32, 64)},
      {"more_depth", {"full", {{"d", "200"}, {"e", "64"}}}, "sm_80", cut(2, 32, 32)},
      {"rows_stored_once", {"lse", wide}, "sm_80", cut(4, 16, 32)},
      {"no_lag", {"lse", wide}, "sm_80", cut(4, 16, 32, noLag)},
      {"sink", {"sink", wide}, "sm_80", cut(2, 32, 64)},
      {"bias", {"bias", wide}, "sm_80", cut(2, 32, 64)},
      {"dropout", {"dropout", wide}, "sm_80", cut(4, 16, 32)},
      {"softcap", {"softcap", wide}, "sm_80", cut(4, 16, 32)},
      {"window", {"sliding_window", wide}, "sm_80", cut(2, 32, 64)},
      {"bottom_right", {"causal_bottom_right", wide}, "sm_80", cut(2, 32, 64)},
      {"skipped_tiles", {"dilated", wide}, "sm_80", cut(4, 16, 32)},
      {"lengths_of_keys", {"key_lengths", wide}, "sm_80", cut(2, 32, 64)},
      {"one_operand_of_both", {"shared_kv", {{"d", "128"}}}, "sm_80", cut(4, 16, 32)},
      {"heads_of_one_key_head", {"gqa", wide}, "sm_80", cut(2, 32, 64), {{"h", 4}, {"hk", 2}}},
      {"many_keys", {"full", wide}, "sm_80", cut(4, 16, 32), {{"j", 700}}},
      {"on_hopper", {"causal", wide}, "sm_90a", cut(4, 16, 32)},
  };
}

INSTANTIATE_TEST_SUITE_P(SharedRows, InterpretedCut, testing::ValuesIn(sharedRows()),
                         [](const auto &info) { return info.param.name; });

// Groups of warps that have the same rows and scores of their own: as many parts of the columns as
// groups, fewer, and one; parts of several operands, of computed ones, and of two results.
std::vector<Cut> columnGroups() {
  auto cut = [](int64_t groups, int64_t rows, int64_t columns, const std::string &more = "") {
    return R"({"form": "portable", "warps": 4, "stream_tile": 32, "column_groups": )" +
           std::to_string(groups) + R"(, "row_tile": )" + std::to_string(rows) +
           R"(, "head_dim_tile": )" + std::to_string(columns) + more + "}";
  };
  const std::map<std::string, std::string> f32 = {{"T", "f32"}};
  return {
      {"two_groups", {"full", {}}, "sm_80", cut(2, 32, 32)},
      {"four_groups", {"causal", {}}, "sm_80", cut(4, 16, 16)},
      {"fewer_parts_than_groups", {"lse", {}}, "sm_80", cut(4, 16, 32)},
      {"one_part", {"lse", {}}, "sm_80", cut(2, 32, 64)},
      {"last_part_is_smaller", {"full", {{"e", "76"}}}, "sm_80", cut(4, 16, 32)},
      {"rows_of_two_products", {"causal", {}}, "sm_80", cut(2, 64, 32)},
      {"f32", {"causal", f32}, "sm_80", cut(2, 32, 32)},
      {"copies_of_two_bytes", {"full", {{"d", "51"}, {"e", "51"}}}, "sm_80", cut(2, 32, 32)},
      {"computed_operands", {"linear", {}}, "sm_80", cut(2, 32, 32, R"(, "min_blocks": 1)")},
      {"one_operand_of_both", {"shared_kv", {}}, "sm_80", cut(2, 32, 32)},
      {"bias", {"bias", {}}, "sm_80", cut(2, 32, 32)},
      {"skipped_tiles", {"dilated", {}}, "sm_80", cut(2, 32, 32)},
      {"moments", {"entropy", {}}, "sm_80", cut(2, 32, 32)},
      {"on_hopper", {"causal", {}}, "sm_90a", cut(4, 16, 16)},
  };
}

INSTANTIATE_TEST_SUITE_P(ColumnGroups, InterpretedCut, testing::ValuesIn(columnGroups()),
                         [](const auto &info) { return info.param.name; });

/// The one kernel of a program in the interpreter, as it is or with a fault planted in its tile IR.
class Kernel {
public:
  Kernel(const Setting &setting, const std::string &target, const nlohmann::json &schedule,
         Lengths lengths)
      : spec(setting.spec, setting.set) {
    driver::CompileOptions options;
    options.target = target;
    options.schedule = schedule;
    options.upTo = driver::Stage::Tile;
    compilation.emplace(driver::compile(*spec, options));
    request.extents = spec.extents(lengths);
    request.extents["b"] = request.extents["h"] = 1;
  }

  std::string tile() { return compilation->ok() ? (*compilation)->nests.front().tile : ""; }
  bool isRight(const std::string &tile) {
    (*compilation)->nests.front().tile = tile;
    auto executor = driver::makeInterpreterExecutor(**compilation);
    EXPECT_TRUE(executor.ok()) << executor.error().text(); // the fault is in what the kernel does
    if (!executor.ok())
      return true;
    Result<driver::CheckReport> report = driver::checkProgram(*spec, **executor, request);
    return report.ok() && report->ok();
  }

private:
  LoadedSpec spec;
  std::optional<Result<driver::Compilation>> compilation;
  driver::CheckRequest request;
};

// Planted faults: operands, weights and shares that are read before they are there. Three barriers
// are not missed here: others follow before anything is written over what these guard.
TEST(SharedRows, whoDoesNotWaitForTheOtherWarpsIsSeen) {
  Kernel kernel({"causal", {{"d", "128"}, {"e", "128"}}}, "sm_80",
                nlohmann::json::parse(sharedRows()[1].schedule), {40, 300});
  const std::string right = kernel.tile();
  ASSERT_NE(right, "");
  EXPECT_TRUE(kernel.isRight(right));
  std::regex barrier("\n *tile[.]barrier( [^\n]*)?(?=\n)");
  std::vector<std::pair<size_t, size_t>> places;
  for (std::sregex_iterator it(right.begin(), right.end(), barrier), end; it != end; ++it)
    places.push_back({it->position(), it->length()});
  std::string seen;
  for (auto [at, length] : places)
    seen += kernel.isRight(std::string(right).erase(at, length)) ? "-" : "x";
  EXPECT_EQ(seen, "xx-xx--x");
}

std::vector<Cut> warpgroups() {
  auto cut = [](int64_t groups, int64_t columns, int64_t depth, int64_t slots,
                const std::string &more = "") {
    return R"({"form": "warpgroups", "stream_tile": 32, "groups": )" + std::to_string(groups) +
           R"(, "head_dim_tile": )" + std::to_string(columns) + R"(, "depth": )" +
           std::to_string(depth) + R"(, "depth_stages": )" + std::to_string(slots) + more + "}";
  };
  const std::map<std::string, std::string> wide = {{"d", "192"}, {"e", "192"}};
  const std::string alike = R"(, "ping_pong": false)";
  return {
      {"head_dim_tile", {"full", wide}, "sm_90a", cut(1, 64, 0, 0, alike)},
      {"depth", {"full", wide}, "sm_90a", cut(2, 0, 64, 2, alike)},
      {"parts_in_turns", {"causal", wide}, "sm_90a", cut(2, 128, 64, 3, R"(, "ping_pong": true)")},
      {"last_parts_are_smaller",
       {"causal", {{"d", "136"}, {"e", "200"}}},
       "sm_90a",
       cut(1, 64, 128, 2, alike)},
      {"rows_stored_once", {"lse", wide}, "sm_90a", cut(2, 128, 128, 2, alike)},
      {"drawn",
       {"causal", wide},
       "sm_90a",
       cut(1, 64, 64, 2, alike + R"(, "dynamic_scheduler": true)")},
      {"without_boxes",
       {"full", wide},
       "sm_90a",
       cut(1, 128, 64, 2, alike + R"(, "bulk_stores": false)")},
      {"with_boxes",
       {"full", wide},
       "sm_90a",
       cut(1, 128, 64, 2, alike + R"(, "bulk_stores": true)")},
      {"skipped_tiles", {"dilated", wide}, "sm_90a", cut(1, 128, 64, 2, alike)},
      {"one_operand_of_both", {"shared_kv", {{"d", "192"}}}, "sm_90a", cut(1, 128, 64, 2, alike)},
      // More parts of one operand than slots, beside another one that is whole.
      {"parts_beside_whole_tiles",
       {"mla", {{"c", "192"}, {"r", "64"}}},
       "sm_90a",
       cut(1, 64, 64, 2, alike)},
      {"parts_beside_whole_tiles_for_two_groups",
       {"mla", {{"c", "256"}, {"r", "48"}}},
       "sm_90a",
       cut(2, 128, 64, 3, alike)},
      {"packed_heads",
       {"gqa", wide},
       "sm_90a",
       cut(1, 64, 64, 2, alike + R"(, "pack": 2)"),
       {{"h", 4}, {"hk", 2}}},
      // More columns than a product has.
      {"one_wide_accumulator", {"full", {{"e", "320"}}}, "sm_90a", cut(1, 0, 0, 0, alike)},
  };
}

INSTANTIATE_TEST_SUITE_P(Warpgroups, InterpretedCut, testing::ValuesIn(warpgroups()),
                         [](const auto &info) { return info.param.name; });

// Two groups that exchange weights: columns that divide evenly or not, rings of few slots, tiles
// that arrive whole, operands of both kinds, more groups of columns than a block has.
std::vector<Cut> seesaws() {
  auto cut = [](int64_t columns, int64_t depth, int64_t slots, const std::string &more = "") {
    return R"({"form": "warpgroups", "seesaw": true, "stream_tile": 32, "head_dim_tile": )" +
           std::to_string(columns) + R"(, "depth": )" + std::to_string(depth) + R"(, "stages": )" +
           std::to_string(slots) + more + "}";
  };
  const std::map<std::string, std::string> wide = {{"d", "192"}, {"e", "192"}};
  return {
      {"full", {"full", wide}, "sm_90a", cut(96, 64, 4)},
      {"two_slots", {"full", wide}, "sm_90a", cut(96, 64, 2)},
      {"three_slots_of_nine_parts",
       {"full", {{"d", "320"}, {"e", "192"}}},
       "sm_90a",
       cut(96, 64, 3)},
      {"values_in_one_part", {"causal", wide}, "sm_90a", cut(96, 192, 2)},
      {"whole_keys", {"causal", {{"d", "64"}, {"e", "192"}}}, "sm_90a", cut(96, 0, 3)},
      {"last_parts_are_smaller",
       {"causal", {{"d", "136"}, {"e", "200"}}},
       "sm_90a",
       cut(128, 64, 3)},
      {"four_columns_parts", {"lse", {{"d", "128"}, {"e", "256"}}}, "sm_90a", cut(64, 64, 4)},
      {"no_lag", {"lse", wide}, "sm_90a", cut(96, 64, 4, R"(, "rescale_threshold": 0)")},
      {"bottom_right", {"causal_bottom_right", wide}, "sm_90a", cut(96, 128, 4)},
      {"window", {"sliding_window", wide}, "sm_90a", cut(96, 128, 4)},
      {"bias_as_tiles", {"bias", wide}, "sm_90a", cut(96, 64, 4, R"(, "copy_inputs": true)")},
      {"bias_elements", {"bias", wide}, "sm_90a", cut(96, 64, 4, R"(, "copy_inputs": false)")},
      {"softcap", {"softcap", wide}, "sm_90a", cut(96, 64, 4)},
      {"dropout", {"dropout", wide}, "sm_90a", cut(96, 64, 4)},
      {"one_operand_of_both", {"shared_kv", {{"d", "192"}}}, "sm_90a", cut(96, 64, 4)},
      {"heads_of_one_key_head", {"gqa", wide}, "sm_90a", cut(96, 64, 4), {{"h", 4}, {"hk", 2}}},
      {"many_keys", {"full", {{"d", "64"}, {"e", "64"}}}, "sm_90a", cut(32, 64, 3), {{"j", 500}}},
  };
}

// Two blocks, each with half of the depth.
std::vector<Cut> clusters() {
  auto cut = [](int64_t columns, int64_t depth, int64_t slots, const std::string &more = "") {
    return R"({"form": "warpgroups", "seesaw": true, "cluster": true, "stream_tile": 32, )"
           R"("head_dim_tile": )" +
           std::to_string(columns) + R"(, "depth": )" + std::to_string(depth) + R"(, "stages": )" +
           std::to_string(slots) + more + "}";
  };
  const std::map<std::string, std::string> wide = {{"d", "192"}, {"e", "256"}};
  return {
      {"full", {"full", wide}, "sm_90a", cut(64, 64, 3)},
      {"causal", {"causal", wide}, "sm_90a", cut(64, 64, 2)},
      {"parts_beyond_the_depth",
       {"causal", {{"d", "136"}, {"e", "200"}}},
       "sm_90a",
       cut(64, 64, 3)},
      {"keys_in_one_part", {"causal", {{"d", "72"}, {"e", "128"}}}, "sm_90a", cut(32, 64, 3)},
      {"no_lag", {"lse", wide}, "sm_90a", cut(64, 64, 4, R"(, "rescale_threshold": 0)")},
      {"window", {"sliding_window", wide}, "sm_90a", cut(64, 128, 3)},
      {"bias_as_tiles", {"bias", wide}, "sm_90a", cut(64, 64, 3, R"(, "copy_inputs": true)")},
      {"bias_elements", {"bias", wide}, "sm_90a", cut(64, 64, 3, R"(, "copy_inputs": false)")},
      {"dropout", {"dropout", wide}, "sm_90a", cut(64, 64, 3)},
      {"one_operand_of_both", {"shared_kv", {{"d", "256"}}}, "sm_90a", cut(64, 64, 3)},
      {"heads_of_one_key_head", {"gqa", wide}, "sm_90a", cut(64, 64, 3), {{"h", 4}, {"hk", 2}}},
      {"many_keys", {"full", {{"d", "128"}, {"e", "128"}}}, "sm_90a", cut(32, 64, 3), {{"j", 500}}},
  };
}

INSTANTIATE_TEST_SUITE_P(Cluster, InterpretedCut, testing::ValuesIn(clusters()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Seesaw, InterpretedCut, testing::ValuesIn(seesaws()),
                         [](const auto &info) { return info.param.name; });

// Planted faults: without one of these a block reads sums that are not there, writes over some that
// are not read, or ends while the other one still needs it.
TEST(Clusters, whoDoesNotWaitForTheOtherBlockIsSeen) {
  Kernel kernel({"full", {{"d", "128"}, {"e", "128"}}}, "sm_90a",
                nlohmann::json::parse(clusters().back().schedule), {70, 300});
  const std::string right = kernel.tile();
  ASSERT_NE(right, "");
  EXPECT_TRUE(kernel.isRight(right));
  for (const char *op : {"mbarrier_wait %taken", "mbarrier_wait %arrived", "mbarrier_arrive %taken",
                         "cluster_sync"}) {
    std::string faulty =
        std::regex_replace(right, std::regex("\n[^\n]*tile\\." + std::string(op) + "[^\n]*"), "");
    ASSERT_NE(faulty, right) << op;
    EXPECT_FALSE(kernel.isRight(faulty)) << op;
  }
}

// A planted fault: each block stores its columns where those of the first one belong.
TEST(OperandTiles, columnsInTheWrongPlaceAreSeen) {
  Kernel kernel({"full", {}}, "sm_80",
                {{"form", "portable"}, {"row_tile", 32}, {"warps", 2}, {"head_dim_tile", 32}},
                {17, 20});
  std::string text = kernel.tile();
  ASSERT_NE(text, "");
  EXPECT_TRUE(kernel.isRight(text));
  std::smatch store, sum;
  ASSERT_TRUE(std::regex_search(text, store, std::regex(R"(tile\.store_tile [^\[]*\[(%\w+)\])")));
  std::regex adds(store[1].str() + R"( = arith\.addi (%\w+), (%\w+) )");
  ASSERT_TRUE(std::regex_search(text, sum, adds));
  std::string first = sum[1].str();
  text.replace(store.position(1), store.length(1), first);
  EXPECT_FALSE(kernel.isRight(text));
}

struct Wide {
  Setting setting;
  std::string target, form;
};

void PrintTo(const Wide &wide, std::ostream *os) {
  *os << wide.setting.name() << " " << wide.target;
}

class WideOperands : public testing::TestWithParam<Wide> {};

// Every width and type has a form with tensor cores.
TEST_P(WideOperands, haveTiles) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.target = GetParam().target;
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  ASSERT_EQ(compilation->nests.size(), 1u);
  EXPECT_EQ(compilation->nests.front().form, GetParam().form);
  auto executor = driver::makeInterpreterExecutor(*compilation);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  Extents extents = spec.extents({17, 40});
  extents["b"] = extents["h"] = 1;
  expectCorrect(*spec, **executor, extents);
}

std::vector<Wide> wideOperands() {
  std::vector<Wide> list;
  for (const char *width : {"320", "500", "512", "1024"})
    for (const char *type : {"bf16", "f16", "f32"})
      for (const char *target : {"sm_80", "sm_86", "sm_90a"}) {
        bool fits = std::string(type) != "f32" || std::string(width) != "1024"; // halves of rows
        bool warpgroups = std::string(target) == "sm_90a" && fits &&
                          std::string(width) != "500"; // no multiple of 8
        if (std::string(target) == "sm_86" && std::string(type) == "f16")
          continue; // as bf16
        list.push_back({{"full", {{"T", type}, {"d", width}, {"e", width}}},
                        target,
                        warpgroups ? "warpgroups" : "portable"});
      }
  for (const char *target : {"sm_80", "sm_90a"})
    list.push_back({{"full", {{"d", "576"}, {"e", "512"}}},
                    target,
                    std::string(target) == "sm_80" ? "portable" : "warpgroups"});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, WideOperands, testing::ValuesIn(wideOperands()),
                         [](const auto &info) {
                           return info.param.setting.name() + "_" + info.param.target;
                         });

// The norm of a row needs all its columns. In a nest of its own it lets blocks share them.
TEST(ColumnsOfBlocks, foldsOverThemBecomeANestOfTheirOwn) {
  LoadedSpec spec("differential_norm", {{"e", "512"}});
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  EXPECT_EQ(compilation->nests[0].form, "portable");
  EXPECT_GT(compilation->nests.size(), 1u);
}

} // namespace
} // namespace attnc::e2e
