// Arrays and scalar expressions as a person would write them in a spec.
#ifndef ATTNC_COMPILER_TRANSFORMS_DERIVATION_SPEC_TEXT_H
#define ATTNC_COMPILER_TRANSFORMS_DERIVATION_SPEC_TEXT_H

#include "compiler/transforms/algebra/terms.h"

namespace attnc {

/// The array's name, or the expression that computes it from arrays with names; what is long ends
/// in "...".
std::string specTextOf(mlir::Value array);

/// The same of the expression that computes it, whether it has a name or not.
std::string definitionOf(mlir::Value array);

std::string specTextOf(const ScalarExpr *e);
std::string definitionOf(const ScalarExpr *e);

/// "a * b * c"; "1" of none.
std::string specTextOfProduct(llvm::ArrayRef<const ScalarExpr *> factors);

/// "a - b + c"
std::string specTextOfSum(llvm::ArrayRef<const ScalarExpr *> summands);

/// "k[b, h // g, j, d]"
std::string subscriptedWords(attn::ReadOp read);

/// The operation as it is written in a spec: "tanh", "maximum", "*". The text lives as long as the
/// context.
llvm::StringRef operationWord(mlir::Operation *op);

} // namespace attnc

#endif
