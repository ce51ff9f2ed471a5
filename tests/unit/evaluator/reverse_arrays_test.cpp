// The reverse mode's gradients of reductions, softmax and reads.
#include "gradient_check.h"

#include "compiler/evaluator/inputs/inputs.h"

#include <cmath>
#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Row = std::vector<double>;

void expectRow(const Row &actual, const Row &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << actual[i] << " at " << i;
    else
      EXPECT_DOUBLE_EQ(actual[i], expected[i]) << "at " << i;
}

/// The gradient of x, a row, under the adjoint `g` of its reduction.
Row reductionGradient(const std::string &kind, const Row &x, double g) {
  SpecProgram spec(specText(R"("x": "f64[j]")", {"o = " + kind + "(j, x)"}, R"("o": "f64")"));
  int64_t size = x.size();
  return gradientsOf(spec.op(), given({{"x", reals({size}, x)}}), {{"o", reals({}, {g})}}, {"x"})
      .at("x")
      .value;
}

/// The gradient of x, a row, under the adjoints `g` of its softmax.
Row softmaxGradient(const Row &x, const Row &g) {
  SpecProgram spec(specText(R"("x": "f64[j]")", {"o = softmax(j, x)"}, R"("o": "f64")"));
  int64_t size = x.size();
  return gradientsOf(spec.op(), given({{"x", reals({size}, x)}}), {{"o", reals({size}, g)}}, {"x"})
      .at("x")
      .value;
}

/// Inputs of a spec, what it computes, and what it is to be differentiated with respect to.
struct Case {
  std::string inputs;
  std::vector<std::string> body;
  EvalInputs values;
  std::vector<std::string> wanted = {"x"};
  std::string more = "";
};

/// The gradients of the sum of all elements of o.
Gradients gradientsOfSum(const Case &of) {
  SpecProgram spec(specText(of.inputs, of.body, R"("o": "f64")", of.more));
  Outputs outputs = llvm::cantFail(evaluate(spec.op(), of.values));
  const Array &o = outputs.at("o");
  return gradientsOf(spec.op(), of.values, {{"o", reals(o.shape, Row(o.size(), 1))}}, of.wanted);
}

/// The gradient with respect to x.
Row gradientOfSum(const Case &of) { return gradientsOfSum(of).at("x").value; }

TEST(ReverseReductions, Sums) {
  expectRow(reductionGradient("sum", {1, -2, kInf}, 5), {5, 5, 5});
  expectRow(reductionGradient("mean", {1, -2, 4, 0}, 5), {1.25, 1.25, 1.25, 1.25});
}

TEST(ReverseReductions, ProductsAreExactBesideZeros) {
  expectRow(reductionGradient("prod", {2, 3, 5}, 7), {105, 70, 42});
  expectRow(reductionGradient("prod", {2, 0, 5}, 7), {0, 70, 0});
  expectRow(reductionGradient("prod", {0, 3, 0}, 7), {0, 0, 0});
  expectRow(reductionGradient("prod", {4}, 7), {7});
}

TEST(ReverseReductions, ExtremaShareEvenlyAmongEquals) {
  expectRow(reductionGradient("max", {1, 4, 2, 4}, 6), {0, 3, 0, 3});
  expectRow(reductionGradient("min", {1, 4, 1, 1}, 6), {2, 0, 2, 2});
  expectRow(reductionGradient("max", {-kInf, -kInf}, 6), {0, 0}); // all are masked
  expectRow(reductionGradient("max", {1, kNaN}, 6), {0, 0});
}

TEST(ReverseReductions, LogSumExpGivesTheSoftmax) {
  double e = std::exp(1.0);
  expectRow(reductionGradient("logsumexp", {2, 3, -kInf}, 5), {5 / (1 + e), 5 * e / (1 + e), 0});
  expectRow(reductionGradient("logsumexp", {-kInf, -kInf}, 5), {0, 0});
  expectRow(reductionGradient("logsumexp", {-kInf, -kInf}, kInf), {0, 0});
  expectRow(reductionGradient("logsumexp", {1, kInf}, 5), {kNaN, kNaN});
  expectRow(reductionGradient("logsumexp", {1e4, 1e4}, 5), {2.5, 2.5});
}

TEST(ReverseReductions, ZeroAbsorbs) {
  for (const char *kind : {"sum", "mean", "prod", "max", "min", "logsumexp"})
    expectRow(reductionGradient(kind, {kNaN, kInf, 0}, 0), {0, 0, 0});
}

TEST(ReverseReductions, SeveralDims) {
  EvalInputs values = given({{"x", reals({2, 3}, {1, 2, 3, 4, 5, 6})}});
  expectRow(gradientOfSum({R"("x": "f64[i, j]")", {"o = mean((i, j), x * x)"}, values}),
            {1. / 3, 2. / 3, 1, 4. / 3, 5. / 3, 2});
  expectRow(gradientOfSum({R"("x": "f64[i, j]")", {"o = max((j, i), x)"}, values}),
            {0, 0, 0, 0, 0, 1});
  expectRow(gradientOfSum({R"("x": "f64[i, j]")", {"o = prod(i, x)"}, values}), {4, 5, 6, 1, 2, 3});
}

TEST(ReverseReductions, NothingHasNoGradient) {
  EvalInputs values = given({{"x", reals({2, 0}, {})}});
  for (const std::string kind : {"sum", "mean", "prod", "max", "logsumexp"})
    EXPECT_TRUE(gradientOfSum({R"("x": "f64[i, j]")", {"o = " + kind + "(j, x)"}, values}).empty());
}

TEST(ReverseReductions, ADimThatTheOperandLacksCountsAsEqualElements) {
  EvalInputs values = given({{"x", reals({2}, {2, 3})}, {"y", reals({4}, {0, 0, 0, 0})}});
  auto gradient = [&](const std::string &kind) {
    return gradientOfSum(
        {R"("x": "f64[i]", "y": "f64[e]")", {"o = " + kind + "(e, x) + 0 * sum(e, y)"}, values});
  };
  expectRow(gradient("sum"), {4, 4});
  expectRow(gradient("mean"), {1, 1});
  expectRow(gradient("prod"), {4 * 8, 4 * 27});
  expectRow(gradient("max"), {1, 1});
  expectRow(gradient("logsumexp"), {1, 1});
}

class SmoothReductions : public testing::TestWithParam<const char *> {};

TEST_P(SmoothReductions, AgreeWithDifferences) {
  SpecProgram spec(specText(R"("x": "f64[i, h, j]")",
                            {std::string("o = ") + GetParam() + "((j, i), x * h + x / 2)"},
                            R"("o": "f64")"));
  expectDifferences(
      spec.op(), llvm::cantFail(makeInputs(spec.op(), {{"i", 3}, {"h", 2}, {"j", 4}}, /*seed=*/1)));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SmoothReductions,
                         testing::Values("sum", "mean", "prod", "max", "min", "logsumexp",
                                         "softmax"),
                         [](const auto &info) { return std::string(info.param); });

TEST(ReverseSoftmax, ClosedForm) {
  double e = std::exp(1.0), p = 1 / (1 + e), q = e / (1 + e);
  double mean = 3 * p + 7 * q;
  Row gradient = softmaxGradient({2, 3}, {3, 7});
  EXPECT_NEAR(gradient[0], p * (3 - mean), 1e-15);
  EXPECT_NEAR(gradient[1], q * (7 - mean), 1e-15);
  expectRow(softmaxGradient({2}, {3}), {0});
}

TEST(ReverseSoftmax, MaskedElementsGiveAndTakeNothing) {
  expectRow(softmaxGradient({0, -kInf, 0}, {2, kInf, 6}), {-1, 0, 1});
  expectRow(softmaxGradient({0, -kInf, 0}, {2, kNaN, 6}), {-1, 0, 1});
  expectRow(softmaxGradient({-kInf, -kInf}, {2, kInf}), {0, 0});
}

TEST(ReverseSoftmax, RowsOfNaN) {
  expectRow(softmaxGradient({0, kNaN}, {2, 6}), {kNaN, kNaN});
  expectRow(softmaxGradient({0, kInf}, {0, 0}), {0, 0});
}

TEST(ReverseReads, PlainAndTransposed) {
  EvalInputs values = given({{"x", reals({2, 3}, {1, 2, 3, 4, 5, 6})},
                             {"y", reals({3, 2}, {1, 10, 100, 1000, 1e4, 1e5})}});
  Gradients gradients =
      gradientsOfSum({R"("x": "f64[i, j]", "y": "f64[j, i]")", {"o = x * y"}, values, {"x", "y"}});
  expectRow(gradients["x"].value, {1, 100, 1e4, 10, 1000, 1e5});
  expectRow(gradients["y"].value, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(gradients["y"].shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(gradients["y"].dims, (std::vector<std::string>{"j", "i"}));
}

TEST(ReverseReads, Diagonal) {
  expectRow(gradientOfSum({R"("x": "f64[i, d]")",
                           {"o = x[d, d] * 3"},
                           given({{"x", reals({3, 2}, {1, 2, 3, 4, 5, 6})}}),
                           {"x"},
                           R"("dims": {"i": 3, "d": 2},)"}),
            {3, 0, 0, 3, 0, 0});
}

TEST(ReverseReads, ShiftedWithAnotherValueOutside) {
  expectRow(
      gradientOfSum({R"("x": "f64[i]", "y": "f64[i]")",
                     {"o = y * (x[i + 1] else 5)"},
                     given({{"x", reals({4}, {1, 2, 3, 4})}, {"y", reals({4}, {1, 10, 100, 7})}})}),
      {0, 1, 10, 100});
}

TEST(ReverseReads, ManyElementsReadOne) {
  auto gradient = [&](const std::string &body) {
    return gradientOfSum(
        {R"("x": "f64[p]", "y": "f64[i]")",
         {body},
         given({{"x", reals({3}, {1, 2, 3})}, {"y", reals({6}, {1, 2, 4, 8, 16, 32})}}),
         {"x"},
         R"("dims": {"p": 3, "i": 6},)"});
  };
  expectRow(gradient("o = y * x[i // 2]"), {3, 12, 48});
  expectRow(gradient("o = y * x[1]"), {0, 63, 0});
}

TEST(ReverseReads, GathersWithDuplicatesAndIndicesOutside) {
  EvalInputs values = given({{"x", reals({3, 2}, {1, 2, 3, 4, 5, 6})},
                             {"y", reals({6}, {1, 2, 4, 8, 16, 32})},
                             {"table", wholes({6}, {2, 0, 2, -1, 3, 2})}});
  for (const std::string otherwise : {"", " else 9"}) {
    Gradients gradients = gradientsOfSum({R"("x": "f64[p, d]", "y": "f64[j]", "table": "i32[j]")",
                                          {"g[j, d] = x[table[j], d]" + otherwise, "o = y * g"},
                                          values,
                                          {"x", "y"}});
    expectRow(gradients["x"].value, {2, 2, 0, 0, 37, 37});
    double outside = otherwise.empty() ? 0 : 18;
    expectRow(gradients["y"].value, {11, 3, 11, outside, outside, 11});
  }
}

// Where -1 would be the last element of the row before.
TEST(ReverseReads, IndicesOutsideReachNoOtherRow) {
  EvalInputs values =
      given({{"x", reals({2, 3}, {1, 2, 3, 4, 5, 6})}, {"table", wholes({2}, {3, -1})}});
  expectRow(
      gradientOfSum({R"("x": "f64[i, p]", "table": "i32[i]")", {"o = x[i, table[i]]"}, values}),
      {0, 0, 0, 0, 0, 0});
}

TEST(ReverseReads, OfComputedArrays) {
  // The first differences of squares come to -x0^2: the others meet again.
  expectRow(gradientOfSum({R"("x": "f64[i]")",
                           {"z[i] = x * x", "o = (z[i + 1] else 0) - z[i]"},
                           given({{"x", reals({3}, {1, 2, 3})}})}),
            {-2, 0, 0});
}

TEST(ReverseReads, OperandsAreBroadcast) {
  EvalInputs values =
      given({{"x", reals({2}, {1, 2})}, {"y", reals({3}, {1, 10, 100})}, {"z", reals({}, {3})}});
  Gradients gradients = gradientsOfSum({R"("x": "f64[i]", "y": "f64[j]", "z": "f64[]")",
                                        {"o = x * y * z"},
                                        values,
                                        {"x", "y", "z"}});
  expectRow(gradients["x"].value, {333, 333});
  expectRow(gradients["y"].value, {9, 9, 9});
  expectRow(gradients["z"].value, {333});
  EXPECT_TRUE(gradients["z"].shape.empty());
}

TEST(ReverseReads, LengthsHideWhatIsBeyondThem) {
  EvalInputs values = given({{"x", reals({3, 3}, {1, 2, kNaN, 4, 5, 6, kNaN, kNaN, kNaN})},
                             {"len", wholes({3}, {2, 7, 0})}});
  auto gradient = [&](const std::string &value) {
    return gradientOfSum({R"("x": "f64[b, j]", "len": "i32[b]")",
                          {"o = " + value},
                          values,
                          {"x"},
                          R"("dims": {"j": {"extent": "len[b]"}},)"});
  };
  expectRow(gradient("sum(j, x * x)"), {2, 4, 0, 8, 10, 12, 0, 0, 0});
  expectRow(gradient("mean(j, x)"), {0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3, 0, 0, 0});
  expectRow(gradient("max(j, x)"), {0, 1, 0, 0, 0, 1, 0, 0, 0});
  expectRow(gradient("x * 3"), {3, 3, 0, 3, 3, 3, 0, 0, 0});
  // The sum of a softmax is constant; what is beyond a length is exactly so.
  Row softmax = gradient("softmax(j, x)");
  for (double share : softmax)
    EXPECT_NEAR(share, 0, 1e-15);
  EXPECT_EQ(softmax[2], 0);
  EXPECT_EQ(softmax[8], 0);
}

TEST(ReverseReads, PackedSequences) {
  // Sequences of 2, 0 and 3 rows; the last row is of none. x * s comes to s^2 in each.
  expectRow(gradientOfSum({R"("x": "f64[i]", "cu": "i32[n]")",
                           {"o[b, i] = x * sum(i, x)"},
                           given({{"x", reals({6}, {1, 2, 3, 4, 5, kNaN})},
                                  {"cu", wholes({4}, {0, 2, 2, 5})}}),
                           {"x"},
                           R"("dims": {"b": "size(n) - 1", "i": {"ragged": "cu", "over": "b"}},)"}),
            {6, 6, 24, 24, 24, 0});
}

} // namespace
} // namespace attnc::evaluator
