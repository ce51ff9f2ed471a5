// Reads, integers, booleans, reductions over several dims, expansion of maps.
#include "program_text.h"

#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

TEST(Arrays, FloorDivisionAndModulusOfNegativesAndByZero) {
  Program program(R"(
attn.program @p dims [n] {
  %x = attn.input "x" : !attn.array<[n], i64>
  %y = attn.input "y" : !attn.array<[n], i32>
  %0 = attn.read %x[n] : (!attn.array<[n], i64>) -> !attn.array<[n], i64>
  %1 = attn.read %y[n] : (!attn.array<[n], i32>) -> !attn.array<[n], i64>
  %q = attn.map (%a = %0 : !attn.array<[n], i64>, %b = %1 : !attn.array<[n], i64>) -> !attn.array<[n], i64> {
    %z = arith.floordivsi %a, %b : i64
    attn.yield %z : i64
  }
  %r = attn.map (%a = %0 : !attn.array<[n], i64>, %b = %1 : !attn.array<[n], i64>) -> !attn.array<[n], i64> {
    %z = attn.mod %a, %b : i64
    attn.yield %z : i64
  }
  attn.output "q" [n] %q as i64 : !attn.array<[n], i64>
  attn.output "r" [n] %r as i64 : !attn.array<[n], i64>
})");
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  Outputs out = program.run(given({{"x", wholes({7}, {7, -7, 7, -7, 5, least, 6})},
                                   {"y", wholes({7}, {2, 2, -2, -2, 0, -1, -3})}}));
  EXPECT_EQ(out["q"].integer, (std::vector<int64_t>{3, -4, -4, 3, 0, least, -2}));
  EXPECT_EQ(out["r"].integer, (std::vector<int64_t>{1, 1, -1, -1, 0, 0, 0}));
}

TEST(Arrays, GroupedReadAndWindowWithElse) {
  // g[h, r] = k[h // 2], w[i, r] = x[i + r - 1] else -5
  Program program(R"(
attn.program @p dims [hk, i, h = 4, r = 3] {
  %k = attn.input "k" : !attn.array<[hk], f32>
  %x = attn.input "x" : !attn.array<[i], f32>
  %h = attn.index h : !attn.array<[h], i64>
  %g = attn.map (%a = %h : !attn.array<[h], i64>) -> !attn.array<[h], i64> {
    %two = arith.constant 2 : i64
    %z = arith.floordivsi %a, %two : i64
    attn.yield %z : i64
  }
  %0 = attn.read %k[%g] : (!attn.array<[hk], f32>, !attn.array<[h], i64>) -> !attn.array<[h], f32>
  %i = attn.index i : !attn.array<[i], i64>
  %r = attn.index r : !attn.array<[r], i64>
  %at = attn.map (%a = %i : !attn.array<[i], i64>, %b = %r : !attn.array<[r], i64>) -> !attn.array<[i, r], i64> {
    %one = arith.constant 1 : i64
    %y = arith.addi %a, %b : i64
    %z = arith.subi %y, %one : i64
    attn.yield %z : i64
  }
  %1 = attn.read %x[%at] else -5.0 : (!attn.array<[i], f32>, !attn.array<[i, r], i64>) -> !attn.array<[i, r], f32>
  attn.output "g" [h] %0 as f32 : !attn.array<[h], f32>
  attn.output "w" [i, r] %1 as f32 : !attn.array<[i, r], f32>
})");
  EvalInputs inputs = given({{"k", reals({2}, {10, 20})}, {"x", reals({2}, {1, 2})}});
  Outputs out = program.run(inputs);
  EXPECT_EQ(out["g"].value, (std::vector<double>{10, 10, 20, 20}));
  EXPECT_EQ(out["w"].value, (std::vector<double>{-5, 1, 2, 1, 2, -5}));
  EvalOptions options;
  options.sample["i"] = {1};
  EXPECT_EQ(program.run(inputs, options)["w"].value, (std::vector<double>{1, 2, -5}));
}

TEST(Arrays, OneDimTwiceReadsADiagonalAndAnotherDimRenames) {
  Program program(R"(
attn.program @p dims [m, n] {
  %x = attn.input "x" : !attn.array<[m, n], f32>
  %0 = attn.read %x[m, m] : (!attn.array<[m, n], f32>) -> !attn.array<[m], f32>
  %1 = attn.read %x[n, m] : (!attn.array<[m, n], f32>) -> !attn.array<[m, n], f32>
  attn.output "d" [m] %0 as f32 : !attn.array<[m], f32>
  attn.output "t" [m, n] %1 as f32 : !attn.array<[m, n], f32>
})");
  Outputs out = program.run(given({{"x", reals({2, 2}, {1, 2, 3, 4})}}));
  EXPECT_EQ(out["d"].value, (std::vector<double>{1, 4}));
  EXPECT_EQ(out["t"].value, (std::vector<double>{1, 3, 2, 4}));
}

TEST(Arrays, ReductionsOverTwoDimsAndOfBooleansAndIntegers) {
  Program program(R"(
attn.program @p dims [i, j, k] {
  %x = attn.input "x" : !attn.array<[i, j, k], i64>
  %0 = attn.read %x[i, j, k] : (!attn.array<[i, j, k], i64>) -> !attn.array<[i, j, k], i64>
  %positive = attn.map (%a = %0 : !attn.array<[i, j, k], i64>) -> !attn.array<[i, j, k], i1> {
    %zero = arith.constant 0 : i64
    %z = arith.cmpi sgt, %a, %zero : i64
    attn.yield %z : i1
  }
  %sum = attn.reduce add over [i, k] %0 : !attn.array<[i, j, k], i64> -> !attn.array<[j], i64>
  %prod = attn.reduce mul over [k, j] %0 : !attn.array<[i, j, k], i64> -> !attn.array<[i], i64>
  %max = attn.reduce max over [i, j, k] %0 : !attn.array<[i, j, k], i64> -> !attn.array<[], i64>
  %min = attn.reduce min over [i, j, k] %0 : !attn.array<[i, j, k], i64> -> !attn.array<[], i64>
  %all = attn.reduce and over [j, k] %positive : !attn.array<[i, j, k], i1> -> !attn.array<[i], i1>
  %any = attn.reduce or over [i] %positive : !attn.array<[i, j, k], i1> -> !attn.array<[j, k], i1>
  attn.output "sum" [j] %sum as i64 : !attn.array<[j], i64>
  attn.output "prod" [i] %prod as i64 : !attn.array<[i], i64>
  attn.output "max" [] %max as i64 : !attn.array<[], i64>
  attn.output "min" [] %min as i64 : !attn.array<[], i64>
  attn.output "all" [i] %all as i1 : !attn.array<[i], i1>
  attn.output "any" [j, k] %any as i1 : !attn.array<[j, k], i1>
})");
  Outputs out = program.run(given({{"x", wholes({2, 2, 2}, {1, 2, 3, 4, 5, 0, 7, -1})}}));
  EXPECT_EQ(out["sum"].integer, (std::vector<int64_t>{8, 13}));
  EXPECT_EQ(out["prod"].integer, (std::vector<int64_t>{24, 0}));
  EXPECT_EQ(out["max"].integer, (std::vector<int64_t>{7}));
  EXPECT_EQ(out["min"].integer, (std::vector<int64_t>{-1}));
  EXPECT_EQ(out["all"].integer, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(out["any"].integer, (std::vector<int64_t>{1, 1, 1, 1}));
}

/// sum over d of (x[i,d] y[j,d]) by way of `scalars`, which define %z from %a and %b.
Outputs sumOf(const std::string &scalars, const EvalInputs &inputs) {
  return Program(R"(
attn.program @p dims [i, d, j] {
  %x = attn.input "x" : !attn.array<[i, d], bf16>
  %y = attn.input "y" : !attn.array<[j, d], f32>
  %0 = attn.read %x[i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
  %1 = attn.read %y[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %2 = attn.map (%a = %0 : !attn.array<[i, d], f32>, %b = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
)" + scalars + R"(
    attn.yield %z : f32
  }
  %3 = attn.reduce add over [d] %2 : !attn.array<[i, d, j], f32> -> !attn.array<[i, j], f32>
  attn.output "s" [i, j] %3 as f32 : !attn.array<[i, j], f32>
})")
      .run(inputs);
}

TEST(Arrays, AContractionEqualsTheWalkOverAllElements) {
  Program shape(R"(
attn.program @p dims [i, d, j] {
  %x = attn.input "x" : !attn.array<[i, d], bf16>
  %y = attn.input "y" : !attn.array<[j, d], f32>
})");
  EvalInputs inputs = randomInputs(shape, {{"i", 70}, {"d", 37}, {"j", 601}});
  Array fast = sumOf("%z = arith.mulf %a, %b : f32", inputs)["s"];
  // The sum of a maximum is no product, so this is walked element by element.
  Array slow = sumOf(R"(
    %p = arith.mulf %a, %b : f32
    %z = arith.maximumf %p, %p : f32)",
                     inputs)["s"];
  for (int64_t i = 0; i < fast.size(); ++i) {
    ASSERT_NEAR(fast.value[i], slow.value[i], 1e-12) << i;
    // The walk counts the rounding of each product once more.
    ASSERT_LE(fast.error[i], slow.error[i]);
    ASSERT_GE(fast.error[i], 0.9 * slow.error[i]);
  }
}

TEST(Arrays, FactorsComputedInsideAMapAreEvaluatedOnce) {
  Program shape(R"(
attn.program @p dims [i, d, j] {
  %x = attn.input "x" : !attn.array<[i, d], bf16>
  %y = attn.input "y" : !attn.array<[j, d], f32>
})");
  EvalInputs inputs = randomInputs(shape, {{"i", 9}, {"d", 11}, {"j", 13}});
  Array s = sumOf(R"(
    %one = arith.constant 1.0 : f32
    %e = math.exp %b : f32
    %t = arith.addf %b, %e : f32
    %p = arith.mulf %a, %e : f32
    %z = arith.divf %p, %t : f32)",
                  inputs)["s"];
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 13; ++j) {
      double expected = 0;
      for (int64_t d = 0; d < 11; ++d) {
        double y = inputs.tensors["y"].value[j * 11 + d];
        expected += inputs.tensors["x"].value[i * 11 + d] * std::exp(y) / (y + std::exp(y));
      }
      EXPECT_NEAR(s.value[i * 13 + j], expected, 1e-10 * (1 + std::fabs(expected)));
    }
}

TEST(Arrays, AChainOfManyMapsIsExpandedWithoutDeepRecursion) {
  std::string text = R"(
attn.program @p dims [n] {
  %x = attn.input "x" : !attn.array<[n], f32>
  %v0 = attn.read %x[n] : (!attn.array<[n], f32>) -> !attn.array<[n], f32>
)";
  constexpr int length = 3000;
  for (int k = 0; k < length; ++k)
    text +=
        "%v" + std::to_string(k + 1) + " = attn.map (%a = %v" + std::to_string(k) +
        " : !attn.array<[n], f32>) -> !attn.array<[n], f32> {\n"
        "%one = arith.constant 1.0 : f32\n%z = arith.addf %a, %one : f32\nattn.yield %z : f32\n}\n";
  text += "%r = attn.reduce add over [n] %v" + std::to_string(length) +
          " : !attn.array<[n], f32> -> !attn.array<[], f32>\n"
          "attn.output \"r\" [] %r as f32 : !attn.array<[], f32>\n}";
  EXPECT_EQ(Program(text).run(given({{"x", reals({2}, {1, 2})}}))["r"].value[0], 2 * length + 3);
}

} // namespace
} // namespace attnc::evaluator
