// Where a value comes from in the spec: file, line, column, the statement's text, the value's name.
#ifndef ATTNC_DIALECTS_ATTN_SPECLOCATION_H
#define ATTNC_DIALECTS_ATTN_SPECLOCATION_H

#include "mlir/IR/Location.h"

namespace attnc::attn {

/// A location at `file:line:column` that carries the text of the statement. `name` is the value's
/// name in the spec, or empty for a subexpression.
mlir::Location specLocation(mlir::MLIRContext *context, llvm::StringRef file, unsigned line,
                            unsigned column, llvm::StringRef statement, llvm::StringRef name = "");

/// The same place under another name (for values that a pass derives, such as a running maximum).
mlir::Location renamed(mlir::Location loc, llvm::StringRef name);

/// The name in the spec of what is at `loc`, or "".
llvm::StringRef specName(mlir::Location loc);

/// The text of the statement that `loc` comes from, or "".
llvm::StringRef specStatement(mlir::Location loc);

/// `loc` as `file:line:column`, or "" if it has no place.
std::string specPlace(mlir::Location loc);

} // namespace attnc::attn

#endif
