// Derived gradients against the evaluator's own reverse mode, which shares no rule with them: every
// spec of the library and of the tests, and each function at its corners.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/gradient.h"
#include "compiler/driver/spec_hints.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "kernels_spec/library.h"
#include "mlir/IR/Verifier.h"
#include "tests/programs/gradient_comparison.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace attnc {
namespace {

using driver::programOf;
using evaluator::Array;
using evaluator::EvalInputs;
using evaluator::InputKind;

/// A spec and the program with its gradients.
class Gradients {
public:
  explicit Gradients(const std::string &text, const Overrides &overrides = {}) {
    driver::loadDialects(context);
    Diagnostics diagnostics;
    spec = parseSpec(context, "test.json", text, overrides, diagnostics, libraryBases());
    std::string findings;
    llvm::raw_string_ostream out(findings);
    diagnostics.render(out, false);
    EXPECT_TRUE(spec.has_value()) << findings;
  }

  attn::ProgramOp original() { return programOf(*spec); }
  attn::ProgramOp derived() { return *whole->getOps<attn::ProgramOp>().begin(); }

  Status differentiate(const std::vector<std::string> &wanted) {
    whole = mlir::cast<mlir::ModuleOp>(spec->module.get()->clone());
    Result<std::vector<std::string>> done = attnc::differentiate(derived(), wanted);
    if (!done)
      return done.error();
    independent = *done;
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*whole)));
    return {};
  }

  /// The inputs and params of real numbers.
  std::vector<std::string> sources() {
    std::vector<std::string> names = driver::gradientInputs(*spec, {"all"});
    for (auto param : original().getBodyBlock()->getOps<attn::ParamOp>())
      if (mlir::isa<mlir::FloatType>(param.getType().getElementType()))
        names.push_back(param.getName().str());
    return names;
  }

  /// The gradient of sum(o) of the only output o, by the derived program.
  std::vector<double> of(const std::string &source, const std::map<std::string, Array> &tensors,
                         double cotangent = 1) {
    Status status = differentiate({source});
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
    EvalInputs inputs;
    inputs.tensors = tensors;
    auto plain = llvm::cantFail(evaluator::evaluate(original(), inputs));
    for (const auto &[name, output] : plain) {
      Array given = output;
      given.error.clear();
      given.value.assign(output.size(), cotangent);
      inputs.tensors[gradientName(name)] = given;
    }
    return llvm::cantFail(evaluator::evaluate(derived(), inputs)).at(gradientName(source)).value;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<Spec> spec;
  mlir::OwningOpRef<mlir::ModuleOp> whole;
  std::vector<std::string> independent;
};

//===--- every spec
//----------------------------------------------------------------------------===//

std::vector<std::filesystem::path> specs() {
  std::vector<std::filesystem::path> paths;
  for (const char *folder : {ATTNC_SPEC_DIR, ATTNC_TEST_SPEC_DIR, ATTNC_FOUND_DIR})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string textOf(const std::filesystem::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int64_t reduced(int64_t extent) { return extent <= 9 ? extent : 7 + extent % 5; }

Overrides smallNumbers(const nlohmann::ordered_json &spec) {
  Overrides small;
  for (const char *key : {"dims", "let"}) {
    auto numbers = spec.value(key, nlohmann::json::object());
    for (const auto &[name, value] : numbers.items())
      if (value.is_number_integer() && value.get<int64_t>() > 8)
        small.values[name] = "5";
  }
  return small;
}

/// Specs that divide 0 by 0 where a row has no keys, and leave that out of what they give.
bool leavesOutNaNs(const std::filesystem::path &path) {
  return path.stem() == "dropped_row_without_weights" ||
         path.stem() == "fourth_powers_beside_a_maximum_in_base_two";
}

class EverySpec : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EverySpec, AgreesWithTheReverseModeOfTheEvaluator) {
  std::string text = textOf(GetParam());
  Diagnostics diagnostics;
  auto json = wholeSpec("test.json", text, libraryBases(), diagnostics);
  ASSERT_TRUE(json);
  Gradients gradients(text, smallNumbers(*json));
  ASSERT_TRUE(gradients.spec);
  std::vector<std::string> sources = gradients.sources();
  Status status = gradients.differentiate(sources);
  if (!status && status.error().message.find("no output of real numbers") != std::string::npos)
    return;
  ASSERT_TRUE(status.ok()) << status.error().text();
  std::map<std::string, int64_t> extents;
  for (const auto &[dim, extent] : driver::referenceExtents(*gradients.spec))
    extents[dim] = reduced(extent);
  for (InputKind kind : {InputKind::Random, InputKind::Planted, InputKind::InfiniteBias}) {
    SCOPED_TRACE(evaluator::inputKindName(kind).str());
    auto difference = programs::gradientDifference(
        {gradients.original(), gradients.derived(), sources}, extents, kind,
        leavesOutNaNs(GetParam()) ? programs::OpenGradients::OfNaNs
                                  : programs::OpenGradients::OfInfiniteOutputs);
    ASSERT_TRUE(bool(difference)) << llvm::toString(difference.takeError());
    EXPECT_EQ(*difference, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, EverySpec, testing::ValuesIn(specs()),
                         [](const auto &info) { return info.param.stem().string(); });

//===--- corners
//-------------------------------------------------------------------------------===//

std::string elementwise(const std::string &body) {
  return R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]"}, "body": [")j" + body +
         R"j("], "outputs": {"o": "f32"}})j";
}

std::vector<double> gradientAt(const std::string &body, std::vector<double> x,
                               double cotangent = 1) {
  Array array;
  array.dims = {"i"};
  array.shape = {static_cast<int64_t>(x.size())};
  array.value = std::move(x);
  return Gradients(elementwise(body)).of("x", {{"x", array}}, cotangent);
}

constexpr double inf = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

TEST(GradientCorners, TiesAreSharedAsInPyTorch) {
  EXPECT_EQ(gradientAt("o = maximum(x, 1)", {0, 1, 2}), (Values{0, 0.5, 1}));
  EXPECT_EQ(gradientAt("o = minimum(1, x)", {0, 1, 2}), (Values{1, 0.5, 0}));
  EXPECT_EQ(gradientAt("o = relu(x)", {-1, 0, 2}), (Values{0, 0, 1}));
  EXPECT_EQ(gradientAt("o = clamp(x, -1, 1)", {-2, -1, 0, 1, 2}), (Values{0, 1, 1, 1, 0}));
  EXPECT_EQ(gradientAt("o = abs(x)", {-2, 0, 3}), (Values{-1, 0, 1}));
  EXPECT_EQ(gradientAt("o = max(i, x)", {3, 1, 3, 2}), (Values{0.5, 0, 0.5, 0}));
  EXPECT_EQ(gradientAt("o = min(i, x)", {3, 1, 3, 1}), (Values{0, 0.5, 0, 0.5}));
}

TEST(GradientCorners, AProductPassesThatOfTheOthers) {
  EXPECT_EQ(gradientAt("o = prod(i, x)", {2, 3, 4}), (Values{12, 8, 6}));
  EXPECT_EQ(gradientAt("o = prod(i, x)", {2, 0, 4}), (Values{0, 8, 0}));
  EXPECT_EQ(gradientAt("o = prod(i, x)", {0, 0, 4}), (Values{0, 0, 0}));
}

TEST(GradientCorners, WhatIsMaskedHasExactlyZero) {
  EXPECT_EQ(gradientAt("o = softmax(i, x)", {-inf, -inf}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("o = logsumexp(i, x)", {-inf, -inf}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("o = logsumexp(i, x)", {-inf, 5})[0], 0);
  EXPECT_EQ(gradientAt("o = max(i, x)", {-inf, -inf}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("o = min(i, x)", {inf, inf}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("o = where(x > 0, log(x), 0)", {-1, 0, 2}), (Values{0, 0, 0.5}));
  EXPECT_EQ(gradientAt("o = where(x > 0, sqrt(x), 0)", {-1, 0, 4}), (Values{0, 0, 0.25}));
  EXPECT_EQ(gradientAt("o = where(x > 0, 1 / x, 0)", {-1, 0, 2}), (Values{0, 0, -0.25}));
  EXPECT_EQ(gradientAt("o = where(x < 50, exp(x), 0)", {1000, inf}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("o = sum(i, softmax(i, where(x > 0, x, -inf)) * x)", {-3, -4}),
            (Values{0, 0}));
  EXPECT_EQ(gradientAt("o = xlogy(x, x)", {0})[0], 0);
}

TEST(GradientCorners, AZeroGradientStaysZero) {
  for (const char *body : {"o = log(x)", "o = 1 / x", "o = sqrt(x)", "o = rsqrt(x)", "o = x ** 0.5",
                           "o = exp(1 / x)", "o = x * log(x)"})
    EXPECT_EQ(gradientAt(body, {0}, /*cotangent=*/0), Values{0}) << body;
}

// Each term has a shift of its own, so the quotient depends on them.
TEST(GradientCorners, ShiftsDoNotCancelInASumOverThem) {
  EXPECT_EQ(gradientAt("o = sum(i, exp(1 - x) * i) / sum(i, exp(1 - x))", {1, 1}),
            (Values{0.25, -0.25}));
}

TEST(GradientCorners, CastsToNarrowTypesPassTheGradient) {
  EXPECT_EQ(gradientAt("o = cast(x, bf16) * 3", {1.01}), Values{3});
  EXPECT_EQ(gradientAt("o = cast(cast(x, i32), f32) * 3", {1.01}), Values{0});
  EXPECT_EQ(gradientAt("o = floor(x) + x", {1.5}), Values{1});
}

TEST(GradientCorners, ReadsAreInverted) {
  EXPECT_EQ(gradientAt("o[i] = (x[i - 1] else 0) * i", {1, 1, 1}), (Values{1, 2, 0}));
  EXPECT_EQ(gradientAt("o[i] = x[size(i) - 1 - i] * i", {1, 1, 1}), (Values{2, 1, 0}));
  EXPECT_EQ(gradientAt("o[i] = x[i // 2] * (i + 1)", {1, 1, 1}), (Values{3, 3, 0}));
  EXPECT_EQ(gradientAt("o[i] = x[0] * (i + 1)", {1, 1, 1}), (Values{6, 0, 0}));
  EXPECT_EQ(gradientAt("o[i] = (x[2 * i] else 7) * (i + 1)", {1, 1, 1}), (Values{1, 0, 2}));
}

//===--- reads
//-------------------------------------------------------------------------------===//

Array reals(std::vector<std::string> dims, std::vector<int64_t> shape, Values value) {
  Array array;
  array.dims = std::move(dims);
  array.shape = std::move(shape);
  array.value = std::move(value);
  return array;
}

Array integers(std::vector<std::string> dims, std::vector<int64_t> shape,
               std::vector<int64_t> value) {
  Array array = reals(std::move(dims), std::move(shape), {});
  array.kind = evaluator::ElementKind::Whole;
  array.integer = std::move(value);
  return array;
}

std::string gathered(const std::string &inputs, const std::string &body,
                     const std::string &dims = "{}", const std::string &shape = "") {
  return R"j({"attnc": 1, "name": "t", "dims": )j" + dims + R"j(, "inputs": {)j" + inputs +
         R"j(}, "body": [")j" + body + R"j("], "outputs": {"o": "f32"})j" +
         (shape.empty() ? "" : R"(, "reference": {"shape": )" + shape + "}") + "}";
}

/// The largest number of elements that a sum of the program takes, at these extents.
int64_t largestSum(attn::ProgramOp program, const std::map<std::string, int64_t> &extents) {
  int64_t largest = 0;
  for (auto reduce : program.getBodyBlock()->getOps<attn::ReduceOp>()) {
    int64_t elements = 1;
    for (mlir::StringAttr dim :
         mlir::cast<attn::ArrayType>(reduce.getOperand().getType()).getDims()) {
      std::string name = dim.getValue().str();
      elements *= extents.at(name.substr(0, name.find('_'))); // those that passes add have its name
    }
    largest = std::max(largest, elements);
  }
  return largest;
}

int64_t integerSums(attn::ProgramOp program) {
  return llvm::count_if(program.getBodyBlock()->getOps<attn::ReduceOp>(), [](auto reduce) {
    return reduce.getType().getElementType().isInteger(64);
  });
}

// Of 5 elements 3 have the key 1, one has 3, one is outside: the rows 0 and 2 are read by none.
TEST(GradientReads, OfOneRowAreSummedThroughATable) {
  Gradients gradients(
      gathered(R"("x": "f32[t,r]", "key": "i32[s]")", "o[s,r] = x[key[s], r] * (s + 1)"));
  Values grad = gradients.of("x", {{"x", reals({"t", "r"}, {4, 2}, Values(8, 1))},
                                   {"key", integers({"s"}, {5}, {1, 3, 1, 7, 1})}});
  EXPECT_EQ(grad, (Values{0, 0, 9, 9, 0, 0, 2, 2}));
}

TEST(GradientReads, OutsideOfATableAreOfNoElement) {
  Gradients gradients(gathered(R"("x": "f32[t,r]", "key": "i32[s]")",
                               "o[s,r] = (x[key[s] - 2, r] else 5) * (s + 1)"));
  Values grad = gradients.of("x", {{"x", reals({"t", "r"}, {2, 2}, Values(4, 1))},
                                   {"key", integers({"s"}, {4}, {-2147483648, 2147483647, 3, 1})}});
  EXPECT_EQ(grad, (Values{0, 0, 3, 3}));
}

// Places that the table does not reach read the row that stands there instead.
TEST(GradientReads, BesideATableAreOfTheRowThatStandsThere) {
  Gradients gradients(gathered(R"("x": "f32[t,r]", "key": "i32[s]")",
                               "o[i,r] = x[key[2 * i] else 1, r] * (i + 1)", R"({"i": 4})"));
  Values grad = gradients.of("x", {{"x", reals({"t", "r"}, {3, 2}, Values(6, 1))},
                                   {"key", integers({"s"}, {4}, {2, 0, 2, 0})}});
  EXPECT_EQ(grad, (Values{0, 0, 7, 7, 3, 3}));
}

TEST(GradientReads, ThroughATableOfABatchStayInTheBatch) {
  Gradients gradients(gathered(R"("x": "f32[b,t,r]", "key": "i32[b,s]")",
                               "o[b,s,r] = x[b, key[b,s], r] * (s + 1)"));
  Values grad = gradients.of("x", {{"x", reals({"b", "t", "r"}, {2, 2, 2}, Values(8, 1))},
                                   {"key", integers({"b", "s"}, {2, 3}, {0, 1, 0, 1, 1, 1})}});
  EXPECT_EQ(grad, (Values{4, 4, 2, 2, 0, 0, 6, 6}));
}

// The scalar beside the table's element stays what it is.
TEST(GradientReads, ThroughATableMayBeShiftedByANumberThatIsRead) {
  for (const char *shift : {"off[0]", "(off[1] else 1)"}) {
    Gradients gradients(
        gathered(R"("x": "f32[t,r]", "key": "i32[s]", "off": "i32[n]")",
                 std::string("o[s,r] = (x[key[s] + ") + shift + ", r] else 0) * (s + 1)",
                 R"({"n": 1})", R"({"t": 50, "r": 64, "s": 40})"));
    Values grad = gradients.of("x", {{"x", reals({"t", "r"}, {3, 2}, Values(6, 1))},
                                     {"key", integers({"s"}, {4}, {1, 0, 1, 7})},
                                     {"off", integers({"n"}, {1}, {1})}});
    EXPECT_EQ(grad, (Values{0, 0, 2, 2, 4, 4})) << shift;
  }
}

// x[table[b, j // 2], j % 2, r]: 2 * 3 pages, of which two are the same.
TEST(GradientReads, OfPagesAreSummedThroughATable) {
  Gradients gradients(gathered(R"("x": "f32[n,t,r]", "table": "i32[b,w]")",
                               "o[b,j,r] = x[table[b, j // 2], j % 2, r] * (6 * b + j + 1)",
                               R"({"t": 2, "j": "size(w) * 2"})",
                               R"({"n": 9, "b": 2, "w": 3, "r": 64})"));
  Values grad = gradients.of("x", {{"x", reals({"n", "t", "r"}, {4, 2, 1}, Values(8, 1))},
                                   {"table", integers({"b", "w"}, {2, 3}, {3, 0, -1, 1, 3, 9})}});
  EXPECT_EQ(grad, (Values{3, 4, 7, 8, 0, 0, 1 + 9, 2 + 10}));
}

// Of the sums that take what was read, one takes it once for each element of the table: its places
// begin and end where the table's keys say. The others count keys.
TEST(GradientReads, ThroughATableVisitTheElementsOfEachKey) {
  Gradients gradients(gathered(R"("x": "f32[t,r]", "key": "i32[s]")",
                               "o[s,r] = x[key[s], r] * (s + 1)", "{}",
                               R"({"t": 50, "r": 64, "s": 40})"));
  ASSERT_TRUE(gradients.differentiate({"x"}).ok());
  EXPECT_EQ(integerSums(gradients.derived()), 4); // first, end, rank, order
}

TEST(GradientReads, AtClampedSubscriptsAreSummedAtTheBounds) {
  EXPECT_EQ(gradientAt("o[i] = (x[minimum(i, 1)] else 0) * (i + 1)", {1, 1, 1, 1}),
            (Values{1, 9, 0, 0}));
  EXPECT_EQ(gradientAt("o[i] = (x[maximum(i - 2, 0)] else 0) * (i + 1)", {1, 1, 1, 1}),
            (Values{6, 4, 0, 0}));
  EXPECT_EQ(gradientAt("o[i] = (x[clamp(2 - i, 1, 2)] else 0) * (i + 1)", {1, 1, 1, 1}),
            (Values{0, 9, 1, 0}));
  EXPECT_EQ(gradientAt("o[i] = (x[clamp(2 * i, 1, 3)] else 0) * (i + 1)", {1, 1, 1, 1}),
            (Values{0, 1, 2, 7}));
}

// A bias of distances between 4 rows and 5 columns: each is visited once for each bound, and once
// along its diagonal.
TEST(GradientReads, AtClampedDistancesVisitEachPairOnce) {
  Gradients gradients(gathered(R"("x": "f32[t]", "y": "f32[i]", "z": "f32[j]")",
                               "o[i,j] = x[clamp(i - j + 1, 0, size(t) - 1)] * y * z"));
  Values y = {1, 2, 4, 8}, z = {1, 3, 5, 7, 9}, expected(3, 0);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j)
      expected[std::clamp(i - j + 1, 0, 2)] += y[i] * z[j];
  EXPECT_EQ(gradients.of("x", {{"x", reals({"t"}, {3}, Values(3, 1))},
                               {"y", reals({"i"}, {4}, y)},
                               {"z", reals({"j"}, {5}, z)}}),
            expected);
  EXPECT_EQ(largestSum(gradients.derived(), {{"t", 1000}, {"i", 1000}, {"j", 1000}}), 1000 * 1000);
}

//===--- what is refused
//-----------------------------------------------------------------------===//

std::string refusal(const std::string &text, const std::vector<std::string> &wanted) {
  Gradients gradients(text);
  Status status = gradients.differentiate(wanted);
  return status.ok() ? "" : status.error().message;
}

TEST(Differentiate, RefusesWhatHasNoGradient) {
  const char *spec = R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]", "n": "i32[i]"},
                         "body": ["o = x * n"], "outputs": {"o": "f32"}})j";
  EXPECT_EQ(refusal(spec, {"n"}),
            "'n' is no input or param of real numbers, so it has no gradient");
  EXPECT_EQ(refusal(spec, {"y"}),
            "'y' is no input or param of real numbers, so it has no gradient");
  EXPECT_EQ(refusal(spec, {"x", "x"}), "the gradient of 'x' is asked for twice");
  EXPECT_EQ(refusal(R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]"},
                        "body": ["o = x > 0"], "outputs": {"o": "bool"}})j",
                    {"x"}),
            "the program has no output of real numbers, so nothing has a gradient");
  EXPECT_EQ(refusal(R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]", "grad_x": "f32[i]"},
                        "body": ["o = x * grad_x"], "outputs": {"o": "f32"}})j",
                    {"x"}),
            "the name 'grad_x', which a gradient is to have, is taken");
}

TEST(Differentiate, SaysOnWhatNothingDepends) {
  Gradients gradients(R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i]", "y": "f32[i]"},
                          "body": ["o = x + floor(y)"], "outputs": {"o": "f32"}})j");
  ASSERT_TRUE(gradients.differentiate({"x", "y"}).ok());
  EXPECT_EQ(gradients.independent, std::vector<std::string>{"y"});
}

} // namespace
} // namespace attnc
