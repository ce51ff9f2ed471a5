// Tables with wild values: what is outside reads the `else` value on every target, and nothing else
// is touched.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

using evaluator::EvalInputs;

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t greatest = std::numeric_limits<int64_t>::max();

/// One GPU for all tests of the process.
const Result<std::shared_ptr<const CudaDevice>> &gpu() {
  static const Result<std::shared_ptr<const CudaDevice>> opened = openGpu();
  return opened;
}

#define SKIP_WITHOUT_ITS_GPU()                                                                     \
  if (GetParam() == "gpu" && !gpu().ok())                                                          \
  GTEST_SKIP() << gpu().error().text()

/// For "cpu", for the GPU of this machine ("gpu"), or for a GPU in the interpreter.
Result<std::unique_ptr<driver::Executor>> executorFor(const Spec &spec, const std::string &target) {
  if (target == "gpu")
    return makeExecutor(spec, *gpu());
  driver::CompileOptions options;
  options.target = target;
  if (target != "cpu")
    options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(spec, options);
  if (!compilation)
    return compilation.error();
  return target == "cpu" ? driver::makeExecutor(*compilation, nullptr)
                         : driver::makeInterpreterExecutor(*compilation);
}

class WildTable : public testing::TestWithParam<std::string> {};

/// Every third value of the integer inputs becomes a wild one that its type holds.
EvalInputs wildInputs(const Spec &spec, const Extents &extents) {
  auto inputs = evaluator::makeInputs(driver::programOf(spec), extents, 3);
  EXPECT_TRUE(bool(inputs));
  for (auto input : driver::programOf(spec).getBodyBlock()->getOps<attn::InputOp>()) {
    mlir::Type type = input.getType().getElementType();
    if (!llvm::isa<mlir::IntegerType>(type) || type.isInteger(1))
      continue;
    unsigned bits = type.getIntOrFloatBitWidth();
    int64_t low = type.isUnsignedInteger() ? 0 : llvm::minIntN(bits);
    int64_t high = type.isUnsignedInteger() ? llvm::maxUIntN(bits) : llvm::maxIntN(bits);
    // Among them those that a product with 3, 4 or themselves would carry back into an axis.
    const int64_t wild[] = {low,
                            high,
                            -1,
                            low + 1,
                            high - 1,
                            int64_t(1) << (bits - 2),
                            int64_t(1) << (bits / 2),
                            low / 2,
                            0x5555555555555555};
    std::vector<int64_t> &values = inputs->tensors.at(input.getName().str()).integer;
    for (size_t i = 0; i < values.size(); i += 3)
      values[i] = std::clamp(wild[i / 3 % std::size(wild)], low, high);
  }
  return std::move(*inputs);
}

TEST_P(WildTable, readsNothingOutside) {
  SKIP_WITHOUT_ITS_GPU();
  for (const char *name : {"paged", "relative_bias", "gathered_rows", "gathered_odd_rows",
                           "gathered_result", "mask_by_types", "picked_queries", "neighbours"}) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    auto executor = executorFor(*spec, GetParam());
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    EvalInputs inputs = wildInputs(*spec, spec.extents({33, 50}));
    auto result = (*executor)->run(driver::runRequest((*executor)->manifest(), inputs));
    ASSERT_TRUE(result.ok()) << result.error().text();
    auto report = driver::checkOutputs(*spec, inputs, result->outputs, "wild");
    ASSERT_TRUE(report.ok()) << report.error().text();
    EXPECT_TRUE(report->ok()) << name << ": " << report->worst()->why();
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WildTable, testing::Values("cpu", "sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Gpu, WildTable, testing::Values("gpu"),
                         [](const auto &info) { return info.param; });

/// `o = expression` for x[n] = 1, 2, ..., 20 and 64-bit integers idx[i].
std::vector<double> compute(const std::string &expression, const std::vector<int64_t> &idx,
                            const std::string &target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  auto spec = parseSpec(context, "t.json",
                        R"({"attnc": 1, "inputs": {"x": "f32[n]", "idx": "i64[i]"},
                            "body": ["o = )" +
                            expression + R"("], "outputs": {"o": "f32"}})",
                        {}, diagnostics);
  EXPECT_TRUE(spec);
  EvalInputs inputs;
  evaluator::Array &x = inputs.tensors["x"], &table = inputs.tensors["idx"];
  x.dims = {"n"};
  x.shape = {20};
  for (int64_t i = 0; i < 20; ++i)
    x.value.push_back(i + 1);
  table.dims = {"i"};
  table.shape = {static_cast<int64_t>(idx.size())};
  table.kind = evaluator::ElementKind::Whole;
  table.integer = idx;
  if (target == "reference") {
    auto outputs = evaluator::evaluate(driver::programOf(*spec), inputs);
    EXPECT_TRUE(bool(outputs));
    return (*outputs)["o"].value;
  }
  auto executor = executorFor(*spec, target);
  EXPECT_TRUE(executor.ok());
  auto result = (*executor)->run(driver::runRequest((*executor)->manifest(), inputs));
  EXPECT_TRUE(result.ok());
  return driver::toArray(result->outputs.at("o"), {"i"}).value;
}

std::vector<double> gather(const std::string &subscript, const std::vector<int64_t> &idx,
                           const std::string &target) {
  return compute("x[" + subscript + "]", idx, target);
}

class SubscriptArithmetic : public testing::TestWithParam<std::string> {};

TEST_P(SubscriptArithmetic, doesNotWrapIntoRange) {
  SKIP_WITHOUT_ITS_GPU();
  const std::string &target = GetParam();
  using Values = std::vector<double>;
  // What wraps to 0 or close to it is outside all the same.
  EXPECT_EQ(gather("idx * 16", {0, 1, int64_t(1) << 60, least, -1}, target),
            (Values{1, 17, 0, 0, 0}));
  EXPECT_EQ(gather("16 * idx + 3", {0, 1, int64_t(1) << 60, (int64_t(1) << 60) + 1}, target),
            (Values{4, 20, 0, 0}));
  EXPECT_EQ(gather("idx + idx + 2", {-1, 4, greatest, least}, target), (Values{1, 11, 0, 0}));
  EXPECT_EQ(gather("idx * idx", {4, -3, int64_t(1) << 32, least, least + 1}, target),
            (Values{17, 10, 0, 0, 0}));
  EXPECT_EQ(
      gather("(idx - 9223372036854775807) - 9223372036854775807", {greatest, least, 2}, target),
      (Values{0, 0, 0}));
  EXPECT_EQ(gather("-idx", {-3, least, 0}, target), (Values{4, 0, 1}));
  EXPECT_EQ(gather("abs(idx) % 7", {-9, least, 20}, target), (Values{3, 0, 7}));
  EXPECT_EQ(gather("minimum(maximum(idx, 0) * 4, 19)", {1, 100, greatest}, target),
            (Values{5, 20, 0}));
  // Values next to the ends stay what they are.
  EXPECT_EQ(gather("idx - 9223372036854775800", {greatest, greatest - 6, greatest - 12}, target),
            (Values{8, 2, 0}));
  // A step that no value takes does not count.
  EXPECT_EQ(gather("where(idx < 5, idx, idx * 4 - 16)", {3, 6, greatest}, target),
            (Values{4, 9, 0}));
  EXPECT_EQ(gather("where(idx * 4 < 40, 1, 2)", {3, 11, greatest}, target), (Values{2, 3, 0}));
  // Division brings wild values back by right.
  EXPECT_EQ(gather("idx // 4611686018427387904 + 2", {greatest, least, 0}, target),
            (Values{4, 1, 3}));
}

INSTANTIATE_TEST_SUITE_P(Targets, SubscriptArithmetic,
                         testing::Values("reference", "cpu", "sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Gpu, SubscriptArithmetic, testing::Values("gpu"),
                         [](const auto &info) { return info.param; });

// An `else` covers a plain index of another dim too.
TEST(GatherElse, CoversAnIndexOfALongerDim) {
  for (const char *target : {"cpu", "sm_80"}) {
    std::vector<int64_t> idx(25);
    std::vector<double> read = compute("(x[i] else -1) + 0 * idx", idx, target);
    ASSERT_EQ(read.size(), 25u);
    EXPECT_EQ(read[19], 20);
    EXPECT_EQ(read[20], -1);
    EXPECT_EQ(read[24], -1);
  }
}

} // namespace
} // namespace attnc::e2e
