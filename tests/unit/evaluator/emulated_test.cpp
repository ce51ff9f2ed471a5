// The emulated f32 evaluation: as exact as f32, no more, and within the bounds of float64.
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "kernels_spec/library.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace attnc::evaluator {
namespace {

/// A spec as written and, if asked, after the passes.
class Compiled {
public:
  explicit Compiled(const std::string &text, const Overrides &overrides = {}) {
    driver::loadDialects(context);
    Diagnostics diagnostics;
    spec = parseSpec(context, "test.json", text, overrides, diagnostics, libraryBases());
    if (!spec)
      return;
    written = *spec->module->getOps<attn::ProgramOp>().begin();
    module = cast<ModuleOp>(spec->module->clone());
    program = *module->getOps<attn::ProgramOp>().begin();
    for (const driver::Step &step : driver::targetIndependentSteps())
      EXPECT_TRUE(step.run(program));
  }

  explicit operator bool() const { return spec.has_value(); }

  std::map<std::string, int64_t> extents(int64_t limit) const {
    std::map<std::string, int64_t> small;
    for (const auto &[dim, extent] : spec->reference.at("shape").items())
      small[dim] = std::min(extent.get<int64_t>(), limit);
    return small;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::optional<Spec> spec;
  OwningOpRef<ModuleOp> module;
  attn::ProgramOp written, program; // as written, and as nests
};

Outputs run(attn::ProgramOp program, const EvalInputs &inputs, Precision precision) {
  EvalOptions options;
  options.precision = precision;
  llvm::Expected<Outputs> outputs = evaluate(program, inputs, options);
  if (outputs)
    return std::move(*outputs);
  ADD_FAILURE() << llvm::toString(outputs.takeError());
  return {};
}

/// The elements of all outputs that are beyond their tolerance.
int64_t failures(const Outputs &expected, const Outputs &actual) {
  int64_t count = 0;
  for (const auto &[name, output] : expected)
    count += compare(output, actual.at(name)).failures;
  return count;
}

/// Rounds what every map over several dims yields to bf16: 2^16 times coarser than f32.
void plantRounding(attn::ProgramOp program) {
  program.walk([](attn::MapOp map) {
    Value yielded = map.getYielded();
    if (!yielded.getType().isF32() || map.getType().getDims().size() < 2)
      return;
    Operation *end = map.getBodyBlock()->getTerminator();
    OpBuilder b(end);
    Value narrow = arith::TruncFOp::create(b, map.getLoc(), b.getBF16Type(), yielded);
    end->setOperand(0, arith::ExtFOp::create(b, map.getLoc(), b.getF32Type(), narrow));
  });
}

class EmulatedSpec : public testing::TestWithParam<std::string> {
protected:
  std::string text = std::string(findInLibrary(GetParam())->text);
};

TEST_P(EmulatedSpec, StaysWithinTheBoundsAsWrittenAndAsNests) {
  Compiled compiled(text);
  ASSERT_TRUE(compiled);
  for (InputKind kind : {InputKind::Random, InputKind::Planted}) {
    auto inputs = makeInputs(compiled.written, compiled.extents(40), 3, kind);
    ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
    Outputs exact = run(compiled.written, *inputs, Precision::Double);
    for (attn::ProgramOp program : {compiled.written, compiled.program}) {
      Outputs emulated = run(program, *inputs, Precision::EmulatedF32);
      EXPECT_EQ(failures(exact, emulated), 0) << inputKindName(kind).str();
    }
  }
}

TEST_P(EmulatedSpec, LeavesTheBoundsUnderALargerRounding) {
  Compiled compiled(text, Overrides{{{"T", "f32"}}});
  ASSERT_TRUE(compiled);
  auto inputs = makeInputs(compiled.written, compiled.extents(40), 3);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  Outputs exact = run(compiled.written, *inputs, Precision::Double);
  EXPECT_EQ(failures(exact, run(compiled.program, *inputs, Precision::EmulatedF32)), 0);
  plantRounding(compiled.program);
  EXPECT_GT(failures(exact, run(compiled.program, *inputs, Precision::EmulatedF32)), 0);
}

INSTANTIATE_TEST_SUITE_P(Library, EmulatedSpec, testing::ValuesIn(libraryNames()),
                         [](const auto &info) { return info.param; });

const char *kSpec = R"j({"attnc": 1, "name": "t", "types": {"T": "bf16"},
  "dims": {"d": 16, "e": 16},
  "inputs": {"q": "T[b,h,i,d]", "k": "T[b,h,j,d]", "v": "T[b,h,j,e]"},
  "body": ["p = softmax(j, sum(d, q[b,h,i,d] * k[b,h,j,d]))",
           "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"],
  "outputs": {"o": "f32"},
  "reference": {"shape": {"b": 1, "h": 2, "i": 40, "j": 70}}})j";

double error(const Compiled &compiled, const EvalInputs &inputs) {
  Outputs exact = run(compiled.written, inputs, Precision::Double);
  Outputs emulated = run(compiled.program, inputs, Precision::EmulatedF32);
  Comparison comparison = compare(exact.at("o"), emulated.at("o"));
  EXPECT_TRUE(comparison.passed()) << summary(exact.at("o"), emulated.at("o"), comparison);
  return comparison.rmsError / comparison.rmsReference;
}

// Weights that feed tensor cores are rounded to bf16, those of the generic form are f32.
TEST(Emulated, RoundsOperandsWhereTheScheduleDoes) {
  Compiled compiled(kSpec);
  ASSERT_TRUE(compiled);
  auto inputs = makeInputs(compiled.written, compiled.extents(100), 3);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  double plain = error(compiled, *inputs);
  EXPECT_GT(plain, 0x1p-27) << "the evaluation is not f32";
  EXPECT_LT(plain, 0x1p-18) << "the evaluation is coarser than f32";
  Status chosen = schedule::chooseSchedules(compiled.program, "sm_80", {}, nullptr);
  ASSERT_TRUE(chosen) << chosen.error().text();
  double scheduled = error(compiled, *inputs);
  EXPECT_GT(scheduled, 0x1p-12) << "the weights are not rounded to bf16";
  EXPECT_LT(scheduled, 0x1p-8);
}

TEST(Emulated, RoundsOutputsToTheirStorageTypes) {
  std::string text = kSpec;
  text.replace(text.find(R"("o": "f32")"), 10, R"("o": "f16")");
  Compiled compiled(text);
  ASSERT_TRUE(compiled);
  auto inputs = makeInputs(compiled.written, compiled.extents(20), 3);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  Outputs emulated = run(compiled.written, *inputs, Precision::EmulatedF32);
  EXPECT_TRUE(emulated.at("o").error.empty());
  for (double x : emulated.at("o").value)
    // 10 bits behind the leading one.
    EXPECT_EQ(std::ldexp(x, 10 - std::ilogb(x)), std::nearbyint(std::ldexp(x, 10 - std::ilogb(x))));
}

} // namespace
} // namespace attnc::evaluator
