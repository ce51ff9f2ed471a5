// Scalar operations as C++ expressions.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_SCALAR_TEXT_H
#define ATTNC_COMPILER_CODEGEN_CUDA_SCALAR_TEXT_H

#include "mlir/IR/Operation.h"
#include <string>

namespace attnc::cuda {

/// How tightly the outermost operator of an expression binds; smaller is tighter.
enum class Binding { Primary, Unary, Multiply, Add, Compare, Equal, And, Or, Conditional };

/// A C++ expression.
struct Text {
  std::string text;
  Binding binding = Binding::Primary;

  /// The expression as an operand of an operator, in parentheses if it binds more loosely.
  std::string within(Binding outer) const { return binding <= outer ? text : "(" + text + ")"; }
};

/// The C++ name of a scalar or storage type.
std::string typeText(mlir::Type type);

/// A literal that reads back as exactly the same value.
Text literal(mlir::TypedAttr value);

/// The expression of an op of arith, math, or of attn's scalars, over its operands' expressions.
/// Fails, with an error at the op, on one that has no counterpart.
llvm::FailureOr<Text> scalarText(mlir::Operation *op, llvm::ArrayRef<Text> operands);

} // namespace attnc::cuda

#endif
