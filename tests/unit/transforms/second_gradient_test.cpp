// Gradients of gradient programs: against the evaluator's reverse mode of the gradient program, and
// against central differences of its reverse mode of the spec, which shares nothing with either.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/gradient.h"
#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/reverse/reverse_mode.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "mlir/IR/Verifier.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace attnc {
namespace {

using driver::programOf;
using evaluator::Array;
using evaluator::EvalInputs;
using Arrays = std::map<std::string, Array>;

/// Both are float64 and differ in the order of some thousand operations on numbers near 1.
constexpr double kRounding = 1e-11;
/// Of the differences: near the cube root of the unit roundoff, where truncation and cancellation
/// lose about the same.
constexpr double kStep = 0x1p-17;
/// What they lose: h^2 times third derivatives, and the rounding of a few hundred operations over
/// h.
constexpr double kTruncation = 1e-6, kCancellation = 100 * 0x1p-53 / kStep;

struct Case {
  std::string name;
  std::string inputs, body, outputs; ///< members of a spec
  std::map<std::string, int64_t> extents;
  /// Elements of these, by flat index, are 0.
  std::map<std::string, std::vector<int64_t>> zeros = {};
  std::map<std::string, std::vector<int64_t>> integers = {}; ///< inputs that are not drawn

  std::string text() const {
    return R"j({"attnc": 1, "name": "t", "inputs": {)j" + inputs + R"j(}, "body": [)j" + body +
           R"j(], "outputs": {)j" + outputs + "}}";
  }
  friend void PrintTo(const Case &one, std::ostream *os) { *os << one.name; }
};

const std::string kQkv = R"j("q": "f32[i, d]", "k": "f32[j, d]", "v": "f32[j, e]")j";
const std::string kScores = R"j("s[i,j] = sum(d, q * k)", )j";
const std::string kWeighted = R"j(, "o[i,e] = sum(j, p * v)")j";
const std::string kO = R"j("o": "f32")j";
const std::map<std::string, int64_t> kSmall = {{"i", 4}, {"j", 5}, {"d", 3}, {"e", 2}};

std::vector<Case> cases() {
  return {
      {"causal",
       kQkv,
       kScores + R"j("p = softmax(j, where(j <= i, s, -inf))")j" + kWeighted,
       kO,
       kSmall,
       {{"grad_o", {0, 3}}}},
      {"lengths",
       kQkv + R"j(, "n": "i32[i]")j",
       kScores + R"j("p = softmax(j, where(j < n[i], s, -inf))")j" + kWeighted,
       kO,
       kSmall,
       {},
       {{"n", {5, 0, 2, 3}}}},
      {"maximum_by_hand",
       kQkv,
       kScores + R"j("m = max(j, s)", "x = exp(s - m)", "p = x / sum(j, x)")j" + kWeighted,
       kO,
       kSmall,
       {{"grad_o", {1, 2, 5}}}},
      {"sigmoid",
       kQkv,
       kScores + R"j("p = sigmoid(s)")j" + kWeighted,
       kO,
       kSmall,
       {{"grad_o", {0, 1, 6}}}},
      {"bias", kQkv + R"j(, "bias": "f32[i, j]")j",
       kScores + R"j("p = softmax(j, s + bias)")j" + kWeighted, kO, kSmall},
      {"capped", kQkv, kScores + R"j("p = softmax(j, 2 * tanh(s / 2))")j" + kWeighted, kO, kSmall},
      {"logsumexp",
       kQkv,
       kScores + R"j("p = softmax(j, s)", "l[i] = logsumexp(j, s)")j" + kWeighted,
       kO + R"j(, "l": "f32")j",
       kSmall,
       {{"grad_l", {1}}}},
      {"masked_logsumexp",
       R"j("x": "f32[i, j]")j",
       R"j("l[i] = logsumexp(j, where(j < i, x, -inf))", "o = where(i > 0, l, 0)")j",
       kO,
       {{"i", 4}, {"j", 5}}},
      {"product",
       R"j("x": "f32[i, j]")j",
       R"j("o[i] = prod(j, x + 1)")j",
       kO,
       {{"i", 3}, {"j", 4}}},
      {"product_with_zeros",
       R"j("x": "f32[i, j]", "w": "f32[i]")j",
       R"j("o[i] = prod(j, x) * w")j",
       kO,
       {{"i", 4}, {"j", 4}},
       {{"x", {1, 4, 6, 9, 10, 11}}, {"grad_o", {3}}}},
      {"product_over_two_dims",
       R"j("x": "f32[i, j]")j",
       R"j("o = prod((i, j), x)")j",
       kO,
       {{"i", 2}, {"j", 3}},
       {{"x", {4}}}},
      {"gather",
       R"j("x": "f32[n, d]", "t": "i32[i]", "w": "f32[i, d]")j",
       R"j("g[i,d] = x[t[i],d]", "o[i] = sum(d, g * g * w)")j",
       kO,
       {{"n", 4}, {"i", 6}, {"d", 3}},
       {{"grad_o", {2}}},
       {{"t", {1, 3, 1, 0, 3, 3}}}},
      {"shifted",
       R"j("x": "f32[i]", "w": "f32[i]")j",
       R"j("o[i] = exp((x[i - 1] else 0) * w) * x[size(i) - 1 - i]")j",
       kO,
       {{"i", 6}},
       {{"grad_o", {4}}}},
      {"quotients_and_roots",
       R"j("x": "f32[i]", "y": "f32[i]")j",
       R"j("a = x * x + 1", "o = y / a + sqrt(a) * rsqrt(a + y * y) + log(a) + a ** 1.5")j",
       kO,
       {{"i", 5}},
       {{"grad_o", {0, 2}}}},
      {"kept_apart",
       R"j("x": "f32[i]")j",
       R"j("o = where(x > 0, sqrt(x), 0) + where(x > 0, log(x), 0) + relu(x) * x")j",
       kO,
       {{"i", 8}},
       {{"x", {3, 5}}}},
      {"extrema",
       R"j("x": "f32[i, j]", "w": "f32[j]")j",
       R"j("o[i] = max(j, x * w) * min(j, x * x)")j",
       kO,
       {{"i", 3}, {"j", 4}}},
  };
}

/// A spec, its gradients, and the gradients of these.
class SecondGradients : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    driver::loadDialects(context);
    Diagnostics diagnostics;
    spec = parseSpec(context, "test.json", GetParam().text(), {}, diagnostics);
    std::string findings;
    llvm::raw_string_ostream out(findings);
    diagnostics.render(out, false);
    ASSERT_TRUE(spec) << findings;
    sources = driver::gradientInputs(*spec, {"all"});
    spec->grad = sources;
    Result<Spec> gradients = driver::differentiableGradients(*spec);
    ASSERT_TRUE(gradients.ok()) << gradients.error().text();
    first.emplace(*std::move(gradients));
    secondSources = first->grad = driver::gradientInputs(*first, {"all"});
    Result<driver::GradientSpecs> again = driver::differentiateSpec(*first);
    ASSERT_TRUE(again.ok()) << again.error().text();
    second.emplace(std::move(again->whole));
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*second->module)));
    makeInputs();
  }

  void makeInputs() {
    inputs = llvm::cantFail(evaluator::makeInputs(programOf(*second), GetParam().extents, 1));
    for (const auto &[name, places] : GetParam().zeros)
      for (int64_t place : places)
        inputs.tensors.at(name).value.at(place) = 0;
    for (const auto &[name, values] : GetParam().integers)
      inputs.tensors.at(name).integer = values;
  }

  /// Inputs `prefix`NAME by NAME.
  Arrays cotangents(const EvalInputs &from, const std::string &prefix) const {
    Arrays found;
    for (const auto &[name, array] : from.tensors)
      if (name.starts_with(prefix))
        found[name.substr(prefix.size())] = array;
    return found;
  }

  /// What the second gradients are those of: the sum of all outputs and first gradients times their
  /// cotangents, the gradients by the evaluator's reverse mode of the spec. And the sum of the
  /// sizes of the terms.
  std::pair<double, double> objective(const EvalInputs &at) const {
    Arrays values = llvm::cantFail(evaluator::evaluate(programOf(*spec), at));
    Arrays gradients = llvm::cantFail(
        evaluator::reverseMode(programOf(*spec), at, cotangents(at, "grad_"), sources));
    for (auto &[name, gradient] : gradients)
      values["grad_" + name] = gradient;
    double sum = 0, size = 0;
    for (const auto &[name, weights] : cotangents(inputs, "grad2_"))
      for (int64_t i = 0; i < weights.size(); ++i) {
        sum += weights.value[i] * values.at(name).value.at(i);
        size += std::fabs(weights.value[i] * values.at(name).value.at(i));
      }
    return {sum, size};
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<Spec> spec, first, second;
  std::vector<std::string> sources, secondSources;
  EvalInputs inputs;
};

TEST_P(SecondGradients, AreThoseOfTheReverseModeOfTheGradientProgram) {
  Arrays derived = llvm::cantFail(evaluator::evaluate(programOf(*second), inputs));
  Arrays reverse = llvm::cantFail(evaluator::reverseMode(
      programOf(*first), inputs, cotangents(inputs, "grad2_"), secondSources));
  for (const std::string &source : secondSources) {
    const std::vector<double> &mine = derived.at("grad2_" + source).value;
    const std::vector<double> &theirs = reverse.at(source).value;
    double largest = 1;
    for (double x : theirs)
      largest = std::max(largest, std::fabs(x));
    ASSERT_EQ(mine.size(), theirs.size());
    for (size_t i = 0; i < mine.size(); ++i)
      EXPECT_NEAR(mine[i], theirs[i], kRounding * largest) << source << " " << i;
  }
}

TEST_P(SecondGradients, AreTheDifferencesOfTheFirst) {
  Arrays derived = llvm::cantFail(evaluator::evaluate(programOf(*second), inputs));
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const std::string &source : secondSources) {
    EvalInputs above = inputs, below = inputs;
    double expected = 0;
    for (size_t i = 0; i < derived.at("grad2_" + source).value.size(); ++i) {
      // A corner at 0 has no slope.
      bool isCorner = GetParam().name == "kept_apart" && inputs.tensors.at(source).value[i] == 0;
      double by = isCorner ? 0 : normal(random);
      above.tensors.at(source).value[i] += kStep * by;
      below.tensors.at(source).value[i] -= kStep * by;
      expected += by * derived.at("grad2_" + source).value[i];
    }
    auto [high, sizeAbove] = objective(above);
    auto [low, sizeBelow] = objective(below);
    EXPECT_NEAR(expected, (high - low) / (2 * kStep),
                kTruncation * std::max(1.0, std::fabs(expected)) + kCancellation * sizeAbove)
        << source;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SecondGradients, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

//===--- names -------------------------------------------------------------------------------===//

std::vector<std::string> namesIn(attn::ProgramOp program, bool outputs) {
  std::vector<std::string> names;
  for (mlir::Operation &op : *program.getBodyBlock())
    if (outputs ? mlir::isa<attn::OutputOp>(op) : mlir::isa<attn::InputOp>(op))
      names.push_back(op.getAttrOfType<mlir::StringAttr>("name").str());
  return names;
}

TEST(GradientOrders, HaveNamesOfTheirOwn) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec =
      parseSpec(context, "t.json",
                R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]"}, "body": ["y = x * x * x"],
           "outputs": {"y": "f32"}})j",
                {}, diagnostics);
  ASSERT_TRUE(spec);
  for (const char *asked : {"x", "x", "x"}) {
    spec->grad = {asked};
    Result<Spec> next = driver::differentiableGradients(*spec);
    ASSERT_TRUE(next.ok()) << next.error().text();
    spec.emplace(*std::move(next));
  }
  EXPECT_EQ(namesIn(programOf(*spec), true),
            (std::vector<std::string>{"y", "grad_x", "grad2_x", "grad3_x"}));
  EXPECT_EQ(namesIn(programOf(*spec), false),
            (std::vector<std::string>{"x", "grad_y", "grad2_y", "grad2_grad_x", "grad3_y",
                                      "grad3_grad_x", "grad3_grad2_x"}));
  // d^3 (x^3) / dx^3 = 6: of grad2_x = 6 x where grad_y and grad2_grad_x are 1.
  EvalInputs inputs = llvm::cantFail(evaluator::makeInputs(programOf(*spec), {{"i", 3}}, 1));
  for (auto &[name, array] : inputs.tensors)
    if (name != "x")
      array.value.assign(3, name == "grad_y" || name == "grad2_grad_x" || name == "grad3_grad2_x");
  auto outputs = llvm::cantFail(evaluator::evaluate(programOf(*spec), inputs));
  for (double third : outputs.at("grad3_x").value)
    EXPECT_DOUBLE_EQ(third, 6);
}

} // namespace
} // namespace attnc
