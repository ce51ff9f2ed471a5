#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_ROLES_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_ROLES_H

#include "dialects/Red/Red.h"

namespace attnc {

/// The role of each dim of a nest.
struct Roles {
  llvm::SmallVector<mlir::StringAttr> grid, row, stream, inner;
};

/// Chooses roles for a nest over `stream` whose body consists of `ops`, with these states and
/// results. What is computed for pairs of a row and a stream index (contractions along the stream,
/// exponents, weights of a sum) has grid dims and the row dim; the row dim is the last one that the
/// streamed operand does not have; all else is inner. Where nothing is computed for pairs, the row
/// dim is one of a factor alone, and the dim that the other factor alone has is inner; of sums
/// without products it is some dim of theirs. The grid is everything else that the results have.
Roles chooseRoles(attn::ProgramOp program, llvm::ArrayRef<mlir::StringAttr> stream,
                  llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<red::FoldOp> states,
                  llvm::ArrayRef<mlir::Value> results);

} // namespace attnc

#endif
