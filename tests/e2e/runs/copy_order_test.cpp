// Whoever copies and whoever computes wait for each other's tiles: neither may need one that the
// other only lets go of, or copies, behind it. Deadlocks are what the interpreter finds.
#include "compiler/driver/compile.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

struct Order {
  std::string name, inputs, softmax, result;
  int64_t width;
  std::string schedule; ///< empty: the compiler's own
  Extents extents;
};

void PrintTo(const Order &order, std::ostream *os) { *os << order.name; }

class CopyOrder : public testing::TestWithParam<Order> {};

TEST_P(CopyOrder, letsBothSidesGoOn) {
  const Order &order = GetParam();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  nlohmann::json json = {
      {"attnc", 1},
      {"name", order.name},
      {"types", {{"T", "bf16"}}},
      {"dims", {{"d", order.width}, {"e", order.width}}},
      {"params", {{"scale", "f32 > 0 = 1/sqrt(size(d))"}}},
      {"inputs", nlohmann::json::parse(order.inputs)},
      {"body",
       {"s = sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale", "p = softmax(j, " + order.softmax + ")",
        "o[b,h,i,e] = " + order.result + "sum(j, p * v[b,h,j,e])"}},
      {"outputs", {{"o", "T"}}}};
  json["inputs"].update({{"q", "T[b,h,i,d]"}, {"k", "T[b,h,j,d]"}, {"v", "T[b,h,j,e]"}});
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec(context, "spec.json", json.dump(), {}, diagnostics);
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  if (!order.schedule.empty())
    options.schedule = nlohmann::json::parse(order.schedule);
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(*compilation);
  ASSERT_TRUE(executor) << executor.error().text();
  expectCorrect(*spec, **executor, order.extents);
}

INSTANTIATE_TEST_SUITE_P(Copies, CopyOrder,
                         testing::Values(
                             // The first group's rows see one tile of eight: it lets seven pass.
                             Order{"a_gate_below_a_mask",
                                   R"({"gate": "T[b,h,i,e]"})",
                                   "where(j <= i, s, -inf)",
                                   "gate[b,h,i,e] * ",
                                   32,
                                   R"({"groups": 4, "stream_tile": 32, "stages": 2})",
                                   {{"b", 1}, {"h", 1}, {"i", 300}, {"j", 300}}},
                             Order{"a_gate_below_a_mask_as_chosen",
                                   R"({"gate": "T[b,h,i,e]"})",
                                   "where(j <= i, s, -inf)",
                                   "gate[b,h,i,e] * ",
                                   80,
                                   "",
                                   {{"b", 1}, {"h", 1}, {"i", 520}, {"j", 530}}},
                             // Of a seesaw, whose keys and values share slots.
                             Order{"a_bias_of_wide_heads",
                                   R"({"pair": "T[h,i,j]"})",
                                   "s + pair[h,i,j]",
                                   "",
                                   576,
                                   "",
                                   {{"b", 1}, {"h", 1}, {"i", 70}, {"j", 330}}},
                             Order{"a_bias_and_a_mask_of_wide_heads",
                                   R"({"pair": "T[h,i,j]", "m": "T[b,j]"})",
                                   "s + pair[h,i,j] + m[b,j]",
                                   "",
                                   512,
                                   "",
                                   {{"b", 1}, {"h", 1}, {"i", 70}, {"j", 330}}}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace attnc::e2e
