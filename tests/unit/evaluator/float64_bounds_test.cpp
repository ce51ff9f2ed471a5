// Bounds of evaluations in float64, where those of f32 do not scale.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/float64_bounds.h"
#include "compiler/driver/compile.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/evaluator/tolerance/error_rules.h"
#include <gtest/gtest.h>

namespace attnc::driver {
namespace {

using evaluator::Array;

struct Bounds {
  Array ofF32, ofF64; // the latter without elements where nothing is said
};

/// Of o, which `body` computes from x[i] (`type`).
Bounds boundsOf(const std::string &body, std::vector<double> x, const std::string &type = "f32") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  auto spec = parseSpec(context, "test.json",
                        R"j({"attnc": 1, "name": "t", "inputs": {"x": ")j" + type +
                            R"j([i]"}, "outputs": {"o": "f32"}, "body": [")j" + body + "\"]}",
                        {}, diagnostics);
  EXPECT_TRUE(spec.has_value()) << body;
  if (!spec)
    return {};
  attn::ProgramOp program = programOf(*spec);
  auto inputs = evaluator::makeInputs(program, {{"i", static_cast<int64_t>(x.size())}}, /*seed=*/1);
  EXPECT_TRUE(bool(inputs));
  inputs->tensors["x"].value = x;
  auto narrow = evaluator::evaluate(program, *inputs, {});
  auto wide = evaluateInFloat64(program, *inputs, {});
  EXPECT_TRUE(narrow && wide);
  return {narrow->at("o"), wide->contains("o") ? wide->at("o") : Array()};
}

TEST(Float64Bounds, scaleWhereTheErrorIsLinear) {
  Bounds bounds = boundsOf("o = exp(x) / (1 + exp(x)) - tanh(x)", {-2, 0.3, 4});
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bounds.ofF64.at(i), bounds.ofF32.at(i));
    double scaled = bounds.ofF32.errorAt(i) * evaluator::kUnitF64 / evaluator::kUnitF32;
    EXPECT_NEAR(bounds.ofF64.errorAt(i) / scaled, 1, 1e-3);
  }
}

// x / 3 * 3 - x is a rounding; so the root of it is off by the root of one.
TEST(Float64Bounds, ofRootsNearZero) {
  Bounds bounds = boundsOf("o = sqrt(abs(x / 3 * 3 - x))", {5});
  double bound = bounds.ofF64.errorAt(0);
  EXPECT_GT(bound, std::sqrt(evaluator::kUnitF64));
  EXPECT_LT(bound, 20 * std::sqrt(evaluator::kUnitF64));
  Array other = bounds.ofF32;
  other.value[0] += bound;
  EXPECT_FALSE(evaluator::compareEvaluations(bounds.ofF32, other).passed());
  EXPECT_TRUE(evaluator::compareEvaluations(bounds.ofF32, other, &bounds.ofF64).passed());
}

// What f32 cannot tell apart float64 can.
TEST(Float64Bounds, ofComparisons) {
  const std::string body = "o = where(x / 3 * 3 > x + ";
  EXPECT_GE(boundsOf(body + "0, x, 0)", {5}).ofF64.errorAt(0), 1);
  EXPECT_GE(boundsOf(body + "1e-9, x, 0)", {5}).ofF32.errorAt(0), 1);
  EXPECT_EQ(boundsOf(body + "1e-9, x, 0)", {5}).ofF64.errorAt(0), 0);
}

TEST(Float64Bounds, nothingIsSaidOfRoundingsThatTheSpecAsksFor) {
  EXPECT_TRUE(boundsOf("o = cast(x * x, bf16)", {0.3}).ofF64.value.empty());
}

// A 16-bit input is exact, and tanh beside it has no approximation in float64.
TEST(Float64Bounds, ofNarrowInputs) {
  Bounds bounds = boundsOf("o = tanh(x)", {0.5}, "bf16");
  EXPECT_GT(bounds.ofF32.errorAt(0), 1e-5);
  EXPECT_LT(bounds.ofF64.errorAt(0), 1e-14);
}

} // namespace
} // namespace attnc::driver
