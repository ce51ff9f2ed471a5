// Operands of f32 as halves of f16: what their scales would lose is computed without them.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"
#include <cmath>

namespace attnc::e2e {
namespace {

constexpr const char *kHalves = R"({"groups": 1, "stream_tile": 64})";
// That of the kernel which takes over.
constexpr const char *kFallback =
    R"({"form": "portable", "row_tile": 64, "stream_tile": 16, "warps": 4, "min_blocks": 1})";

class Halves : public testing::Test {
protected:
  void SetUp() override {
    spec.emplace("causal", std::map<std::string, std::string>{{"T", "f32"}});
    ASSERT_TRUE(*spec);
    auto made = evaluator::makeInputs(driver::programOf(**spec),
                                      {{"b", 1}, {"h", 2}, {"i", 70}, {"j", 150}}, 1);
    ASSERT_TRUE(bool(made));
    inputs = std::move(*made);
  }

  std::map<std::string, driver::HostTensor> run(const char *schedule) {
    driver::CompileOptions options;
    options.target = "sm_90a";
    options.upTo = driver::Stage::Tile;
    options.schedule = nlohmann::json::parse(schedule);
    auto compiled = driver::compile(**spec, options);
    EXPECT_TRUE(compiled) << compiled.error().text();
    auto executor = driver::makeInterpreterExecutor(*compiled);
    EXPECT_TRUE(executor) << executor.error().text();
    auto ran = (*executor)->run(driver::runRequest((*executor)->manifest(), inputs));
    EXPECT_TRUE(ran) << ran.error().text();
    return ran->outputs;
  }

  // Elements of rows from `first` on, of all columns or of one.
  void scale(const char *name, double factor, int64_t first, int64_t every = 1,
             int64_t column = -1) {
    evaluator::Array &array = inputs.tensors.at(name);
    int64_t cols = array.shape.back(), rows = array.shape[array.shape.size() - 2];
    for (int64_t i = 0; i < array.size(); ++i)
      if (int64_t row = i / cols % rows;
          row >= first && row % every == 0 && (column == -1 || i % cols == column))
        array.value[i] = static_cast<float>(array.value[i] * factor);
  }

  // Right, and with the bits of the kernel without halves.
  void expectFallback() {
    auto outputs = run(kHalves);
    auto report = driver::checkOutputs(**spec, inputs, outputs, "given");
    ASSERT_TRUE(report.ok()) << report.error().text();
    EXPECT_TRUE(report->ok()) << report->worst()->why();
    EXPECT_EQ(outputs.at("o").data, run(kFallback).at("o").data);
  }

  std::optional<LoadedSpec> spec;
  evaluator::EvalInputs inputs;
};

TEST_F(Halves, ofOrdinaryNumbersAreUsed) {
  auto outputs = run(kHalves);
  auto report = driver::checkOutputs(**spec, inputs, outputs, "given");
  ASSERT_TRUE(report.ok() && report->ok());
  EXPECT_NE(outputs.at("o").data, run(kFallback).at("o").data);
}

constexpr const char *kUnguarded =
    R"({"groups": 1, "stream_tile": 64, "accuracy": "halves"})";
constexpr const char *kOneProduct = R"({"groups": 1, "stream_tile": 64, "accuracy": "tf32"})";

TEST_F(Halves, withoutAGuardAreTheSameOfOrdinaryNumbers) {
  EXPECT_EQ(run(kUnguarded).at("o").data, run(kHalves).at("o").data);
}

TEST_F(Halves, withoutAGuardDoNotSeeWhatTheyLose) {
  scale("v", 1e15, 70);
  auto report = driver::checkOutputs(**spec, inputs, run(kUnguarded), "given");
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_FALSE(report->ok());
}

// 11 bits are kept, and no more.
TEST_F(Halves, ofWhichOneIsLeftOutAreAsExactAsTf32) {
  auto outputs = run(kOneProduct);
  double most = driver::CheckRequest().maxElements;
  auto asTf32 = driver::checkOutputs(**spec, inputs, outputs, "given", most, 0x1p-11);
  ASSERT_TRUE(asTf32.ok()) << asTf32.error().text();
  EXPECT_TRUE(asTf32->ok()) << asTf32->worst()->why();
  auto asF32 = driver::checkOutputs(**spec, inputs, outputs, "given");
  ASSERT_TRUE(asF32.ok()) << asF32.error().text();
  EXPECT_FALSE(asF32->ok());
  const evaluator::Comparison &compared = asTf32->worst()->compared;
  EXPECT_GT(compared.rmsError, 0x1p-16 * compared.rmsReference);
  EXPECT_LT(compared.rmsError, 0x1p-10 * compared.rmsReference);
}

// A causal mask leaves out all keys from 70 on.
TEST_F(Halves, doNotLoseValuesBesideLargeOnesThatNobodySees) {
  scale("v", 1e15, 70);
  expectFallback();
}

TEST_F(Halves, doNotLoseKeysBesideLargeOnesThatNobodySees) {
  scale("k", 1e10, 70);
  expectFallback();
}

// All rows are as large as others, but for what they are divided by.
TEST_F(Halves, doNotLoseColumnsOfWhichSomeElementsAreLarge) {
  scale("k", 1e10, 70, 9, 5);
  expectFallback();
}

TEST_F(Halves, leaveOutNothingThatIsNotFinite) {
  for (int64_t i = 0; i < 64; ++i)
    inputs.tensors.at("k").value[100 * 64 + i] = -INFINITY;
  expectFallback();
}

// The backward program computes scores again, not as halves, and takes what is saved of the
// maximum.
TEST_F(Halves, areNotUsedWhereGradientsMeetTheSameScores) {
  auto formOf = [&] {
    driver::CompileOptions options;
    options.target = "sm_90a";
    options.upTo = driver::Stage::Tile;
    auto compiled = driver::compile(**spec, options);
    EXPECT_TRUE(compiled) << compiled.error().text();
    return compiled->nests.front().form;
  };
  EXPECT_EQ(formOf(), "warpgroups");
  const_cast<Spec &>(**spec).grad = {"v"};
  EXPECT_EQ(formOf(), "portable");
}

TEST_F(Halves, ofColumnsOfDifferentSizeAreUsed) {
  for (int64_t column = 0; column < 64; ++column)
    scale("v", std::exp2(column - 32), 0, 1, column);
  auto outputs = run(kHalves);
  auto report = driver::checkOutputs(**spec, inputs, outputs, "given");
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok()) << report->worst()->why();
  EXPECT_NE(outputs.at("o").data, run(kFallback).at("o").data);
}

} // namespace
} // namespace attnc::e2e
