// Attention and its pieces against loops written by hand.
#include "program_text.h"

#include <cmath>
#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Attention {
  std::vector<double> o, lse;
};

/// softmax(q k^T / sqrt(d)) v with loops; `masked(i, j)` drops a key.
template <class Masked> Attention attention(const EvalInputs &inputs, Masked masked) {
  const Array &q = inputs.tensors.at("q"), &k = inputs.tensors.at("k"), &v = inputs.tensors.at("v");
  int64_t B = q.shape[0] * q.shape[1], I = q.shape[2], D = q.shape[3], J = k.shape[2],
          E = v.shape[3];
  Attention result;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t i = 0; i < I; ++i) {
      std::vector<double> weight(J);
      double top = -kInf, sum = 0;
      for (int64_t j = 0; j < J; ++j) {
        double s = 0;
        for (int64_t d = 0; d < D; ++d)
          s += q.value[(b * I + i) * D + d] * k.value[(b * J + j) * D + d];
        weight[j] = masked(i, j) ? -kInf : s / std::sqrt(double(D));
        top = std::max(top, weight[j]);
      }
      for (double &w : weight)
        sum += w = w == -kInf ? 0 : std::exp(w - top);
      result.lse.push_back(sum == 0 ? -kInf : top + std::log(sum));
      for (int64_t e = 0; e < E; ++e) {
        double o = 0;
        for (int64_t j = 0; j < J; ++j)
          o += weight[j] * v.value[(b * J + j) * E + e];
        result.o.push_back(sum == 0 ? 0 : o / sum);
      }
    }
  return result;
}

void expectClose(const std::vector<double> &actual, const std::vector<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isfinite(expected[i])) // float64 sums in another order
      ASSERT_NEAR(actual[i], expected[i], 1e-12 * (1 + std::fabs(expected[i]))) << "at " << i;
    else
      ASSERT_EQ(actual[i], expected[i]) << "at " << i;
  }
}

TEST(ClosedForm, FullAttention) {
  Program program(attentionText());
  EvalInputs inputs =
      randomInputs(program, {{"b", 2}, {"h", 3}, {"i", 37}, {"j", 53}, {"d", 16}, {"e", 24}});
  Outputs out = program.run(inputs);
  Attention expected = attention(inputs, [](int64_t, int64_t) { return false; });
  expectClose(out["o"].value, expected.o);
  expectClose(out["lse"].value, expected.lse);
  EXPECT_EQ(out["o"].dims, (std::vector<std::string>{"b", "h", "i", "e"}));
  EXPECT_EQ(out["o"].shape, (std::vector<int64_t>{2, 3, 37, 24}));
}

TEST(ClosedForm, MaskedAttentionWithRowsThatHaveNoKey) {
  // Row i sees the keys j < i: the first row sees none.
  Program program(attentionText("f16", R"(
    %seen = arith.cmpi slt, %j, %i : i64
    %y = arith.select %seen, %x, %inf : f32)"));
  EvalInputs inputs =
      randomInputs(program, {{"b", 1}, {"h", 2}, {"i", 20}, {"j", 17}, {"d", 8}, {"e", 5}});
  Outputs out = program.run(inputs);
  Attention expected = attention(inputs, [](int64_t i, int64_t j) { return j >= i; });
  expectClose(out["o"].value, expected.o);
  expectClose(out["lse"].value, expected.lse);
  EXPECT_EQ(out["o"].value[0], 0.0);
  EXPECT_EQ(out["lse"].value[0], -kInf);
  EXPECT_EQ(out["lse"].errorAt(0), 0.0) << "an empty row is exact";
}

TEST(ClosedForm, PassedParamReplacesItsDefault) {
  Program program(attentionText());
  EvalInputs inputs =
      randomInputs(program, {{"b", 1}, {"h", 1}, {"i", 3}, {"j", 5}, {"d", 4}, {"e", 2}});
  double byDefault = program.run(inputs)["lse"].value[0];
  inputs.params["scale"] = 0.5; // 1/sqrt(4)
  EXPECT_DOUBLE_EQ(program.run(inputs)["lse"].value[0], byDefault);
  inputs.params["scale"] = 0;
  EXPECT_NEAR(program.run(inputs)["lse"].value[0], std::log(5.0), 1e-15);
}

TEST(ClosedForm, SamplingARowDimGivesThoseRows) {
  Program program(attentionText("bf16", R"(
    %seen = arith.cmpi sle, %j, %i : i64
    %y = arith.select %seen, %x, %inf : f32)"));
  EvalInputs inputs =
      randomInputs(program, {{"b", 1}, {"h", 2}, {"i", 40}, {"j", 40}, {"d", 8}, {"e", 8}});
  Outputs all = program.run(inputs);
  EvalOptions options;
  options.sample["i"] = {0, 7, 39};
  Outputs some = program.run(inputs, options);
  ASSERT_EQ(some["lse"].shape, (std::vector<int64_t>{1, 2, 3}));
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t n = 0; n < 3; ++n) {
      int64_t i = options.sample["i"][n];
      EXPECT_DOUBLE_EQ(some["lse"].value[h * 3 + n], all["lse"].value[h * 40 + i]);
      EXPECT_NEAR(some["o"].value[(h * 3 + n) * 8 + 5], all["o"].value[(h * 40 + i) * 8 + 5],
                  1e-14);
    }
}

TEST(ClosedForm, ThreadsDoNotChangeTheResult) {
  Program program(attentionText());
  EvalInputs inputs =
      randomInputs(program, {{"b", 2}, {"h", 2}, {"i", 65}, {"j", 70}, {"d", 16}, {"e", 16}});
  EvalOptions one, many;
  one.threads = 1;
  many.threads = 7;
  Outputs a = program.run(inputs, one), b = program.run(inputs, many);
  EXPECT_EQ(a["o"].value, b["o"].value);
  EXPECT_EQ(a["o"].error, b["o"].error);
  EXPECT_EQ(a["lse"].value, b["lse"].value);
}

/// A program over x : f32[i, j] that reduces over j.
std::string reduction(const std::string &kind) {
  return R"(
attn.program @p dims [i, j] {
  %x = attn.input "x" : !attn.array<[i, j], f32>
  %0 = attn.read %x[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %1 = attn.reduce )" +
         kind + R"( over [j] %0 : !attn.array<[i, j], f32> -> !attn.array<[i], f32>
  attn.output "r" [i] %1 as f32 : !attn.array<[i], f32>
})";
}

TEST(ClosedForm, Reductions) {
  EvalInputs inputs = given({{"x", reals({2, 3}, {1, -2, 4, 0.5, 8, 3})}});
  auto run = [&](const char *kind) { return Program(reduction(kind)).run(inputs)["r"].value; };
  EXPECT_EQ(run("add"), (std::vector<double>{3, 11.5}));
  EXPECT_EQ(run("mul"), (std::vector<double>{-8, 12}));
  EXPECT_EQ(run("max"), (std::vector<double>{4, 8}));
  EXPECT_EQ(run("min"), (std::vector<double>{-2, 0.5}));
  EXPECT_EQ(run("mean"), (std::vector<double>{1, 11.5 / 3}));
  EXPECT_NEAR(run("logsumexp")[0], std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(4.0)), 1e-14);
}

TEST(ClosedForm, NaNAndInfinitiesPropagate) {
  EvalInputs inputs = given({{"x", reals({4, 2}, {1, kNaN, -kInf, -kInf, kInf, 2, kInf, -kInf})}});
  auto run = [&](const char *kind) { return Program(reduction(kind)).run(inputs)["r"]; };
  for (const char *kind : {"max", "min", "add", "logsumexp"})
    EXPECT_TRUE(std::isnan(run(kind).value[0])) << kind;
  EXPECT_EQ(run("max").value[1], -kInf);
  EXPECT_EQ(run("logsumexp").value[1], -kInf);
  EXPECT_EQ(run("max").value[2], kInf);
  EXPECT_EQ(run("min").value[2], 2);
  EXPECT_TRUE(std::isnan(run("add").value[3]));
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(run("max").errorAt(i), 0.0) << "infinities and NaN are exact";
}

} // namespace
} // namespace attnc::evaluator
