// Derived gradients against the evaluator's own reverse mode, which shares no rule with them.
#ifndef ATTNC_TESTS_PROGRAMS_GRADIENT_COMPARISON_H
#define ATTNC_TESTS_PROGRAMS_GRADIENT_COMPARISON_H

#include "compiler/evaluator/inputs/inputs.h"
#include <map>
#include <string>
#include <vector>

namespace attnc::programs {

/// A program as the frontend makes it, and with its gradients.
struct DerivedGradients {
  attn::ProgramOp original, derived;
  std::vector<std::string> sources; ///< the inputs and params whose gradients `derived` has
};

/// Where a gradient of the derived program may be NaN, with a number in the other's place.
enum class OpenGradients {
  OfInfiniteOutputs, ///< if an output is infinite or NaN
  /// Also if the program divides 0 by 0 where a row has no keys, and leaves that out of what it
  /// gives. A product with such a NaN is NaN where its other factor is the gradient 0, as in
  /// PyTorch (docs/gradients.md).
  OfNaNs,
  /// For programs that are drawn at random: elements are not compared that are NaN on either side,
  /// if an output is not finite or the program computes what is undefined, and those to which
  /// exponentials out of range or infinite sums lead.
  OfWhatIsOutOfRange,
};

/// How the gradients differ beyond rounding on inputs of this kind, or nothing. Gradients of
/// outputs are finite. Error: one of the two cannot be evaluated.
llvm::Expected<std::string> gradientDifference(const DerivedGradients &gradients,
                                               const std::map<std::string, int64_t> &extents,
                                               evaluator::InputKind kind, OpenGradients open);

} // namespace attnc::programs

#endif
