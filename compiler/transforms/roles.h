#ifndef ATTNC_COMPILER_TRANSFORMS_ROLES_H
#define ATTNC_COMPILER_TRANSFORMS_ROLES_H

#include "dialects/Red/Red.h"

namespace attnc {

/// The role of each dim of a nest.
struct Roles {
  llvm::SmallVector<mlir::StringAttr> grid, row, stream, inner;
};

/// Chooses roles for a nest over `stream` whose body consists of `ops`, with these states and
/// results. Scores (exponents, and what max and min fold) have the grid and row dims; the row dim
/// is one that the streamed operand of a contraction does not have; all else is inner. A nest
/// without exponents makes a grid of everything that its results have.
Roles chooseRoles(attn::ProgramOp program, llvm::ArrayRef<mlir::StringAttr> stream,
                  llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<red::FoldOp> states,
                  llvm::ArrayRef<mlir::Value> results);

} // namespace attnc

#endif
