// What a program computes from its own numbers beyond f32 is found, and nothing else is.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/narrow_range.h"
#include "compiler/driver/compile.h"
#include "compiler/transforms/desugar.h"
#include "compiler/transforms/fusion/fold_form.h"
#include <cmath>
#include <gtest/gtest.h>

namespace attnc::driver {
namespace {

enum class Sums { AsWritten, WithoutFactors };

/// Which elements of o[i] come from a number beyond f32, of `body` at x[i] (f32).
std::vector<bool> beyond(const std::string &body, std::vector<double> x,
                         Sums sums = Sums::AsWritten) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  auto spec = parseSpec(context, "test.json",
                        R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]", "y": "f32[j]"},
                             "outputs": {"o": "f32"}, "body": [")j" +
                            body + "\"]}",
                        {}, diagnostics);
  EXPECT_TRUE(spec.has_value()) << body;
  if (!spec)
    return {};
  attn::ProgramOp program = programOf(*spec);
  desugar(program);
  if (sums == Sums::WithoutFactors)
    toFoldForm(program);
  auto inputs = evaluator::makeInputs(program, {{"i", static_cast<int64_t>(x.size())}, {"j", 40}},
                                      /*seed=*/1);
  EXPECT_TRUE(bool(inputs));
  inputs->tensors["x"].value = x;
  auto written = evaluator::evaluate(program, *inputs, {});
  auto within = evaluateWithinF32(program, *inputs, {});
  EXPECT_TRUE(written && within);
  std::vector<bool> result;
  for (auto [a, b] : llvm::zip(written->at("o").value, within->at("o").value))
    result.push_back(a != b && !(std::isnan(a) && std::isnan(b)));
  return result;
}

using Found = std::vector<bool>;

TEST(NarrowRange, exponentials) {
  std::vector<double> x = {-200, 88, 89, 700};
  EXPECT_EQ(beyond("o = exp(x) / (1 + exp(x))", x), (Found{false, false, true, true}));
  EXPECT_EQ(beyond("o = exp(x - 700)", x), (Found{false, false, false, false}));
  EXPECT_EQ(beyond("o = where(x > 88, 0, exp(x))", x), (Found{false, false, false, false}));
}

TEST(NarrowRange, sumsAndProducts) {
  std::vector<double> x = {0, 1, 9, 10, 3e38};
  // 9^40, 10^40, and what float64 has no number for either.
  EXPECT_EQ(beyond("o = sqrt(prod(j, x + 0 * y))", x), (Found{false, false, false, true, false}));
  EXPECT_EQ(beyond("o = 1e-3 * sum(j, x + 0 * y)", x), (Found{false, false, false, false, true}));
  EXPECT_EQ(beyond("o = 1e-3 * x", x), (Found{false, false, false, false, false}));
}

// 40 * 2^122 is none, 40 * 2^126 is.
TEST(NarrowRange, sumsWithoutTheFactorsThatLeaveThem) {
  const std::string body = "o = sum(j, x * (8.507059173023462e37 + 0 * y))";
  std::vector<double> x = {0.0625, 0};
  EXPECT_EQ(beyond(body, x), (Found{false, false}));
  EXPECT_EQ(beyond(body, x, Sums::WithoutFactors), (Found{true, true}));
  EXPECT_EQ(beyond("o = sum(j, x * (1.2676506002282294e30 + 0 * y))", x, Sums::WithoutFactors),
            (Found{false, false}));
}

// An infinity of float64 is one of the program as written.
TEST(NarrowRange, infinitiesStay) {
  EXPECT_EQ(beyond("o = 1 / (1 + x)", {INFINITY, -INFINITY}), (Found{false, false}));
  EXPECT_EQ(beyond("o = 1 / exp(x)", {800}), (Found{false}));
}

} // namespace
} // namespace attnc::driver
