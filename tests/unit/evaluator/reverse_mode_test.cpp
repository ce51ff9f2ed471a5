// The reverse mode as a whole: outputs, params, what it refuses, and what it takes.
#include "gradient_check.h"

#include "compiler/evaluator/inputs/inputs.h"

#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

using Row = std::vector<double>;

SpecProgram twoOutputs() {
  return SpecProgram(specText(R"("x": "f64[i]", "n": "i32[i]")",
                              {"a = x * x", "b = sum(i, a * n)", "c = n + 1"},
                              R"("a": "f64", "b": "f64", "c": "i32")"));
}

EvalInputs twoInputs() {
  return given({{"x", reals({3}, {1, 2, 3})}, {"n", wholes({3}, {5, 6, 7})}});
}

TEST(ReverseMode, OutputsAddUp) {
  SpecProgram spec = twoOutputs();
  Array a = reals({3}, {1, 10, 100}), b = reals({}, {1000});
  auto gradient = [&](const std::map<std::string, Array> &cotangents) {
    return gradientsOf(spec.op(), twoInputs(), cotangents, {"x"}).at("x").value;
  };
  EXPECT_EQ(gradient({{"a", a}}), (Row{2, 40, 600}));
  EXPECT_EQ(gradient({{"b", b}}), (Row{10000, 24000, 42000}));
  EXPECT_EQ(gradient({{"a", a}, {"b", b}}), (Row{10002, 24040, 42600}));
  EXPECT_EQ(gradient({}), (Row{0, 0, 0}));
}

TEST(ReverseMode, OneArrayMayBeTwoOutputs) {
  Program program(R"(
attn.program @p dims [i] {
  %a = attn.input "x" : !attn.array<[i], f32>
  %0 = attn.read %a[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  attn.output "r" [i] %0 as f32 : !attn.array<[i], f32>
  attn.output "s" [i] %0 as bf16 : !attn.array<[i], f32>
})");
  EXPECT_EQ(gradientsOf(program.op(), given({{"x", reals({2}, {1, 2})}}),
                        {{"r", reals({2}, {1, 2})}, {"s", reals({2}, {10, 20})}}, {"x"})
                .at("x")
                .value,
            (Row{11, 22}));
}

TEST(ReverseMode, BoundsTheRoundingOfWhatCancels) {
  SpecProgram spec(
      specText(R"("x": "f64[i]", "y": "f64[i]")", {"b = sum(i, x * y - x * y)"}, R"("b": "f64")"));
  Array x = gradientsOf(spec.op(), given({{"x", reals({2}, {1, 1})}, {"y", reals({2}, {3, 1e10})}}),
                        {{"b", reals({}, {1})}}, {"x"})
                .at("x");
  EXPECT_EQ(x.value, (Row{0, 0}));
  for (auto [error, y] : llvm::zip_equal(x.error, Row{3, 1e10})) {
    EXPECT_GE(error, 2 * y * 0x1p-53);
    EXPECT_LE(error, 100 * 2 * y * 0x1p-53);
  }
}

TEST(ReverseMode, QuotientsOfLargeNumbersStayInRange) {
  SpecProgram spec(specText(R"("x": "f64[i]", "y": "f64[i]")", {"a = x / y"}, R"("a": "f64")"));
  Array y = gradientsOf(spec.op(), given({{"x", reals({1}, {1e200})}, {"y", reals({1}, {1e200})}}),
                        {{"a", reals({1}, {1})}}, {"y"})
                .at("y");
  EXPECT_DOUBLE_EQ(y.value.front(), -1e-200);
}

TEST(ReverseMode, CotangentsAreInTheOrderOfStorage) {
  SpecProgram spec(specText(R"("x": "f64[i, j]")", {"o[j, i] = x * x"}, R"("o": "f64")"));
  EXPECT_EQ(gradientsOf(spec.op(), given({{"x", reals({2, 3}, {1, 2, 3, 4, 5, 6})}}),
                        {{"o", reals({3, 2}, {1, 1, 10, 10, 100, 100})}}, {"x"})
                .at("x")
                .value,
            (Row{2, 40, 600, 8, 100, 1200}));
}

TEST(ReverseMode, WhatNothingDependsOnHasZeros) {
  SpecProgram spec(specText(R"("x": "f64[i]", "y": "f64[j]")",
                            {"o = x + where(i < 0, sum(j, y), 0)"}, R"("o": "f64")"));
  Gradients gradients =
      gradientsOf(spec.op(), given({{"x", reals({1}, {1})}, {"y", reals({2}, {1, 2})}}),
                  {{"o", reals({1}, {1})}}, {"x", "y"});
  EXPECT_EQ(gradients.at("y").value, (Row{0, 0}));
  EXPECT_EQ(gradients.at("y").shape, std::vector<int64_t>{2});
  EXPECT_EQ(gradients.at("y").kind, ElementKind::Real);
}

TEST(ReverseMode, ParamsHaveGradientsWhetherPassedOrNot) {
  SpecProgram spec(specText(R"("x": "f64[i]")", {"o = sum(i, x) * c * c"}, R"("o": "f64")",
                            R"("params": {"c": "f32 = size(i) / 2"},)"));
  EvalInputs inputs = given({{"x", reals({2}, {3, 4})}});
  std::map<std::string, Array> one = {{"o", reals({}, {1})}};
  Array byDefault = gradientsOf(spec.op(), inputs, one, {"c"}).at("c");
  EXPECT_EQ(byDefault.value, Row{14});
  EXPECT_TRUE(byDefault.shape.empty());
  inputs.params["c"] = 3;
  EXPECT_EQ(gradientsOf(spec.op(), inputs, one, {"c"}).at("c").value, Row{42});
}

TEST(ReverseMode, RandomNumbersAreConstants) {
  SpecProgram spec(specText(R"("x": "f64[i]")", {"o = x * where(rand(seed, i) < 0.75, 4/3, 0)"},
                            R"("o": "f64")", R"("params": {"seed": "i64 = 0"},)"));
  // docs/spec.md: the second of these is above 0.75.
  EXPECT_EQ(gradientsOf(spec.op(), given({{"x", reals({3}, {1, 1, 1})}}),
                        {{"o", reals({3}, {3, 3, 3})}}, {"x"})
                .at("x")
                .value[1],
            0);
  expectDifferences(spec.op(), given({{"x", reals({3}, {1, 2, 3})}}));
}

TEST(ReverseMode, MapsOfOneUseAreDifferentiatedInPlace) {
  // The square and its exponential are expanded in the sum, and the quotient's maps in each other.
  SpecProgram spec(specText(R"("x": "f64[i, j]", "y": "f64[j]")",
                            {"s = x * x", "e = exp(-s * y)", "z = sum(j, e * x)", "m = mean(j, s)",
                             "o = z / (1 + m * m)"},
                            R"("o": "f64")"));
  expectDifferences(spec.op(), llvm::cantFail(makeInputs(spec.op(), {{"i", 5}, {"j", 700}}, 1)));
}

TEST(ReverseMode, AttentionAgreesWithDifferences) {
  Program program(attentionText("bf16", R"(
    %seen = arith.cmpi slt, %j, %i : i64
    %y = arith.select %seen, %x, %inf : f32)"));
  EvalInputs inputs =
      randomInputs(program, {{"b", 1}, {"h", 2}, {"i", 9}, {"j", 7}, {"d", 4}, {"e", 5}});
  inputs.params["scale"] = 0.75;
  expectDifferences(program.op(), inputs);
}

// The products of queries and keys, and of weights and values, have 13 million elements: 102 MiB
// each, which are not stored. Scores, weights and what is between them are 208000 elements each.
TEST(ReverseMode, ProductsBeforeASumAreNotStored) {
  Program program(attentionText());
  EvalInputs inputs =
      randomInputs(program, {{"b", 2}, {"h", 4}, {"i", 130}, {"j", 200}, {"d", 64}, {"e", 64}});
  EvalOptions options;
  options.memoryLimit = 64ull << 20;
  int64_t size = 2 * 4 * 130 * 64;
  std::map<std::string, Array> ones = {{"o", reals({2, 4, 130, 64}, Row(size, 1))}};
  EXPECT_EQ(refusalOf(program.op(), inputs, ones, {"q", "k", "v"}, options), "differentiated");
  options.memoryLimit = 4ull << 20;
  EXPECT_NE(refusalOf(program.op(), inputs, ones, {"q"}, options).find("its limit is 4 MiB"),
            std::string::npos);
}

TEST(ReverseMode, RefusesWhatHasNoGradient) {
  SpecProgram spec = twoOutputs();
  EvalInputs inputs = twoInputs();
  std::map<std::string, Array> good = {{"b", reals({}, {1})}};
  auto expectRefusal = [&](const std::map<std::string, Array> &cotangents,
                           const std::string &wanted, const std::string &message,
                           const EvalOptions &options = {}) {
    std::string refusal = refusalOf(spec.op(), inputs, cotangents, {wanted}, options);
    EXPECT_TRUE(llvm::StringRef(refusal).ends_with(message)) << refusal;
  };
  expectRefusal(good, "w", "no input or param is called 'w': it has no gradient");
  expectRefusal(good, "b", "no input or param is called 'b': it has no gradient");
  expectRefusal(good, "n", "'n' is not real: it has no gradient");
  expectRefusal({{"c", reals({3}, {1, 1, 1})}}, "x",
                "the output 'c' is not real: it has no cotangent");
  expectRefusal({{"w", reals({}, {1})}}, "x", "no output is called 'w'");
  const std::string shape = "the cotangent of 'a' is not an array of reals of its shape";
  expectRefusal({{"a", reals({2}, {1, 1})}}, "x", shape);
  expectRefusal({{"a", reals({3}, {1, 1})}}, "x", shape);
  expectRefusal({{"a", wholes({3}, {1, 1, 1})}}, "x", shape);
  EvalOptions options;
  options.sample["i"] = {0};
  expectRefusal(good, "x", "no dim can be sampled", options);
  options = {};
  options.precision = Precision::EmulatedF32;
  expectRefusal(good, "x", "the reverse mode computes in float64 only", options);
}

TEST(ReverseMode, ErrorsHaveTheirPlaceInTheSpec) {
  SpecProgram spec = twoOutputs();
  std::string refusal = refusalOf(spec.op(), twoInputs(), {}, {"n"});
  EXPECT_TRUE(llvm::StringRef(refusal).starts_with("test.json:1:")) << refusal;
}

TEST(ReverseMode, RefusesWhatTheEvaluatorRefuses) {
  SpecProgram spec(specText(R"("x": "f64[i]")", {"o = x"}, R"("o": "f64")",
                            R"("require": ["size(i) % 2 == 0"],)"));
  EXPECT_NE(refusalOf(spec.op(), given({{"x", reals({3}, {1, 2, 3})}}), {}, {"x"})
                .find("require 'size(i) % 2 == 0' does not hold"),
            std::string::npos);
  EXPECT_EQ(refusalOf(spec.op(), {}, {}, {"x"}), "input 'x' is missing");
}

TEST(ReverseMode, RefusesNests) {
  Program program(R"(
attn.program @p dims [i, j] {
  %x = attn.input "x" : !attn.array<[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %x[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %1 = red.fold add over [j] (%0) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    red.yield %1 : !attn.array<[i], f32>
  }
  attn.output "r" [i] %r as f32 : !attn.array<[i], f32>
})");
  EvalInputs inputs = given({{"x", reals({1, 2}, {1, 2})}});
  EXPECT_NE(refusalOf(program.op(), inputs, {}, {"x"}).find("no rule for red.nest"),
            std::string::npos);
}

} // namespace
} // namespace attnc::evaluator
