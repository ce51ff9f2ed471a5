// Gradients through an iteration that converges: their error is that of f32 at the condition of the
// problem, however many turns it takes. The bounds that the evaluator derives element by element
// multiply from turn to turn and decide nothing here, so this bound is derived by hand.
#include "compiler/driver/gradient.h"
#include "compiler/evaluator/reverse/reverse_mode.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "tests/e2e/variant.h"
#include "kernels_spec/library.h"
#include <cmath>
#include <nlohmann/json.hpp>

namespace attnc::e2e {
namespace {

using driver::programOf;
using evaluator::Array;
using evaluator::EvalInputs;
using evaluator::Outputs;

/// Between the largest of a thousand sums of roundings and that of another thousand: of numbers
/// with a bell-shaped distribution that is 2.5 to 5 times their spread, nearly surely.
constexpr double kSpread = 2;

constexpr int64_t kLandmarks = 8, kSegment = 3, kWidth = 16, kValues = 8;
constexpr int64_t kLength = kLandmarks * kSegment;

/// The spec of the library with another number of turns and small extents.
class Iterated {
public:
  explicit Iterated(int turns, const std::vector<std::string> &outputs = {"o"}) {
    driver::loadDialects(context);
    auto text = nlohmann::ordered_json::parse(findInLibrary("nystrom")->text);
    text["dims"]["d"] = kWidth;
    text["dims"]["e"] = kValues;
    text["dims"]["m"] = kLandmarks;
    text["outputs"] = nlohmann::ordered_json::object();
    for (const std::string &output : outputs)
      text["outputs"][output] = "f32";
    for (auto &statement : text["body"])
      if (statement.is_object())
        statement["repeat"] = turns;
    Diagnostics diagnostics;
    spec = parseSpec(context, "iterated.json", text.dump(), {}, diagnostics);
    std::string findings;
    llvm::raw_string_ostream out(findings);
    diagnostics.render(out, false);
    EXPECT_TRUE(spec) << findings;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<Spec> spec;
};

Array filled(std::vector<int64_t> shape, llvm::function_ref<double(int64_t, int64_t)> element) {
  Array array;
  array.shape = std::move(shape);
  int64_t columns = array.shape.back(), rows = array.shape[array.shape.size() - 2];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      array.value.push_back(static_cast<float>(element(row, column)));
  return array;
}

/// Rows of a segment point in one direction, those of two segments in directions at right angles,
/// but for a little: the landmarks' weights on each other are e / (e + m - 1) and 1 / (e + m - 1),
/// a matrix that has an inverse, which the iteration comes to in about six turns.
EvalInputs inputs() {
  auto direction = [](int64_t row, int64_t column) {
    return (row / kSegment == column ? 2.0 : 0.0) + 0.1 * std::sin(3.0 + 7 * row + 5 * column);
  };
  auto wave = [](double phase) {
    return [phase](int64_t row, int64_t column) { return std::sin(phase + 3 * row + 11 * column); };
  };
  EvalInputs inputs;
  inputs.tensors["q"] = filled({1, 1, kLength, kWidth}, direction);
  inputs.tensors["k"] = filled({1, 1, kLength, kWidth}, direction);
  inputs.tensors["v"] = filled({1, 1, kLength, kValues}, wave(1));
  inputs.tensors["grad_o"] = filled({1, 1, kLength, kValues}, wave(2));
  return inputs;
}

/// The largest sum of sizes in a row.
double rowNorm(const Array &matrix) {
  double largest = 0;
  for (int64_t row = 0; row < kLandmarks; ++row) {
    double sum = 0;
    for (int64_t column = 0; column < kLandmarks; ++column)
      sum += std::fabs(matrix.value[row * kLandmarks + column]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// |A| |Z| with Z the inverse.
double condition() {
  Iterated matrices(20, {"a", "z"});
  Outputs outputs = llvm::cantFail(evaluator::evaluate(programOf(*matrices.spec), inputs()));
  return rowNorm(outputs.at("a")) * rowNorm(outputs.at("z"));
}

/// The largest difference of two gradients, by the largest element of the second.
double distance(const Array &mine, const Array &theirs) {
  double difference = 0, largest = 0;
  for (int64_t i = 0; i < theirs.size(); ++i) {
    difference = std::max(difference, std::fabs(mine.value[i] - theirs.value[i]));
    largest = std::max(largest, std::fabs(theirs.value[i]));
  }
  return difference / largest;
}

const std::vector<std::string> kSources = {"q", "k", "v"};

std::map<std::string, Array> reverse(const Spec &spec, EvalInputs at) {
  std::map<std::string, Array> cotangents = {{"o", at.tensors.at("grad_o")}};
  at.tensors.erase("grad_o");
  return llvm::cantFail(evaluator::reverseMode(programOf(spec), at, cotangents, kSources));
}

class IteratedGradients : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    iterated.emplace(GetParam());
    ASSERT_TRUE(iterated->spec);
    iterated->spec->grad = kSources;
    Result<driver::GradientSpecs> derived = driver::differentiateSpec(*iterated->spec);
    ASSERT_TRUE(derived.ok()) << derived.error().text();
    whole.emplace(std::move(derived->whole));
    exact = reverse(*iterated->spec, inputs());
  }

  /// The largest distance from the reverse mode in float64 of the gradients of q, k and v.
  double error(const std::map<std::string, Array> &outputs) const {
    double largest = 0;
    for (const std::string &source : kSources)
      largest = std::max(largest, distance(outputs.at(gradientName(source)), exact.at(source)));
    return largest;
  }

  Outputs evaluated(evaluator::Precision precision) const {
    evaluator::EvalOptions options;
    options.precision = precision;
    return llvm::cantFail(evaluator::evaluate(programOf(*whole), inputs(), options));
  }

  std::map<std::string, Array> compiled() const {
    auto executor = makeExecutor(*iterated->spec);
    EXPECT_TRUE(executor.ok()) << executor.error().text();
    const Manifest &manifest = (*executor)->manifest();
    auto result = (*executor)->run(driver::runRequest(manifest, inputs()));
    EXPECT_TRUE(result.ok()) << result.error().text();
    std::map<std::string, Array> arrays;
    for (const auto &[name, tensor] : result->outputs)
      arrays[name] = driver::toArray(tensor, manifest.findTensor(name)->dims);
    return arrays;
  }

  /// What may be lost in arithmetic of unit u. The gradient of the inverse Z is Z' G Z', and a
  /// relative error of what it is made of grows by the condition for each Z. Once the iteration has
  /// come to Z, errors of earlier turns vanish with it, so one turn and its gradient count: three
  /// products of matrices, four on the way back with two operands each, over m terms. Around them
  /// are sums over i, j, d and e, twice each, and exponentials of logits of a few units.
  static double bound(double unit) {
    double terms = (3 + 2 * 4) * kLandmarks + 2 * (2 * kLength + kWidth + kValues) + 16;
    return unit * condition() * condition() * terms;
  }

  std::optional<Iterated> iterated;
  std::optional<Spec> whole;
  std::map<std::string, Array> exact;
};

TEST_P(IteratedGradients, LoseWhatF32LosesAtTheConditionOfTheProblem) {
  double compiledError = error(compiled());
  double naiveError = error(evaluated(evaluator::Precision::EmulatedF32));
  double doubleError = error(evaluated(evaluator::Precision::Double));
  EXPECT_LE(compiledError, bound(0x1p-24));
  EXPECT_LE(naiveError, bound(0x1p-24));
  EXPECT_LE(doubleError, bound(0x1p-53));
  // That is the worst case, and roundings partly cancel: by how much says a naive evaluation, which
  // rounds after the same operations and only adds in another order.
  EXPECT_LE(compiledError, kSpread * naiveError);
  RecordProperty("compiled", std::to_string(compiledError * 0x1p24));
  RecordProperty("naive", std::to_string(naiveError * 0x1p24));
  RecordProperty("float64", std::to_string(doubleError * 0x1p53));
  RecordProperty("bound", std::to_string(bound(1)));
  RecordProperty("condition", std::to_string(condition()));
}

INSTANTIATE_TEST_SUITE_P(Turns, IteratedGradients, testing::Values(1, 2, 4, 6, 8, 12, 16, 20),
                         testing::PrintToStringParamName());

// Else the test above says nothing of an iteration that converges.
TEST(IteratedGradient, InputsAreSuchThatTheIterationConverges) {
  Iterated shorter(12), longer(20), unfinished(4);
  auto gradient = [](const Iterated &one) { return reverse(*one.spec, inputs()).at("q"); };
  EXPECT_LE(distance(gradient(shorter), gradient(longer)), 1e-12);
  EXPECT_GE(distance(gradient(unfinished), gradient(longer)), 0.01);
}

} // namespace
} // namespace attnc::e2e
