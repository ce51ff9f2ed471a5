// What is said of a kernel once it has a schedule.
#include "compiler/driver/compile.h"
#include "compiler/explain/words.h"
#include "compiler/frontend/frontend.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// The lines under `name` that are said of the only kernel of a spec with these inputs and body.
std::vector<std::string> said(const std::string &name, const std::string &inputs,
                              const std::string &body, const nlohmann::json &schedule) {
  mlir::MLIRContext context;
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::string text = R"j({"attnc": 1, "name": "t", "dims": {"d": 64, "e": 64}, "inputs": )j" +
                     inputs + R"j(, "body": )j" + body + R"j(, "outputs": {"o": "f32"}})j";
  std::optional<Spec> spec = parseSpec(context, "t.json", text, {}, diagnostics);
  EXPECT_TRUE(spec);
  driver::CompileOptions options;
  options.target = "sm_80";
  options.upTo = driver::Stage::Tile;
  options.schedule = schedule;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  EXPECT_TRUE(compilation) << compilation.error().text();
  EXPECT_EQ(compilation->nests.size(), 1u);
  KernelFacts kernel;
  kernel.nest = &compilation->nests.front();
  for (const Fact &fact : factsOf(kernel, compilation->program.manifest, ""))
    if (name == fact.label)
      return fact.lines;
  return {};
}

const char *const kTensors = R"j({"q": "f16[i,d]", "k": "f16[j,d]", "v": "f16[j,e]"})j";
const char *const kAttention =
    R"j(["p = softmax(j, sum(d, q[i,d] * k[j,d]))", "o[i,e] = sum(j, p * v[j,e])"])j";

std::vector<std::string> derived(int64_t columns, int64_t depth) {
  return said("derived", kTensors, kAttention,
              {{"form", "portable"},
               {"row_tile", 32},
               {"warps", 2},
               {"stream_tile", 16},
               {"head_dim_tile", columns},
               {"depth", depth}});
}

TEST(ExplainedSchedule, WholeTilesAreSaidToBe) {
  EXPECT_THAT(derived(0, 0), Contains(HasSubstr("eliminated: d, e: whole in a tile")));
}

TEST(ExplainedSchedule, NoDimThatIsCutIsWhole) {
  EXPECT_THAT(derived(32, 0), AllOf(Contains(HasSubstr("eliminated: d: whole in a tile")),
                                    Contains(HasSubstr("e: in 2 parts of 32, a block each"))));
  EXPECT_THAT(derived(0, 16),
              AllOf(Contains(HasSubstr("eliminated: e: whole in a tile")),
                    Contains(HasSubstr("d: in 4 parts of 16, one after the other"))));
  EXPECT_THAT(derived(32, 16),
              AllOf(Not(Contains(HasSubstr("whole"))), Contains(HasSubstr("d: in 4 parts")),
                    Contains(HasSubstr("e: in 2 parts"))));
}

TEST(ExplainedSchedule, TilesThatAreNotMultipliedAreSaidToBeNone) {
  const nlohmann::json stream = {{"form", "portable"}};
  EXPECT_THAT(said("form", kTensors, kAttention, stream), Contains("portable"));
  EXPECT_THAT(said("form", R"j({"s": "f32[i,j]"})j", R"j(["o[i] = max(j, s)"])j", stream),
              Contains("portable: rows of elements; no tile is multiplied by another"));
}

} // namespace
} // namespace attnc::cli
