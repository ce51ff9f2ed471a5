// What the bounds know where roundings are large: saturated and overflowing exponentials, quotients
// of what float64 itself cannot hold, and extrema compared with their own elements.
#include "program_text.h"

#include "compiler/evaluator/tolerance/error_rules.h"

#include <cmath>
#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

Real sigmoid(Real x) {
  Real weight = exponential(negate(x), kUnitF32);
  return divide({1, 0}, add({1, 0}, weight, kUnitF32), kUnitF32);
}

TEST(KnownBounds, ASaturatedSigmoidHasNoError) {
  for (double x : {-3600.0, -1e6, -800.0}) {
    Real low = sigmoid({x, 0.1});
    EXPECT_EQ(low.value, 0);
    EXPECT_EQ(low.error, 0) << x;
    Real high = sigmoid({-x, 0.1});
    EXPECT_EQ(high.value, 1);
    EXPECT_LE(high.error, 8 * kUnitF32) << -x;
  }
  // Beyond f32 and within float64: f32 divides by infinity, and what is lost is that small.
  EXPECT_LE(sigmoid({-200, 0.1}).error, 2 * kFlushF32);
}

TEST(KnownBounds, AnExponentialThatMayBeFiniteInF32IsUnknown) {
  EXPECT_TRUE(unknown(exponential({800, 750}, kUnitF32)));
  EXPECT_TRUE(unknown(exponential({1000, 500}, kUnitF64)));
}

TEST(KnownBounds, AQuotientOfWeightsThatUnderflowIsUnknown) {
  Real weight = exponential({-2000, 0.01}, kUnitF32);
  EXPECT_EQ(weight.value, 0);
  EXPECT_TRUE(unknown(divide(weight, weight, kUnitF32)));
  // It is no doubt for a comparison, nor beside weights that count.
  EXPECT_EQ(compared(weight, {0, 0}, true).error, 0);
  EXPECT_LT(divide(weight, add(weight, {1, 0}, kUnitF32), kUnitF32).error, 1e-299);
  // No weight at all is exactly 0.
  Real none = exponential({-INFINITY, 0}, kUnitF32);
  EXPECT_FALSE(unknown(divide(none, none, kUnitF32)));
}

TEST(KnownBounds, AProductOfWhatUnderflowsIsNoZero) {
  for (double unit : {kUnitF32, kUnitF64}) {
    Real weight = exponential({-2000, 0.01}, unit), part = exponential({-500, 0.01}, unit);
    Real small = multiply(part, part, unit);
    for (Real product : {multiply(weight, weight, unit), multiply(small, part, unit),
                         multiply(weight, {1e-30, 0}, unit), divide(weight, {1e30, 0}, unit),
                         multiply(multiply(weight, weight, unit), weight, unit),
                         power(part, {2, 0}, unit), power(weight, {2, 0}, unit)}) {
      EXPECT_EQ(product.value, 0);
      EXPECT_TRUE(unknown(divide(product, product, unit)));
      EXPECT_TRUE(unknown(logarithm(product, unit)));
      EXPECT_LE(product.error, 1e-290);
      EXPECT_EQ(compared(product, {0, 0}, true).error, 0);
    }
    // With what is exactly 0 it is exactly 0, and what float64 holds is bounded as ever.
    EXPECT_EQ(multiply(weight, {0, 0}, unit).error, 0);
    EXPECT_EQ(divide({0, 0}, {1e-20, 0}, unit).error, 0);
    EXPECT_EQ(power({0, 0}, {2, 0}, unit).error, 0);
    EXPECT_LT(multiply({1e-20, 0}, {1e-10, 0}, unit).error, 1.0001 * unit * 1e-30);
  }
}

/// The sum of q k over d, its maximum over j and 1.0 where the two are equal; and the products of
/// these ones with what is 0 / 0.
const char *kOwnMaximum = R"(
attn.program @top dims [i, j, d] {
  %q = attn.input "q" : !attn.array<[i, d], f32>
  %k = attn.input "k" : !attn.array<[j, d], f32>
  %x = attn.read %q[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %y = attn.read %k[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[j, d], f32>
  %xy = attn.map (%a = %x : !attn.array<[i, d], f32>, %b = %y : !attn.array<[j, d], f32>) -> !attn.array<[i, j, d], f32> {
    %m = arith.mulf %a, %b : f32
    attn.yield %m : f32
  }
  %s = attn.reduce add over [d] %xy : !attn.array<[i, j, d], f32> -> !attn.array<[i, j], f32>
  %top = attn.reduce KIND over [j] %s : !attn.array<[i, j], f32> -> !attn.array<[i], f32>
  %hit = attn.map (%a = %s : !attn.array<[i, j], f32>, %b = %top : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf oeq, %a, %b : f32
    %r = arith.select %c, %one, %zero : f32
    attn.yield %r : f32
  }
  attn.output "hit" [i, j] %hit as f32 : !attn.array<[i, j], f32>
})";

std::string ownExtremum(const std::string &kind) {
  std::string text = kOwnMaximum;
  return text.replace(text.find("KIND"), 4, kind);
}

TEST(KnownBounds, AnExtremumIsOneOfItsElements) {
  for (const char *kind : {"max", "min"}) {
    Program program(ownExtremum(kind));
    Array hit = program.run(randomInputs(program, {{"i", 5}, {"j", 7}, {"d", 3}})).at("hit");
    double sum = 0;
    for (int64_t n = 0; n < hit.size(); ++n) {
      sum += hit.at(n);
      EXPECT_EQ(hit.errorAt(n), 0) << kind << " " << n;
    }
    EXPECT_EQ(sum, 5);
  }
}

TEST(KnownBounds, AContestedExtremumIsInDoubtForThoseThatReachIt) {
  Program program(ownExtremum("max"));
  // The first two keys have the same scores but for less than a rounding, the third a lower one.
  Array hit = program
                  .run(given({{"q", reals({1, 2}, {1.1, 0.7})},
                              {"k", reals({3, 2}, {1.3, 1, 1.3 + 1e-9, 1, -1, 1})}}))
                  .at("hit");
  EXPECT_EQ(hit.errorAt(0), 1);
  EXPECT_EQ(hit.errorAt(1), 1);
  EXPECT_EQ(hit.errorAt(2), 0);
}

/// sum over j of (a / b) v, a contraction.
TEST(KnownBounds, ASumOfWhatIsUnknownIsUnknown) {
  Program program(R"(
attn.program @quotients dims [i, j, e] {
  %s = attn.input "s" : !attn.array<[i, j], f32>
  %v = attn.input "v" : !attn.array<[j, e], f32>
  %x = attn.read %s[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %y = attn.read %v[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %p = attn.map (%a = %x : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %w = math.exp %a : f32
    attn.yield %w : f32
  }
  %z = attn.reduce add over [j] %p : !attn.array<[i, j], f32> -> !attn.array<[i], f32>
  %r = attn.map (%a = %p : !attn.array<[i, j], f32>, %b = %z : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %w = arith.divf %a, %b : f32
    attn.yield %w : f32
  }
  %rv = attn.map (%a = %r : !attn.array<[i, j], f32>, %b = %y : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %m = arith.mulf %a, %b : f32
    attn.yield %m : f32
  }
  %o = attn.reduce add over [j] %rv : !attn.array<[i, j, e], f32> -> !attn.array<[i, e], f32>
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
})");
  // Without a maximum: the weights of the first row are 0 in float64, those of the second exactly.
  Array o = program
                .run(given({{"s", reals({2, 2}, {-2000, -1990, -INFINITY, -INFINITY})},
                            {"v", reals({2, 1}, {1, 2})}}))
                .at("o");
  EXPECT_TRUE(std::isnan(o.at(0)) && std::isinf(o.errorAt(0)));
  EXPECT_TRUE(std::isnan(o.at(1)) && o.errorAt(1) == 0);
}

/// sum over j of exp(s) exp(t), a contraction, and its quotient by itself.
TEST(KnownBounds, ASumOfProductsThatUnderflowIsNoZero) {
  Program program(R"(
attn.program @products dims [i, j, e] {
  %s = attn.input "s" : !attn.array<[i, j], f32>
  %t = attn.input "t" : !attn.array<[j, e], f32>
  %x = attn.read %s[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %y = attn.read %t[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %p = attn.map (%a = %x : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %w = math.exp %a : f32
    attn.yield %w : f32
  }
  %q = attn.map (%a = %y : !attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> {
    %w = math.exp %a : f32
    attn.yield %w : f32
  }
  %pq = attn.map (%a = %p : !attn.array<[i, j], f32>, %b = %q : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %m = arith.mulf %a, %b : f32
    attn.yield %m : f32
  }
  %z = attn.reduce add over [j] %pq : !attn.array<[i, j, e], f32> -> !attn.array<[i, e], f32>
  %o = attn.map (%a = %z : !attn.array<[i, e], f32>) -> !attn.array<[i, e], f32> {
    %w = arith.divf %a, %a : f32
    attn.yield %w : f32
  }
  attn.output "z" [i, e] %z as f32 : !attn.array<[i, e], f32>
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
})");
  // Rows: both factors underflow; only one does; no weight at all; weights of 1.
  Outputs outputs = program.run(
      given({{"s", reals({4, 2}, {-2000, -1990, -2000, -INFINITY, -INFINITY, -INFINITY, 0, -2000})},
             {"t", reals({2, 2}, {-3000, 0, -1000, -1000})}}));
  Array z = outputs.at("z"), o = outputs.at("o");
  for (int64_t at : {0, 1, 2, 3}) {
    EXPECT_EQ(z.at(at), 0);
    EXPECT_TRUE(z.errorAt(at) > 0 && z.errorAt(at) < 1e-290) << at;
    EXPECT_TRUE(std::isinf(o.errorAt(at))) << at;
  }
  for (int64_t at : {4, 5}) {
    EXPECT_EQ(z.errorAt(at), 0) << at;
    EXPECT_TRUE(std::isnan(o.at(at)) && o.errorAt(at) == 0) << at;
  }
  EXPECT_TRUE(std::isinf(o.errorAt(6))); // 1 exp(-3000) + exp(-2000) exp(-1000)
  EXPECT_EQ(o.at(7), 1);
  EXPECT_LT(o.errorAt(7), 1e-4);
}

} // namespace
} // namespace attnc::evaluator
