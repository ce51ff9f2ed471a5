#include "tests/programs/gradient_comparison.h"
#include "compiler/driver/checks/exponent_range.h"
#include "compiler/driver/checks/float64_bounds.h"
#include "compiler/driver/checks/undefined_values.h"
#include "compiler/evaluator/reverse/reverse_mode.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/transforms/desugar.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "mlir/IR/OwningOpRef.h"
#include <cmath>

using namespace mlir;

namespace attnc::programs {
namespace {

using evaluator::Array;
using evaluator::EvalInputs;
using evaluator::Outputs;

// Any will do, as long as a failure can be had again.
constexpr uint64_t kSeed = 1;

evaluator::EvalOptions inOneThread() {
  evaluator::EvalOptions options;
  options.threads = 1;
  return options;
}

Outputs outputsOf(llvm::Expected<Outputs> outputs) {
  if (outputs)
    return std::move(*outputs);
  llvm::consumeError(outputs.takeError());
  return {};
}

/// `array` with what `other` has wherever it is NaN, or either is.
void excuseNaNs(Array &array, const Array &other, bool ofEither) {
  for (auto [x, y] : llvm::zip_equal(array.value, other.value))
    if (std::isnan(x) || (ofEither && std::isnan(y)))
      x = y;
}

/// `array` with what `other` has wherever `written` is NaN.
void excuseWrittenNaNs(Array &array, const Array &written, const Array &other) {
  for (int64_t i = 0; i < array.size(); ++i)
    if (std::isnan(written.value[i]))
      array.value[i] = other.value[i];
}

/// `array`, which was `written`, with what `other` has wherever `changed` is another number.
void excuseChanged(Array &array, const Array &written, const Array &changed, const Array &other) {
  for (int64_t i = 0; i < array.size(); ++i)
    if (written.value[i] != changed.value[i] &&
        !(std::isnan(written.value[i]) && std::isnan(changed.value[i])))
      array.value[i] = other.value[i];
}

class GradientComparison {
public:
  GradientComparison(const DerivedGradients &gradients, OpenGradients open)
      : gradients(gradients), open(open) {}

  llvm::Expected<std::string> run(const std::map<std::string, int64_t> &extents,
                                  evaluator::InputKind kind) {
    if (llvm::Error error = makeInputs(extents, kind))
      return error;
    if (llvm::Error error = evaluate())
      return error;
    std::string difference = differenceOf(derived);
    if (difference.empty())
      return difference;
    return differenceOf(withoutOpen());
  }

private:
  /// The gradients of outputs are finite, whatever the kind makes of infinite biases.
  llvm::Error makeInputs(const std::map<std::string, int64_t> &extents, evaluator::InputKind kind) {
    auto made = evaluator::makeInputs(gradients.derived, extents, kSeed, kind);
    if (!made)
      return made.takeError();
    auto finite = evaluator::makeInputs(gradients.derived, extents, kSeed);
    if (!finite)
      return finite.takeError();
    inputs = std::move(*made);
    for (auto output : gradients.original.getBodyBlock()->getOps<attn::OutputOp>()) {
      std::string name = gradientName(output.getName());
      if (auto found = finite->tensors.find(name); found != finite->tensors.end()) {
        inputs.tensors[name] = found->second;
        cotangents[output.getName().str()] = found->second;
      }
    }
    return llvm::Error::success();
  }

  llvm::Error evaluate() {
    auto mine = evaluator::evaluate(gradients.derived, inputs, inOneThread());
    if (!mine)
      return mine.takeError();
    auto wide = driver::evaluateInFloat64(gradients.derived, inputs, inOneThread());
    if (!wide)
      return wide.takeError();
    auto theirs = evaluator::reverseMode(gradients.original, inputs, cotangents, gradients.sources,
                                         inOneThread());
    if (!theirs)
      return theirs.takeError();
    derived = std::move(*mine);
    inFloat64 = std::move(*wide);
    reverse = std::move(*theirs);
    return llvm::Error::success();
  }

  std::string differenceOf(const Outputs &outputs) const {
    for (const std::string &source : gradients.sources) {
      const Array &mine = outputs.at(gradientName(source)), &theirs = reverse.at(source);
      Array bounds = theirs;
      if (auto found = inFloat64.find(gradientName(source)); found != inFloat64.end())
        for (int64_t i = 0; i < bounds.size(); ++i)
          bounds.error[i] = std::max(bounds.error[i], found->second.errorAt(i));
      evaluator::Comparison compared = evaluator::compareEvaluations(mine, theirs, &bounds);
      if (!compared.passed())
        return "the gradient of '" + source + "': " + evaluator::summary(mine, theirs, compared);
    }
    return "";
  }

  /// The derived gradients with those of the reverse mode where the difference is left open.
  Outputs withoutOpen() {
    Outputs outputs = derived;
    bool computesNaNs = !driver::hasDefinedOutputs(gradients.original, inputs) ||
                        (open == OpenGradients::OfWhatIsOutOfRange &&
                         driver::computesUndefined(gradients.original, inputs));
    bool ofNaNs = open == OpenGradients::OfNaNs || computesNaNs;
    if (ofNaNs)
      for (const std::string &source : gradients.sources)
        excuseNaNs(outputs.at(gradientName(source)), reverse.at(source),
                   open == OpenGradients::OfWhatIsOutOfRange);
    if (open == OpenGradients::OfWhatIsOutOfRange)
      excuseOutOfRange(outputs, computesNaNs);
    return outputs;
  }

  void excuseOutOfRange(Outputs &outputs, bool computesNaNs) {
    OwningOpRef<attn::ProgramOp> program(cast<attn::ProgramOp>(gradients.original->clone()));
    auto done = differentiate(*program, gradients.sources, {.asWritten = true});
    if (!done)
      return;
    desugar(*program);
    Outputs written = outputsOf(evaluator::evaluate(*program, inputs, inOneThread()));
    if (computesNaNs)
      for (const std::string &source : gradients.sources)
        if (auto found = written.find(gradientName(source)); found != written.end())
          excuseWrittenNaNs(outputs.at(found->first), found->second, reverse.at(source));
    for (const Outputs &changed :
         {outputsOf(driver::evaluateInRange(*program, inputs, inOneThread())),
          outputsOf(driver::evaluateWithoutOverflow(*program, inputs, inOneThread())),
          outputsOf(driver::evaluateWithoutInfiniteSums(*program, inputs, inOneThread())),
          outputsOf(driver::evaluateWithTurnedOverflow(*program, written, inputs, inOneThread())),
          computesNaNs
              ? outputsOf(driver::evaluateWithTurnedComparisons(*program, inputs, inOneThread()))
              : Outputs()})
      for (const std::string &source : gradients.sources)
        if (auto found = changed.find(gradientName(source)); found != changed.end())
          excuseChanged(outputs.at(found->first), written.at(found->first), found->second,
                        reverse.at(source));
  }

  DerivedGradients gradients;
  const OpenGradients open;
  EvalInputs inputs;
  std::map<std::string, Array> cotangents, reverse;
  Outputs derived, inFloat64;
};

} // namespace

llvm::Expected<std::string> gradientDifference(const DerivedGradients &gradients,
                                               const std::map<std::string, int64_t> &extents,
                                               evaluator::InputKind kind, OpenGradients open) {
  return GradientComparison(gradients, open).run(extents, kind);
}

} // namespace attnc::programs
