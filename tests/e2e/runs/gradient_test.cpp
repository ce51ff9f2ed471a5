// Forward and backward programs of the library: on the processor, in the interpreter of GPU
// kernels, and on the GPU, against the derived gradients in float64, whose truth gradient_test.cpp
// of tests/unit/transforms holds.
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/gradient.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

/// A spec with the gradients of all inputs of real numbers.
struct WithGradients {
  explicit WithGradients(const std::string &name) : spec(name) {
    if (!spec)
      return;
    const_cast<Spec &>(*spec).grad = driver::gradientInputs(*spec, {"all"});
    Result<driver::GradientSpecs> derived = driver::differentiateSpec(*spec);
    EXPECT_TRUE(derived.ok()) << derived.error().text();
    if (derived)
      whole = std::move(derived->whole);
  }

  void expectCorrect(const Result<std::unique_ptr<driver::Executor>> &executor,
                     const Extents &extents) {
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    // Where weights are equal or denominators small, f32 may lose a gradient: not all is decided.
    expectNothingWrong(*whole, **executor, extents);
  }

  LoadedSpec spec;
  std::optional<Spec> whole;
};

class Gradients : public testing::TestWithParam<std::string> {};

TEST_P(Gradients, areCorrectOnTheProcessor) {
  WithGradients gradients(GetParam());
  ASSERT_TRUE(gradients.whole);
  gradients.expectCorrect(makeExecutor(*gradients.spec), gradients.spec.extents({17, 65}));
}

INSTANTIATE_TEST_SUITE_P(Library, Gradients, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });

/// The gradients of what gradients give, of all inputs of real numbers and of `grad_o`.
class SecondGradients : public testing::TestWithParam<std::string> {};

TEST_P(SecondGradients, areCorrectOnTheProcessor) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  const_cast<Spec &>(*spec).grad = driver::gradientInputs(*spec, {"all"});
  Result<Spec> first = driver::differentiableGradients(*spec);
  ASSERT_TRUE(first.ok()) << first.error().text();
  first->grad = driver::gradientInputs(*first, {"all"});
  Result<driver::GradientSpecs> second = driver::differentiateSpec(*first);
  ASSERT_TRUE(second.ok()) << second.error().text();
  Result<std::unique_ptr<driver::Executor>> executor = makeExecutor(*first);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  expectNothingWrong(second->whole, **executor, spec.extents({9, 13}));
}

// A mask, lengths, a bias, a cap, an output that is a logsumexp, a gather, groups of heads, sums
// that no softmax is in, a sink.
INSTANTIATE_TEST_SUITE_P(Some, SecondGradients,
                         testing::Values("causal", "varlen", "bias", "softcap", "lse", "paged",
                                         "gqa", "linear", "sink"),
                         [](const auto &info) { return info.param; });

class InterpretedGradients : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(InterpretedGradients, areCorrect) {
  auto [target, name] = GetParam();
  WithGradients gradients(name);
  ASSERT_TRUE(gradients.whole);
  driver::CompileOptions options;
  options.target = target;
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*gradients.spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  gradients.expectCorrect(driver::makeInterpreterExecutor(*compilation, {.seeds = {0, 6}}),
                          gradients.spec.extents({65, 33}));
}

// Masks, groups of heads, a bias, several states, and sums that no softmax is in.
INSTANTIATE_TEST_SUITE_P(
    Some, InterpretedGradients,
    testing::Combine(testing::Values("sm_80", "sm_90a"),
                     testing::Values("full", "causal", "gqa", "alibi", "sink", "lse", "column_sums",
                                     "linear", "largest_above_cap", "largest_scores",
                                     "scores_of_all_heads")),
    [](const auto &info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

struct Staged {
  std::string name, spec, kernel, keys;
};

void PrintTo(const Staged &staged, std::ostream *os) { *os << staged.name; }

/// Weights that are made one after the other, with the schedule's other choices.
class StagedGradients : public testing::TestWithParam<Staged> {};

TEST_P(StagedGradients, areCorrectInAnyOrder) {
  WithGradients gradients(GetParam().spec);
  ASSERT_TRUE(gradients.whole);
  auto keys = nlohmann::json::parse(GetParam().keys);
  keys["form"] = "warpgroups";
  keys["staged_weights"] = true;
  driver::CompileOptions options;
  options.schedule = {{GetParam().kernel, keys}};
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*gradients.spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  for (Lengths lengths : {Lengths{1, 70}, Lengths{150, 90}})
    gradients.expectCorrect(driver::makeInterpreterExecutor(*compilation, {.seeds = {0, 6}}),
                            gradients.spec.extents(lengths));
}

INSTANTIATE_TEST_SUITE_P(
    Some, StagedGradients,
    testing::Values(Staged{"one_group", "full", "full_grad_grad_k_grad_v",
                           R"({"groups": 1, "stream_tile": 16, "persistent": false})"},
                    Staged{"in_turn", "full", "full_grad_grad_k_grad_v",
                           R"({"groups": 2, "stream_tile": 48, "stages": 3, "persistent": true})"},
                    Staged{
                        "rows_ahead", "full", "full_grad_grad_k_grad_v",
                        R"({"groups": 1, "stream_tile": 32, "persistent": true, "row_stages": 2})"},
                    Staged{"mask", "causal", "causal_grad_grad_k_grad_v",
                           R"({"groups": 2, "stream_tile": 32, "persistent": true})"},
                    Staged{"drawn", "causal", "causal_grad_grad_k_grad_v",
                           R"({"groups": 3, "stream_tile": 16, "dynamic_scheduler": true})"},
                    Staged{"window", "sliding_window", "sliding_window_grad_grad_k_grad_v",
                           R"({"groups": 2, "stream_tile": 16})"},
                    // The second weight reads the first scores, too.
                    Staged{"scores_read_again", "softcap", "softcap_grad_grad_k_grad_v",
                           R"({"groups": 2, "stream_tile": 32})"}),
    [](const auto &info) { return info.param.name; });

class GpuGradients : public testing::TestWithParam<std::string> {};

TEST_P(GpuGradients, areCorrectAndTheSameEachTime) {
  Result<std::shared_ptr<const CudaDevice>> gpu = openGpu();
  if (!gpu.ok())
    GTEST_SKIP() << gpu.error().text();
  WithGradients gradients(GetParam());
  ASSERT_TRUE(gradients.whole);
  auto executor = makeExecutor(*gradients.spec, *gpu);
  for (Lengths lengths : {Lengths{17, 65}, Lengths{300, 200}})
    gradients.expectCorrect(executor, gradients.spec.extents(lengths));
  if (executor.ok())
    expectSameBits(*gradients.whole, **executor, gradients.spec.extents({300, 200}));
}

INSTANTIATE_TEST_SUITE_P(Library, GpuGradients, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });
// Extrema that are compared with their elements, in kernels of both forms.
INSTANTIATE_TEST_SUITE_P(Compared, GpuGradients,
                         testing::Values("largest_above_cap", "largest_scores"),
                         [](const auto &info) { return info.param; });

/// Tables in which few indices stand many times, most of them not at all, and some lie outside.
evaluator::EvalInputs crowdedTables(const Spec &spec, const Extents &extents) {
  auto inputs = evaluator::makeInputs(driver::programOf(spec), extents, /*seed=*/5);
  EXPECT_TRUE(bool(inputs));
  const int64_t keys[] = {1, 3, -1, 1, 0, 100000, 3, 1, -2147483648, 2147483647, 3};
  for (auto input : driver::programOf(spec).getBodyBlock()->getOps<attn::InputOp>())
    if (input.getType().getElementType().isInteger(32) ||
        input.getType().getElementType().isInteger(64)) {
      std::vector<int64_t> &values = inputs->tensors.at(input.getName().str()).integer;
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = keys[i % std::size(keys)];
    }
  return std::move(*inputs);
}

class GradientsThroughTables : public testing::TestWithParam<std::tuple<std::string, std::string>> {
};

TEST_P(GradientsThroughTables, areCorrectAndTheSameEachTime) {
  auto [target, name] = GetParam();
  WithGradients gradients(name);
  ASSERT_TRUE(gradients.whole);
  driver::CompileOptions options;
  options.target = target;
  if (target != "cpu")
    options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(*gradients.spec, options);
  ASSERT_TRUE(compilation.ok()) << compilation.error().text();
  auto executor = target == "cpu" ? driver::makeExecutor(*compilation, nullptr)
                                  : driver::makeInterpreterExecutor(*compilation);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  auto inputs = crowdedTables(*gradients.whole, gradients.spec.extents({9, 17}));
  driver::RunRequest request = driver::runRequest((*executor)->manifest(), inputs);
  auto first = (*executor)->run(request), again = (*executor)->run(request);
  ASSERT_TRUE(first.ok()) << first.error().text();
  ASSERT_TRUE(again.ok()) << again.error().text();
  for (const auto &[output, tensor] : first->outputs)
    EXPECT_EQ(tensor.data, again->outputs.at(output).data) << output;
  auto report = driver::checkOutputs(*gradients.whole, inputs, first->outputs, "crowded tables");
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->ok()) << report->worst()->why();
}

INSTANTIATE_TEST_SUITE_P(
    Targets, GradientsThroughTables,
    testing::Combine(testing::Values("cpu", "sm_80", "sm_90a"),
                     testing::Values("paged", "gathered_rows", "gathered_odd_rows",
                                     "gathered_weights", "gathered_result", "neighbours")),
    [](const auto &info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

TEST(SavesLess, givesTheSameGradients) {
  WithGradients gradients("causal");
  ASSERT_TRUE(gradients.whole);
  const_cast<Spec &>(*gradients.spec).savesLess = true;
  Result<driver::GradientSpecs> derived = driver::differentiateSpec(*gradients.spec);
  ASSERT_TRUE(derived.ok());
  EXPECT_TRUE(derived->saved.empty());
  gradients.expectCorrect(makeExecutor(*gradients.spec), gradients.spec.extents({65, 33}));
}

// And asks for less where it is differentiated again.
TEST(SavesLess, ofTheGradientsToo) {
  LoadedSpec spec("causal");
  ASSERT_TRUE(spec);
  const_cast<Spec &>(*spec).grad = {"q"};
  const_cast<Spec &>(*spec).savesLess = true;
  Result<Spec> first = driver::differentiableGradients(*spec);
  ASSERT_TRUE(first.ok());
  first->grad = {"k"};
  Result<driver::GradientSpecs> second = driver::differentiateSpec(*first);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->saved.empty());
}

std::vector<std::string> namesOfSaved(const std::string &spec) {
  WithGradients gradients(spec);
  Result<driver::GradientSpecs> derived = driver::differentiateSpec(*gradients.spec);
  EXPECT_TRUE(derived.ok());
  std::vector<std::string> names;
  for (const SavedValue &value : derived->saved)
    names.push_back(value.name);
  return names;
}

// Of softmax, two vectors and the output before it is divided; nothing that has two sequence dims,
// also where tensors have as many dynamic dims.
TEST(Saved, isLinearInTheSequence) {
  std::vector<std::string> ofSoftmax = {"saved_p_max", "saved_p_inv", "saved_o"};
  EXPECT_EQ(namesOfSaved("causal"), ofSoftmax);
  EXPECT_EQ(namesOfSaved("scores_of_all_heads"), ofSoftmax);
}

// A maximum that decides by way of another value is computed where it is compared.
TEST(Saved, isNoMaximumThatIsCompared) {
  EXPECT_EQ(namesOfSaved("largest_above_cap"), std::vector<std::string>{});
}

} // namespace
} // namespace attnc::e2e
