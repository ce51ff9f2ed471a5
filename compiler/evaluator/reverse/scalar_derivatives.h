// The derivatives of scalar ops, as rules for one element.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_SCALAR_DERIVATIVES_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_SCALAR_DERIVATIVES_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

namespace attnc::evaluator {

/// The values of an op at one element. `y` means nothing where there is one operand.
struct Point {
  double x, y;
  bool taken; // of a choice: whether x is the result
  double result;
};

/// What the operands x and y of an op get of the adjoint of its result.
struct Share {
  double x = 0, y = 0;
};

/// The shares of an adjoint `g` that is not 0. An adjoint of exactly 0 is not handed on: it absorbs
/// an infinite or NaN partial derivative.
using ShareRule = Share (*)(double g, Point at);

/// How the adjoint of an op's result reaches its operands.
struct Derivative {
  ShareRule rule = nullptr; // null: nothing passes
  unsigned first = 0;       // the operand that is x; y is the next one
  unsigned count = 0;       // of operands that get a share, 1 or 2
};

/// The derivative of `op`, which has a float result. Where the partial derivatives jump, the rules
/// are PyTorch's: at a tie of a maximum or minimum both operands get half, or the one that the
/// attribute `attn.tie` names gets all; |x| has slope 0 at 0. Error: there is no rule.
llvm::Expected<Derivative> derivativeOf(mlir::Operation &op);

} // namespace attnc::evaluator

#endif
