// Sums of products that are themselves partners of 16 bits: of p V with V = l w, p may be rounded
// to the type of l, for sum_j p_j (sum_c l_jc w_c) may be computed as sum_c (sum_j p_j l_jc) w_c.
#include "program_text.h"

#include "compiler/evaluator/tolerance/compare.h"
#include "runtime/program/dtype.h"

#include <cmath>
#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

constexpr int64_t I = 16, J = 40, C = 2, E = 8;

/// o = sum over j of softmax(s) * V, V = sum over c of l * w. `l` is stored as `type`; with
/// `ofRows` it belongs to rows, [i, c], and w to keys, [j, c, e].
std::string text(const std::string &type, bool ofRows = false) {
  std::string text = R"(
attn.program @latent dims [i, j, c, e] {
  %s = attn.input "s" : !attn.array<[i, j], f32>
  %l = attn.input "l" : !attn.array<[L], T>
  %w = attn.input "w" : !attn.array<[W], f32>
  %x = attn.read %s[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %y = attn.read %l[L] : (!attn.array<[L], T>) -> !attn.array<[L], f32>
  %z = attn.read %w[W] : (!attn.array<[W], f32>) -> !attn.array<[W], f32>
  %p = attn.softmax over [j] %x : !attn.array<[i, j], f32> -> !attn.array<[i, j], f32>
  %lw = attn.map (%a = %y : !attn.array<[L], f32>, %b = %z : !attn.array<[W], f32>) -> !attn.array<[P], f32> {
    %m = arith.mulf %a, %b : f32
    attn.yield %m : f32
  }
  %v = attn.reduce add over [c] %lw : !attn.array<[P], f32> -> !attn.array<[V], f32>
  %pv = attn.map (%a = %p : !attn.array<[i, j], f32>, %b = %v : !attn.array<[V], f32>) -> !attn.array<[i, j, e], f32> {
    %m = arith.mulf %a, %b : f32
    attn.yield %m : f32
  }
  %o = attn.reduce add over [j] %pv : !attn.array<[i, j, e], f32> -> !attn.array<[i, e], f32>
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
})";
  auto replaceAll = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replaceAll("[L]", ofRows ? "[i, c]" : "[j, c]");
  replaceAll("[W]", ofRows ? "[j, c, e]" : "[c, e]");
  replaceAll("[P]", ofRows ? "[i, j, c, e]" : "[j, c, e]");
  replaceAll("[V]", ofRows ? "[i, j, e]" : "[j, e]");
  replaceAll(", T>", ", " + type + ">");
  return text;
}

float toBF16(double x) { return bfloatToFloat(floatToBFloat(static_cast<float>(x))); }
float exact(double x) { return static_cast<float>(x); }

/// The two columns of l cancel: each is near 100 or -100, and their sum of the size of 1.
EvalInputs cancelling() {
  std::vector<double> s, l, w(C * E, 1.0);
  for (int64_t n = 0; n < I * J; ++n)
    s.push_back(float(2 * std::sin(0.37 * double(n * n % 1009))));
  for (int64_t j = 0; j < J; ++j) {
    l.push_back(100 + 0.5 * double(j % 5)); // exact in bf16
    l.push_back(-100 - 0.5 * double(j % 3));
  }
  for (int64_t e = 0; e < E; ++e)
    w[e] = w[E + e] = float(1 + 0.1 * double(e));
  return given({{"s", reals({I, J}, s)}, {"l", reals({J, C}, l)}, {"w", reals({C, E}, w)}});
}

/// sum over c of (sum over j of p l) w, with p and the inner sums rounded.
Array otherOrder(const EvalInputs &inputs, float (*roundWeight)(double),
                 float (*roundInner)(double)) {
  const std::vector<double> &s = inputs.tensors.at("s").value, &l = inputs.tensors.at("l").value,
                            &w = inputs.tensors.at("w").value;
  Array o = reals({I, E}, std::vector<double>(I * E));
  for (int64_t i = 0; i < I; ++i) {
    double sum = 0, inner[C] = {};
    for (int64_t j = 0; j < J; ++j)
      sum += std::exp(s[i * J + j]);
    for (int64_t j = 0; j < J; ++j)
      for (int64_t c = 0; c < C; ++c)
        inner[c] += roundWeight(std::exp(s[i * J + j]) / sum) * l[j * C + c];
    for (int64_t e = 0; e < E; ++e)
      for (int64_t c = 0; c < C; ++c)
        o.value[i * E + e] += roundInner(inner[c]) * w[c * E + e];
  }
  return o;
}

TEST(NarrowFactor, WeightsMayBeRoundedToTheTypeOfAFactorOfTheirPartner) {
  EvalInputs inputs = cancelling();
  Array expected = Program(text("bf16")).run(inputs)["o"];
  Array actual = otherOrder(inputs, toBF16, exact);
  Comparison comparison = compare(expected, actual);
  EXPECT_EQ(comparison.failures, 0) << summary(expected, actual, comparison);
  EXPECT_GT(comparison.maxRatio, 0.01);
  EXPECT_GT(compare(Program(text("f32")).run(inputs)["o"], actual).failures, I * E / 2);
}

TEST(NarrowFactor, TheInnerSumMayNotBeRounded) {
  EvalInputs inputs = cancelling();
  Array expected = Program(text("bf16")).run(inputs)["o"];
  EXPECT_EQ(compare(expected, otherOrder(inputs, exact, exact)).failures, 0);
  EXPECT_GT(compare(expected, otherOrder(inputs, exact, toBF16)).failures, I * E / 4);
}

// What belongs to rows alone is no operand that the weights meet in either order.
TEST(NarrowFactor, AFactorWithoutTheReducedDimIsNoPartner) {
  EvalInputs inputs = cancelling();
  EvalInputs ofRows = inputs;
  std::vector<double> keys;
  for (int64_t j = 0; j < J; ++j)
    for (int64_t c = 0; c < C; ++c)
      for (int64_t e = 0; e < E; ++e)
        keys.push_back(
            float(inputs.tensors["l"].value[j * C + c] * inputs.tensors["w"].value[c * E + e]));
  ofRows.tensors["w"] = reals({J, C, E}, keys);
  ofRows.tensors["l"] = reals({I, C}, std::vector<double>(I * C, 1.0));
  // The same numbers, but l is 1.
  Array rounded = otherOrder(inputs, toBF16, exact), right = otherOrder(inputs, exact, exact);
  Array expected = Program(text("bf16", /*ofRows=*/true)).run(ofRows)["o"];
  EXPECT_EQ(compare(expected, right).failures, 0);
  EXPECT_GT(compare(expected, rounded).failures, I * E / 2);
}

} // namespace
} // namespace attnc::evaluator
