// What the bounds know where roundings are large: saturated and overflowing exponentials, quotients
// of what float64 itself cannot hold, and extrema compared with their own elements.
#include "program_text.h"

#include "compiler/evaluator/error_rules.h"

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

} // namespace
} // namespace attnc::evaluator
