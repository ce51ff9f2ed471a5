// Which elements of a random program are not compared, because they compare what float64 does not
// hold.
#include "compiler/driver/checks/exponent_range.h"
#include "compiler/transforms/desugar.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

/// The elements of `o`, computed from `x` (i, j), that change when what is out of range is compared
/// with the other outcome.
std::vector<bool> decidedOutOfRange(const std::string &body, std::vector<double> x, int64_t rows) {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i, j]"}, "body": )j" +
                       body + R"j(, "outputs": {"o": "f32"}})j");
  evaluator::EvalInputs inputs;
  evaluator::Array &array = inputs.tensors["x"];
  array.shape = {rows, int64_t(x.size()) / rows};
  array.value = std::move(x);
  mlir::OwningOpRef<attn::ProgramOp> plain(
      mlir::cast<attn::ProgramOp>(program.original()->clone()));
  desugar(*plain);
  auto written = evaluator::evaluate(*plain, inputs, {});
  EXPECT_TRUE(bool(written)) << llvm::toString(written.takeError());
  auto turned = driver::evaluateWithTurnedOverflow(*plain, *written, inputs, {});
  EXPECT_TRUE(bool(turned)) << llvm::toString(turned.takeError());
  std::vector<bool> differs;
  if (auto found = turned->find("o"); found != turned->end())
    for (auto [a, b] : llvm::zip(written->at("o").value, found->second.value))
      differs.push_back(a != b);
  return differs;
}

TEST(ExponentRange, ComparingAQuotientOfInfinitiesIsLeftOpen) {
  // inf / inf > 0.2 is false as written; the first row stays in range.
  EXPECT_EQ(decidedOutOfRange(R"j(["p = exp(x) / exp(max(j, x))",
                                   "o = where(any(j, p > 0.2), sum(j, x), -1)"])j",
                              {1, 2, 800, 1}, 2),
            (std::vector<bool>{false, true}));
}

TEST(ExponentRange, ComparingAQuotientOfVanishedWeightsIsLeftOpen) {
  EXPECT_EQ(
      decidedOutOfRange(R"j(["p = exp(x) / exp(max(j, x))", "o = sum(j, where(p > 2, 0, x))"])j",
                        {-1e4, -1e5, -1, -2}, 2),
      (std::vector<bool>{true, false}));
}

TEST(ExponentRange, ComparingASumAsWrittenIsNot) {
  // The overflow is compared as an infinity, and so it is in any other form.
  EXPECT_EQ(decidedOutOfRange(R"j(["z = sum(j, exp(-abs(x)))", "o = where(z > 0.1, z, -1)"])j",
                              {800, 900, 0, 1}, 2),
            (std::vector<bool>{false, false}));
}

TEST(ExponentRange, ANaNOfTheSpecIsNoneOfThese) {
  // 0 / 0 without an exponential.
  EXPECT_EQ(decidedOutOfRange(R"j(["s = sum(j, x)", "z = sum(j, exp(-abs(x)))",
                                   "o = where(s / s > 0.5, z, -1)"])j",
                              {0, 0, 1, 2}, 2),
            (std::vector<bool>{false, false}));
}

TEST(ExponentRange, NothingIsMarkedWithoutComparisonsOrExponentials) {
  EXPECT_TRUE(decidedOutOfRange(R"j(["o = sum(j, exp(x))"])j", {800, 1}, 1).empty());
  EXPECT_TRUE(decidedOutOfRange(R"j(["o = sum(j, where(x > 1, x, 0))"])j", {800, 1}, 1).empty());
}

} // namespace
} // namespace attnc
