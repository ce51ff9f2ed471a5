// Bounds of sums whose terms a fused program adds up apart: they count what each term rounds.
#include "program_text.h"

#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/evaluator/tolerance/error_rules.h"
#include "runtime/program/dtype.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace attnc::evaluator {
namespace {

constexpr int64_t I = 24, J = 33, E = 8;

/// o = sum over j of (LEFT - RIGHT) * v, where LEFT and RIGHT are arrays over i, j. `also` may use
/// the difference %w a second time, so that it is stored.
std::string differenceText(const std::string &type, const std::string &left,
                           const std::string &right, const std::string &also = "") {
  std::string text = R"(
attn.program @difference dims [i, j, e] {
  %s1 = attn.input "s1" : !attn.array<[i, j], f32>
  %s2 = attn.input "s2" : !attn.array<[i, j], f32>
  %v = attn.input "v" : !attn.array<[j, e], T>
  %x1 = attn.read %s1[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %x2 = attn.read %s2[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %r = attn.read %v[j, e] : (!attn.array<[j, e], T>) -> !attn.array<[j, e], f32>
  %p1 = attn.softmax over [j] %x1 : !attn.array<[i, j], f32> -> !attn.array<[i, j], f32>
  %p2 = attn.softmax over [j] %x2 : !attn.array<[i, j], f32> -> !attn.array<[i, j], f32>
  %w = attn.map (%x = LEFT : !attn.array<[i, j], f32>, %y = RIGHT : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %z = arith.subf %x, %y : f32
    attn.yield %z : f32
  }
  %t = attn.map (%x = %w : !attn.array<[i, j], f32>, %y = %r : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %o = attn.reduce add over [j] %t : !attn.array<[i, j, e], f32> -> !attn.array<[i, e], f32>
  ALSO
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
})";
  auto replaceAll = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replaceAll("LEFT", left);
  replaceAll("RIGHT", right);
  replaceAll("ALSO", also);
  replaceAll(", T>", ", " + type + ">");
  return text;
}

/// Scores that differ by a hundredth: the weights nearly cancel.
EvalInputs nearlyEqual(bool narrow) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<double> s1, s2, v;
  for (int64_t n = 0; n < I * J; ++n) {
    s1.push_back(normal(random));
    s2.push_back(float(s1.back() + 0.01 * normal(random)));
  }
  for (int64_t n = 0; n < J * E; ++n) {
    float x = normal(random);
    v.push_back(narrow ? bfloatToFloat(floatToBFloat(x)) : x);
  }
  return given({{"s1", reals({I, J}, s1)}, {"s2", reals({I, J}, s2)}, {"v", reals({J, E}, v)}});
}

/// sum(exp(s) v) / sum(exp(s)) in f32 for each of the two scores, the weights rounded to bf16 if
/// `narrow`, and the difference: what a fused program computes.
Array apart(const EvalInputs &inputs, bool narrow, float second = 1) {
  Array o = reals({I, E}, std::vector<double>(I * E));
  const std::vector<double> &v = inputs.tensors.at("v").value;
  for (int64_t i = 0; i < I; ++i)
    for (const auto &[name, sign] : {std::pair{"s1", 1.0f}, std::pair{"s2", -second}}) {
      const double *s = &inputs.tensors.at(name).value[i * J];
      double top = *std::max_element(s, s + J);
      float z = 0;
      std::vector<float> c(E, 0);
      for (int64_t j = 0; j < J; ++j) {
        float p = std::exp(float(s[j] - top));
        z += p;
        for (int64_t e = 0; e < E; ++e)
          c[e] += (narrow ? bfloatToFloat(floatToBFloat(p)) : p) * float(v[j * E + e]);
      }
      for (int64_t e = 0; e < E; ++e)
        o.value[i * E + e] = float(o.value[i * E + e] + sign * (c[e] / z));
    }
  return o;
}

class Terms : public testing::TestWithParam<const char *> {};

TEST_P(Terms, AddedUpApartStayWithinTheBounds) {
  for (const char *type : {"bf16", "f32"}) {
    bool narrow = type == std::string("bf16");
    Program program(differenceText(type, "%p1", "%p2", GetParam()));
    EvalInputs inputs = nearlyEqual(narrow);
    Array expected = program.run(inputs)["o"], actual = apart(inputs, narrow);
    Comparison comparison = compare(expected, actual);
    EXPECT_EQ(comparison.failures, 0) << type << ": " << summary(expected, actual, comparison);
    EXPECT_GT(comparison.maxRatio, 0.01) << type;
    // A second term that is too small is found, beside 16 bits if it is by a fifth.
    float share = narrow ? 0.8f : 0.999f;
    EXPECT_GT(compare(expected, apart(inputs, narrow, share)).failures, I * E / 3) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Terms,
                         testing::Values("", R"(attn.output "w" [i, j] %w as f32 : )"
                                             R"(!attn.array<[i, j], f32>)"),
                         [](const auto &info) { return info.param[0] ? "Stored" : "Expanded"; });

// x - y of inputs is one number, however its sum is computed.
TEST(Bounds, ADifferenceThatDependsOnNoReductionIsOneTerm) {
  EvalInputs inputs = nearlyEqual(false);
  Array o = Program(differenceText("f32", "%x1", "%x2")).run(inputs)["o"];
  const auto &t = inputs.tensors;
  for (int64_t i = 0; i < I; ++i)
    for (int64_t e = 0; e < E; ++e) {
      double terms = 0;
      for (int64_t j = 0; j < J; ++j)
        terms += std::fabs((t.at("s1").value[i * J + j] - t.at("s2").value[i * J + j]) *
                           t.at("v").value[j * E + e]);
      EXPECT_LT(o.errorAt(i * E + e), kUnitF32 * (sumGrowth(J) + 3) * terms);
    }
}

} // namespace
} // namespace attnc::evaluator
