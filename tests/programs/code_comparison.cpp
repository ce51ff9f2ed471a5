#include "tests/programs/code_comparison.h"
#include "compiler/driver/checks/exponent_range.h"
#include "compiler/driver/checks/narrow_range.h"
#include "compiler/driver/checks/undefined_values.h"
#include "compiler/transforms/desugar.h"
#include <cmath>
#include <optional>

namespace attnc::programs {
namespace {

using Extents = std::map<std::string, int64_t>;

// Subnormal numbers may be flushed to 0; multiplied by what the inputs make of them they stay
// below.
constexpr double kFlushed = 1e-28;

// A factor below 1 may be applied after a sum: what the sum is without it is finite below this.
constexpr double kOverflowing = 1e28;

// True if the worst element is one that the language leaves open.
bool isLeftOpen(const driver::OutputCheck &check) {
  return !std::isfinite(check.expected) || std::abs(check.expected - check.actual) < kFlushed ||
         (!std::isfinite(check.actual) && std::abs(check.expected) > kOverflowing);
}

bool differ(double x, double y) { return x != y && !(std::isnan(x) && std::isnan(y)); }

evaluator::Outputs outputsOf(llvm::Expected<evaluator::Outputs> outputs) {
  if (outputs)
    return std::move(*outputs);
  llvm::consumeError(outputs.takeError());
  return {};
}

std::optional<evaluator::EvalInputs> inputsOf(const Spec &spec, const driver::OutputCheck &check,
                                              const Extents &extents) {
  auto inputs = evaluator::makeInputs(driver::programOf(spec), extents, check.seed,
                                      *evaluator::inputKindFromName(check.inputs));
  if (inputs)
    return std::move(*inputs);
  llvm::consumeError(inputs.takeError());
  return std::nullopt;
}

// True if the worst element is a gradient that the language leaves open: `original`, of which
// `spec` has the gradients, gives or computes NaN, and the element is NaN or hangs on comparing
// one.
bool hasUndefinedGradient(const Spec &spec, const Spec &original, const driver::OutputCheck &check,
                          const Extents &extents) {
  std::optional<evaluator::EvalInputs> inputs = inputsOf(spec, check, extents);
  attn::ProgramOp forward = driver::programOf(original);
  bool isOutput =
      llvm::any_of(forward.getBodyBlock()->getOps<attn::OutputOp>(),
                   [&](attn::OutputOp output) { return output.getName() == check.output; });
  if (isOutput || !inputs ||
      (driver::hasDefinedOutputs(forward, *inputs) && !driver::computesUndefined(forward, *inputs)))
    return false;
  if (std::isnan(check.actual))
    return true;
  evaluator::Outputs turned =
      outputsOf(driver::evaluateWithTurnedComparisons(driver::programOf(spec), *inputs, {}));
  auto found = turned.find(check.output);
  return found != turned.end() && check.compared.worst >= 0 &&
         differ(check.expected, found->second.value[check.compared.worst]);
}

// True if an exponential beyond float64, also by way of a comparison, or an infinite sum may have
// gone into the output as it is written, or what f32 cannot hold into its worst element: what it
// should be is not known.
bool overflows(const Spec &spec, const driver::OutputCheck &check, const Extents &extents) {
  std::optional<evaluator::EvalInputs> inputs = inputsOf(spec, check, extents);
  if (!inputs)
    return false;
  mlir::OwningOpRef<attn::ProgramOp> program(
      mlir::cast<attn::ProgramOp>(driver::programOf(spec)->clone()));
  desugar(*program);
  auto written = outputsOf(evaluator::evaluate(*program, *inputs, {}));
  for (const evaluator::Outputs &other :
       {outputsOf(driver::evaluateInRange(*program, *inputs, {})),
        outputsOf(driver::evaluateWithoutOverflow(*program, *inputs, {})),
        outputsOf(driver::evaluateWithoutInfiniteSums(*program, *inputs, {})),
        outputsOf(driver::evaluateWithTurnedOverflow(*program, written, *inputs, {}))})
    if (auto found = other.find(check.output); found != other.end())
      for (auto [x, y] : llvm::zip(written[check.output].value, found->second.value))
        if (differ(x, y))
          return true;
  // Of the worst element alone: f32 holds the others.
  const evaluator::Outputs narrow = outputsOf(driver::evaluateWithinF32(*program, *inputs, {}));
  auto found = narrow.find(check.output);
  return found != narrow.end() && check.compared.worst >= 0 &&
         differ(written[check.output].value[check.compared.worst],
                found->second.value[check.compared.worst]);
}

} // namespace

Result<std::string> codeDifference(const Spec &spec, const driver::Executor &executor,
                                   const Extents &extents, std::vector<evaluator::InputKind> kinds,
                                   const Spec *original) {
  driver::CheckRequest request;
  request.extents = extents;
  request.kinds = std::move(kinds);
  Result<driver::CheckReport> report = driver::checkProgram(spec, executor, request);
  if (!report)
    return report.error();
  for (const driver::OutputCheck &check : report->outputs)
    if (check.verdict() == driver::Verdict::Failed && !isLeftOpen(check) &&
        !overflows(spec, check, extents) &&
        !(original && hasUndefinedGradient(spec, *original, check, extents)))
      return check.output + " on " + check.inputs + " inputs: " + check.why();
  return std::string();
}

} // namespace attnc::programs
