// Fused nests against the attn form that they come from.
#include "program_text.h"

#include "compiler/evaluator/tolerance/compare.h"

#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

const char *kFused = R"(
attn.program @attention dims [b, h, i, d, j, e] {
  %q = attn.input "q" : !attn.array<[b, h, i, d], bf16>
  %k = attn.input "k" : !attn.array<[b, h, j, d], bf16>
  %v = attn.input "v" : !attn.array<[b, h, j, e], bf16>
  %size = attn.size d : !attn.array<[], i64>
  %root = attn.map (%n = %size : !attn.array<[], i64>) -> !attn.array<[], f32> {
    %x = arith.sitofp %n : i64 to f32
    %y = math.rsqrt %x : f32
    attn.yield %y : f32
  }
  %scale = attn.param "scale" default %root : !attn.array<[], f32> -> !attn.array<[], f32>
  %o, %lse = red.nest grid [b, h] row [i] stream [j] inner [d, e] schedule(#tile.portable) : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32> {
    %0 = attn.read %q[b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
    %1 = attn.read %k[b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
    %2 = attn.read %v[b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
    %3 = red.fold add over [d] (%0, %1) : (!attn.array<[b, h, i, d], f32>, !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, j], f32>
    %rows = attn.index i : !attn.array<[i], i64>
    %keys = attn.index j : !attn.array<[j], i64>
    %s = attn.map (%a = %3 : !attn.array<[b, h, i, j], f32>, %c = %scale : !attn.array<[], f32>, %i = %rows : !attn.array<[i], i64>, %j = %keys : !attn.array<[j], i64>) -> !attn.array<[b, h, i, j], f32> {
      %inf = arith.constant 0xFF800000 : f32
      %x = arith.mulf %a, %c : f32
      %seen = arith.cmpi slt, %j, %i : i64
      %y = arith.select %seen, %x, %inf {red.full = true} : f32
      attn.yield %y : f32
    }
    %m = red.fold max over [j] (%s) : (!attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i], f32>
    %z = red.fold add over [j] () exp(%s - %m) : (!attn.array<[b, h, i, j], f32>, !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i], f32>
    %c = red.fold add over [j] (%2) exp(%s - %m) : (!attn.array<[b, h, j, e], f32>, !attn.array<[b, h, i, j], f32>, !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i, e], f32>
    %o = attn.map (%n = %c : !attn.array<[b, h, i, e], f32>, %t = %z : !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i, e], f32> {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %empty = arith.cmpf oeq, %t, %zero : f32
      %r = arith.divf %one, %t : f32
      %f = arith.select %empty, %zero, %r : f32
      %y = arith.mulf %f, %n : f32
      attn.yield %y : f32
    }
    %l = attn.map (%x = %m : !attn.array<[b, h, i], f32>, %t = %z : !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i], f32> {
      %y = math.log %t : f32
      %w = arith.addf %x, %y : f32
      attn.yield %w : f32
    }
    red.yield %o, %l : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32>
  } domain {
  ^bb0(%b: i64, %h: i64, %i0: i64, %i1: i64, %j0: i64, %j1: i64):
    %zero = arith.constant 0 : i64
    %full = arith.cmpi slt, %j1, %i0 : i64
    red.bounds lo(%zero) hi(%i1) full %full
  }
  attn.output "o" [b, h, i, e] %o as bf16 : !attn.array<[b, h, i, e], f32>
  attn.output "lse" [b, h, i] %lse as f32 : !attn.array<[b, h, i], f32>
})";

TEST(Nest, AFusedNestEqualsTheSoftmaxItComesFrom) {
  Program fused(kFused);
  Program plain(attentionText("bf16", R"(
    %seen = arith.cmpi slt, %j, %i : i64
    %y = arith.select %seen, %x, %inf : f32)"));
  EvalInputs inputs =
      randomInputs(plain, {{"b", 2}, {"h", 2}, {"i", 33}, {"j", 29}, {"d", 16}, {"e", 8}});
  Outputs a = plain.run(inputs), b = fused.run(inputs);
  for (const char *name : {"o", "lse"}) {
    Comparison same = compareEvaluations(a[name], b[name]);
    EXPECT_TRUE(same.passed()) << name << ": " << summary(a[name], b[name], same);
    EXPECT_LT(same.maxError, 1e-13);
  }
  // One part in a thousand million more is another program.
  Array off = b["o"];
  for (double &x : off.value)
    x *= 1 + 1e-9;
  EXPECT_GT(compareEvaluations(a["o"], off).failures, off.size() / 2);
  EXPECT_EQ(b["o"].value[0], 0.0) << "the first row has no key";
  EXPECT_EQ(b["lse"].value[0], -INFINITY);
  // The bounds differ only by the order of the divisions.
  for (int64_t i = 0; i < a["o"].size(); ++i) {
    EXPECT_LE(b["o"].errorAt(i), 1.5 * a["o"].errorAt(i));
    EXPECT_LE(a["o"].errorAt(i), 1.5 * b["o"].errorAt(i));
  }
}

TEST(Nest, IntermediatesPassFromNestToNest) {
  // Two nests: scores x . y, then their maximum over rows and the number of positive ones.
  Program program(R"(
attn.program @p dims [i, d, j] {
  %x = attn.input "x" : !attn.array<[i, d], f32>
  %y = attn.input "y" : !attn.array<[j, d], f32>
  %s = red.nest grid [i, j] row [] stream [d] inner [] : !attn.array<[i, j], f32> {
    %0 = attn.read %x[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %y[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
    %2 = red.fold add over [d] (%0, %1) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32>
    red.yield %2 : !attn.array<[i, j], f32>
  }
  %m, %any = red.nest grid [j] row [] stream [i] inner [] : !attn.array<[j], f32>, !attn.array<[j], i1> {
    %0 = attn.read %s[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %1 = red.fold max over [i] (%0) : (!attn.array<[i, j], f32>) -> !attn.array<[j], f32>
    %2 = attn.map (%a = %0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], i1> {
      %four = arith.constant 4.0 : f32
      %b = arith.cmpf ogt, %a, %four : f32
      attn.yield %b : i1
    }
    %3 = red.fold or over [i] (%2) : (!attn.array<[i, j], i1>) -> !attn.array<[j], i1>
    red.yield %1, %3 : !attn.array<[j], f32>, !attn.array<[j], i1>
  }
  attn.output "m" [j] %m as f32 : !attn.array<[j], f32>
  attn.output "any" [j] %any as i1 : !attn.array<[j], i1>
})");
  Outputs out = program.run(
      given({{"x", reals({2, 2}, {1, 2, 3, -1})}, {"y", reals({3, 2}, {1, 1, 2, 0, 0, 1})}}));
  EXPECT_EQ(out["m"].value, (std::vector<double>{3, 6, 2}));
  EXPECT_EQ(out["any"].integer, (std::vector<int64_t>{0, 1, 0}));
}

TEST(Nest, AResultThatDoesNotVaryAlongADimIsBroadcast) {
  Program program(R"(
attn.program @p dims [i, j] {
  %x = attn.input "x" : !attn.array<[i], f32>
  %o = red.nest grid [j, i] row [] stream [] inner [] : !attn.array<[j, i], f32> {
    %0 = attn.read %x[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
    %1 = attn.index j : !attn.array<[j], i64>
    %2 = attn.map (%a = %0 : !attn.array<[i], f32>, %at = %1 : !attn.array<[j], i64>) -> !attn.array<[i, j], f32> {
      attn.yield %a : f32
    }
    red.yield %2 : !attn.array<[i, j], f32>
  }
  attn.output "o" [j, i] %o as f32 : !attn.array<[j, i], f32>
})");
  EvalInputs inputs = given({{"x", reals({2}, {4, 7})}});
  inputs.extents["j"] = 3;
  EXPECT_EQ(program.run(inputs)["o"].value, (std::vector<double>{4, 7, 4, 7, 4, 7}));
}

TEST(Nest, AContractionOfThreeFactorsEqualsLoops) {
  Program program(R"(
attn.program @p dims [i, d, j] {
  %x = attn.input "x" : !attn.array<[i, d], f32>
  %y = attn.input "y" : !attn.array<[d, j], f32>
  %w = attn.input "w" : !attn.array<[d], f32>
  %s = red.nest grid [i, j] row [] stream [d] inner [] : !attn.array<[i, j], f32> {
    %0 = attn.read %x[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %y[d, j] : (!attn.array<[d, j], f32>) -> !attn.array<[d, j], f32>
    %2 = attn.read %w[d] : (!attn.array<[d], f32>) -> !attn.array<[d], f32>
    %3 = red.fold add over [d] (%0, %1, %2) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>, !attn.array<[d], f32>) -> !attn.array<[i, j], f32>
    red.yield %3 : !attn.array<[i, j], f32>
  }
  attn.output "s" [j, i] %s as f32 : !attn.array<[i, j], f32>
})");
  EvalInputs inputs = randomInputs(program, {{"i", 5}, {"d", 7}, {"j", 40}});
  Outputs out = program.run(inputs);
  auto at = [&](const char *name, int64_t i) { return inputs.tensors[name].value[i]; };
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 40; ++j) {
      double s = 0;
      for (int64_t d = 0; d < 7; ++d)
        s += at("x", i * 7 + d) * at("y", d * 40 + j) * at("w", d);
      EXPECT_NEAR(out["s"].value[j * 5 + i], s, 1e-13) << "stored transposed";
    }
}

} // namespace
} // namespace attnc::evaluator
