// What fuses, and that it means the same.
#include "compiler/driver/checks/verify_pass.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

struct FuseCase {
  const char *name;
  const char *body;
  size_t nests;
  size_t states; // of the first nest
};

class Fuse : public testing::TestWithParam<FuseCase> {};

TEST_P(Fuse, KeepsTheMeaningAndTheNumberOfPasses) {
  const FuseCase &c = GetParam();
  FusedProgram program(c.body, R"j({"o": "f32"})j");
  ASSERT_EQ(program.nests().size(), c.nests);
  EXPECT_EQ(program.nests()[0].states().size(), c.states);
  auto verifier =
      driver::PassVerifier::create(program.original(), {{"b", 2}, {"h", 2}, {"i", 13}, {"j", 17}});
  ASSERT_TRUE(verifier) << verifier.error().text();
  Status status = verifier->check(program.fused(), "the passes");
  EXPECT_TRUE(status) << status.error().text();
}

#define SCORES "\"s = sum(d, q[b,h,i,d] * k[b,h,j,d])\","

INSTANTIATE_TEST_SUITE_P(
    Specs, Fuse,
    testing::Values(
        FuseCase{"softmax", "[" SCORES R"j("o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j", 1,
                 3},
        FuseCase{"by_hand", "[" SCORES R"j("m = max(j, s)", "p = exp(s - m)", "z = sum(j, p)",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e]) / z"])j",
                 1, 3},
        FuseCase{"normalised_inside", "[" SCORES R"j("m = max(j, s)", "z = sum(j, exp(s - m))",
          "o[b,h,i,e] = sum(j, v[b,h,j,e] * (exp(s - m) / z))"])j",
                 1, 3},
        FuseCase{"through_logsumexp", "[" SCORES R"j("l = logsumexp(j, s)",
          "o[b,h,i,e] = sum(j, exp(s - l) * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"base_two", "[" SCORES R"j("m = max(j, s)", "p = exp2(s - m)", "z = sum(j, p)",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e]) / z"])j",
                 1, 3},
        FuseCase{"base_two_masked", "[" SCORES R"j("t = where(j + 3 < i, s, -inf)", "m = max(j, t)",
          "p = exp2(t - m)", "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"])j",
                 1, 2},
        FuseCase{"scaled_after_the_shift", "[" SCORES R"j("m = max(j, s)", "p = exp((s - m) * w)",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e]) / sum(j, p)"])j",
                 1, 3},
        FuseCase{"scaled_with_empty_rows",
                 "[" SCORES R"j("t = where(j + 5 < i, s, -inf)", "m = max(j, t)",
          "p = exp((t - m) * w)", "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"])j",
                 1, 2},
        FuseCase{"shifted_by_a_constant", "[" SCORES R"j("m = max(j, s)", "p = exp(s - m + r[i])",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"])j",
                 1, 2},
        FuseCase{"minus_a_constant",
                 "[" SCORES R"j("p = softmax(j, s)", "o[b,h,i] = sum(j, p - 1)"])j", 1, 2},
        FuseCase{"sink", "[" SCORES R"j("m = maximum(max(j, s), r[i])", "p = exp(s - m)",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e]) / (sum(j, p) + exp(r[i] - m))"])j",
                 1, 3},
        FuseCase{"difference_of_two", "[" SCORES R"j("t = s * c[j]",
          "o[b,h,i,e] = sum(j, (softmax(j, s) - w * softmax(j, t)) * v[b,h,j,e])"])j",
                 1, 6},
        FuseCase{"gate_and_mask", "[" SCORES R"j("p = softmax(j, where(j <= i, s, -inf))",
          "o[b,h,i,e] = sum(j, where(j % 3 == 0, p * r[i], 0) * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"unnormalised", "[" SCORES R"j("o[b,h,i,e] = sum(j, s * v[b,h,j,e])"])j", 2, 1},
        FuseCase{"expected_score",
                 "[" SCORES R"j("p = softmax(j, s)", "o[b,h,i] = sum(j, p * s)"])j", 1, 3},
        FuseCase{"maximum_of_bounded_weights", "[" SCORES R"j("x = sigmoid(s)", "p = x / sum(j, x)",
          "o[b,h,i,e] = max(j, p * v[b,h,j,e])"])j",
                 1, 2},
        FuseCase{"maximum_of_weighted_values",
                 "[" SCORES R"j("o[b,h,i,e] = max(j, softmax(j, s) * v[b,h,j,e])"])j", 2, 2},
        FuseCase{"maximum_of_cubes",
                 "[" SCORES R"j("p = softmax(j, s)", "o[b,h,i] = max(j, p ** 3)"])j", 1, 2},
        FuseCase{"whole_power_of_an_unknown_sign", "[" SCORES R"j("p = softmax(j, s) * c[j]",
          "o[b,h,i] = sum(j, p ** 3)"])j",
                 1, 4},
        FuseCase{"power_by_a_param", "[" SCORES R"j("p = softmax(j, s)",
          "o[b,h,i,e] = sum(j, p ** w * v[b,h,j,e])"])j",
                 1, 4},
        FuseCase{"negative_power", "[" SCORES R"j("p = softmax(j, s)",
          "o[b,h,i] = sum(j, p ** (-0.5))"])j",
                 2, 2},
        FuseCase{"maximum_of_shifted",
                 "[" SCORES R"j("m = max(j, s)", "o[b,h,i] = max(j, s - m)"])j", 1, 1},
        FuseCase{"maximum_of_scaled_empty_rows", "[" SCORES R"j("t = where(j + 3 < i, s, -inf)",
          "m = max(j, t)", "o[b,h,i] = max(j, (t - m) * w)"])j",
                 1, 2},
        FuseCase{"column_sums", "[" SCORES R"j("p = softmax(j, s)", "o[b,h,j] = sum(i, p)"])j", 2,
                 2},
        FuseCase{"tanh_of_shifted", "[" SCORES R"j("m = max(j, s)",
          "o[b,h,i,e] = sum(j, tanh(s - m) * v[b,h,j,e])"])j",
                 2, 1},
        FuseCase{"normed_queries", R"j(["n = rsqrt(sum(d, q[b,h,i,d] * q[b,h,i,d]) + 1)",
          "s = sum(d, q[b,h,i,d] * n * k[b,h,j,d])",
          "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"normed_output", "[" SCORES R"j("a[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])",
          "o[b,h,i,e] = a * rsqrt(mean(e, a * a) + 1)"])j",
                 1, 3},
        FuseCase{"two_layers", "[" SCORES R"j("a[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])",
          "t = sum(e, a[b,h,i,e] * v[b,h,j,e])",
          "o[b,h,i,e] = sum(j, softmax(j, t) * v[b,h,j,e])"])j",
                 2, 3},
        FuseCase{"no_maximum", "[" SCORES R"j("x = exp(s)", "p = x / sum(j, x)",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"logarithm_of_exponentials", "[" SCORES R"j("l = log(sum(j, exp(s)))",
          "o[b,h,i,e] = sum(j, exp(s - l) * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"quotient_of_exponentials", "[" SCORES R"j("x = exp(s) / exp(max(j, s))",
          "o[b,h,i,e] = sum(j, x * v[b,h,j,e]) / sum(j, x)"])j",
                 1, 3},
        FuseCase{"one_more_key", "[" SCORES R"j("x = exp(s)", "p = x / (1 + sum(j, x))",
          "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"negated_minimum", "[" SCORES R"j("m = -min(j, -s)", "x = exp(s - m)",
          "o[b,h,i,e] = sum(j, x * v[b,h,j,e]) / sum(j, x)"])j",
                 1, 3},
        FuseCase{"mask_after_the_maximum", "[" SCORES R"j("m = max(j, s)",
          "x = where(j <= i, exp(s - m), 0)", "o[b,h,i,e] = sum(j, x * v[b,h,j,e]) / sum(j, x)"])j",
                 1, 3},
        FuseCase{"masked_twice", "[" SCORES R"j("p = softmax(j, where(j <= i, s, -inf))",
          "o[b,h,i,e] = sum(j, where(j <= i, p, 0) * v[b,h,j,e])"])j",
                 1, 3},
        FuseCase{"bounded_exponentials", "[" SCORES R"j(
          "o[b,h,i,e] = sum(j, exp(-abs(s)) * v[b,h,j,e])"])j",
                 1, 1},
        FuseCase{"entropy_by_xlogy", "[" SCORES R"j("p = softmax(j, where(j <= i + 3, s, -inf))",
          "o[b,h,i] = -sum(j, xlogy(p, p))"])j",
                 1, 3},
        FuseCase{"entropy_by_logsumexp", "[" SCORES R"j("l = logsumexp(j, s)", "p = exp(s - l)",
          "o[b,h,i] = -sum(j, p * (s - l))"])j",
                 1, 3},
        FuseCase{"variance_of_values", "[" SCORES R"j("p = softmax(j, s)",
          "u[b,h,i,e] = sum(j, p * v[b,h,j,e])", "o[b,h,i,e] = sum(j, p * (v[b,h,j,e] - u) ** 2)"])j",
                 1, 5},
        FuseCase{"variance_of_scores", "[" SCORES R"j("u = mean(j, s)",
          "o[b,h,i] = mean(j, (s - u) * (s - u))"])j",
                 1, 4},
        FuseCase{"skewness", "[" SCORES R"j("u = mean(j, s)",
          "o[b,h,i] = mean(j, (s - u) * (s - u) * (s - u))"])j",
                 2, 1},
        FuseCase{"covariance", "[" SCORES R"j("u = mean(j, s)", "t = s * c[j]", "w2 = mean(j, t)",
          "o[b,h,i] = mean(j, (s - u) * (t - w2))"])j",
                 2, 2},
        FuseCase{"maximum_of_weights",
                 "[" SCORES R"j("p = softmax(j, s)", "o[b,h,i] = max(j, p)"])j", 1, 2},
        FuseCase{"maximum_of_a_multiple", "[" SCORES R"j("p = softmax(j, s)",
          "o[b,h,i] = max(j, p * -2)"])j",
                 1, 3},
        FuseCase{"maximum_of_an_unknown_multiple", "[" SCORES R"j("p = softmax(j, s)",
          "o[b,h,i] = max(j, p * r[i])"])j",
                 2, 2},
        FuseCase{"against_the_maximum",
                 "[" SCORES R"j("m = max(j, s)", "o[b,h,i] = sum(j, exp((m - s) * 0.25))"])j", 1,
                 3},
        FuseCase{"maximum_of_products", "[" SCORES R"j("o[b,h,i,e] = max(j, s * v[b,h,j,e])"])j", 1,
                 1},
        // The last fold reads m and a, which comes with g, which waits for m.
        FuseCase{"beside_what_waits", "[" SCORES R"j("t = tanh(s)", "m = max(j, s)",
          "a[b,h,j] = sum(i, r[i] * t)", "g[b,h,j] = sum(i, t * m)",
          "y[b,h,e] = sum(j, g[b,h,j] * v[b,h,j,e])",
          "o[b,h,i,e] = y[b,h,e] + sum(j, exp(s - m) * a[b,h,j] * v[b,h,j,e])"])j",
                 4, 1},
        FuseCase{"weights_themselves", "[" SCORES R"j("o[b,h,i,j] = softmax(j, s)"])j", 2, 2}),
    [](const auto &info) { return info.param.name; });

// Over two dims: what varies along one of them alone has to be counted for each index of the other.
class FuseOverTwoDims : public testing::TestWithParam<const char *> {};

TEST_P(FuseOverTwoDims, CountsEveryPair) {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 8},
    "inputs": {"q": "f32[i,d]", "k": "f32[j,l,d]", "c": "f32[j]"},
    "body": ["s = sum(d, q[i,d] * k[j,l,d])", "m = max((j, l), s)", "o[i] = sum((j, l), )j" +
                       std::string(GetParam()) + R"j()"], "outputs": {"o": "f32"}})j");
  auto verifier = driver::PassVerifier::create(program.original(), {{"i", 5}, {"j", 6}, {"l", 7}});
  ASSERT_TRUE(verifier) << verifier.error().text();
  Status status = verifier->check(program.fused(), "the passes");
  EXPECT_TRUE(status) << status.error().text();
}

INSTANTIATE_TEST_SUITE_P(Terms, FuseOverTwoDims,
                         testing::Values("exp(s - m) + c[j]", "exp(s - m) * c[j]", "(s + m) * c[j]",
                                         "s * m + m * exp(c[j])"));

TEST(Fuse, IsVerifiedInTheTypeOfTheProgram) {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 8, "e": 8},
    "inputs": {"q": "f64[i,d]", "k": "f64[j,d]", "v": "f64[j,e]"},
    "body": ["s = sum(d, q[i,d] * k[j,d])", "o[i,e] = sum(j, softmax(j, s) * v[j,e])"],
    "outputs": {"o": "f64"}})j");
  auto verifier = driver::PassVerifier::create(program.original(), {{"i", 13}, {"j", 17}});
  ASSERT_TRUE(verifier) << verifier.error().text();
  Status status = verifier->check(program.fused(), "the passes");
  EXPECT_TRUE(status) << status.error().text();
}

} // namespace
} // namespace attnc
