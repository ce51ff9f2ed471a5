#include "compiler/evaluator/tolerance/sharpen.h"
#include "compiler/evaluator/float64/evaluation.h"
#include "compiler/evaluator/inputs/binding.h"

#include <cmath>

namespace attnc::evaluator {

namespace {

/// Evaluations of each kind, with errors drawn apart and coherent.
constexpr uint64_t kSamples = 4;
/// Half the number of standard deviations that the tolerance holds (kSlack is the other factor).
constexpr double kDeviations = 4;
/// A bound is wide where it exceeds this part of the values and this many roundings to the
/// narrowest type that is read.
constexpr double kWide = 0x1p-6;
constexpr double kWideRoundings = 64;
/// Errors that change one element by more than this part of the values have left the range in which
/// their effects add up: weights that jump between keys, say. A few samples tell nothing there.
constexpr double kSmallChange = 0x1p-6;

double square(double x) { return x * x; }

/// Unit roundoff of the narrowest floats among the inputs.
double coarsestUnit(attn::ProgramOp program) {
  double unit = 0;
  for (attn::InputOp input : program.getBodyBlock()->getOps<attn::InputOp>())
    unit = std::max(unit, storageRounding(input.getType().getElementType()).unit);
  return unit;
}

bool isWide(const Array &output, double limit) {
  double bounds = 0, values = 0;
  for (int64_t i = 0; i < output.size(); ++i)
    if (std::isfinite(output.at(i))) {
      bounds += square(output.errorAt(i));
      values += square(output.at(i));
    }
  return bounds > values * square(limit);
}

/// Sums of squares of deviations from `output`; not finite where an evaluation failed.
class Spread {
public:
  explicit Spread(int64_t size) : squares(size, 0) {}

  void take(const Array &output, const Array &perturbed) {
    for (size_t i = 0; i < squares.size(); ++i)
      squares[i] += square(perturbed.value[i] - output.value[i]) / kSamples;
  }

  /// An element of little deviation may owe it to chance: the deviation of all elements together,
  /// in the proportions of their bounds, is the least that is taken.
  void sharpen(Array &output) const {
    double deviations = 0, bounds = 0, values = 0, largest = 0;
    int64_t count = 0;
    for (size_t i = 0; i < squares.size(); ++i)
      if (std::isfinite(squares[i]) && std::isfinite(output.error[i])) {
        deviations += squares[i];
        bounds += square(output.error[i]);
        values += square(output.at(i));
        largest = std::max(largest, squares[i]);
        ++count;
      }
    if (largest * count > values * square(kSmallChange))
      return;
    double scale = bounds > 0 ? std::sqrt(deviations / bounds) : 0;
    for (size_t i = 0; i < squares.size(); ++i) {
      if (!std::isfinite(output.error[i]))
        continue; // undecided it stays
      double spread = std::max(std::sqrt(squares[i]), scale * output.error[i]);
      if (std::isfinite(spread))
        output.error[i] = std::min(output.error[i], kDeviations * spread);
    }
  }

private:
  std::vector<double> squares;
};

} // namespace

llvm::Error sharpenBounds(attn::ProgramOp program, const EvalInputs &inputs,
                          const EvalOptions &options, const std::map<std::string, int64_t> &extents,
                          Outputs &outputs) {
  double limit = std::max(kWide, kWideRoundings * coarsestUnit(program));
  std::map<std::string, Spread> wide;
  for (const auto &[name, output] : outputs)
    if (output.kind == ElementKind::Real && !output.error.empty() && isWide(output, limit))
      wide.try_emplace(name, output.size());
  if (wide.empty() || !isContinuous(program))
    return llvm::Error::success();
  EvalOptions again = options;
  again.checkDomains = false;
  for (uint64_t seed = 0; seed < kSamples; ++seed)
    for (bool coherent : {false, true}) {
      llvm::Expected<Outputs> perturbed =
          Evaluation(program, inputs, again, extents, Perturbation{seed, coherent}).run();
      if (!perturbed)
        return perturbed.takeError();
      for (auto &[name, spread] : wide)
        spread.take(outputs.at(name), perturbed->at(name));
    }
  for (auto &[name, spread] : wide)
    spread.sharpen(outputs.at(name));
  return llvm::Error::success();
}

} // namespace attnc::evaluator
