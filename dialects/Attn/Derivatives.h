// The derivatives of scalar ops, built from the ops themselves.
#ifndef ATTNC_DIALECTS_ATTN_DERIVATIVES_H
#define ATTNC_DIALECTS_ATTN_DERIVATIVES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace attnc::attn {

/// On a maximum or minimum, the number of the operand that has the whole gradient where both are
/// equal, 0 or 1. Without it each has half.
inline constexpr llvm::StringLiteral kTieAttr = "attn.tie";

/// On a choice of 0 where a gradient is 0, so that infinite derivatives do not make NaNs of it. It
/// is differentiated as the value that it does not take there, where that is a number.
inline constexpr llvm::StringLiteral kAbsorbsAttr = "attn.absorbs";

/// As ScalarProperties::buildDerivative returns it.
using Derivative = std::optional<mlir::Value>;

/// True if `value` reaches its uses only through reads and as a term of sums, as a bias does, or as
/// an output, an exponent of a softmax or an element of a maximum: masks may be in it, as -inf.
/// What is multiplied is not.
bool isOnlyAdded(mlir::Value value);

/// False if the value is proven to be a number where finite numbers are read: infinities and NaN
/// come from constants, logarithms, roots, `else` values of reads, inputs that are only added, as
/// biases with masks in them, maxima of nothing, means over a length of 0, and what is computed of
/// these. Overflow and other divisions by zero are no matter here. Looks through maps into what
/// they read.
bool mayBeInfinite(mlir::Value value);

/// `value`, of which `grad` is a factor, and 0 where `grad` is 0: partial derivatives there may be
/// infinite or NaN.
mlir::Value unlessZero(mlir::ImplicitLocOpBuilder &b, mlir::Value grad, mlir::Value value);

mlir::Value negated(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// grad * factor, and 0 where `grad` is 0 and the factor may be infinite.
mlir::Value times(mlir::ImplicitLocOpBuilder &b, mlir::Value grad, mlir::Value factor);

// Each for an op of its kind; a base of 0 is that of the natural logarithm.
Derivative derivativeOfQuotient(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                unsigned operand, mlir::Value grad);
Derivative derivativeOfChoice(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b, unsigned operand,
                              mlir::Value grad);
Derivative derivativeOfExtremum(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                unsigned operand, mlir::Value grad);
Derivative derivativeOfPower(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b, unsigned operand,
                             mlir::Value grad);
Derivative derivativeOfExponential(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value grad, double base);
Derivative derivativeOfLogarithm(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value grad, double base);
Derivative derivativeOfTanh(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b, mlir::Value grad);
Derivative derivativeOfErf(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b, mlir::Value grad);
Derivative derivativeOfRoot(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b, mlir::Value grad);
Derivative derivativeOfInverseRoot(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value grad);
Derivative derivativeOfConversion(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                  mlir::Value grad);
Derivative derivativeOfMagnitude(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value grad);

} // namespace attnc::attn

#endif
