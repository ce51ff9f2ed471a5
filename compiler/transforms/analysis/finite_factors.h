// Which factors of a product may be infinite: a sum that leaves elements out must not multiply by
// them what is 0 there.
#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_FINITE_FACTORS_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_FINITE_FACTORS_H

#include "compiler/transforms/algebra/terms.h"

namespace attnc {

/// False if finite elements may give an infinity or a NaN: a weight of 0 does not hide these.
bool keepsFinite(const ScalarExpr *whole);

/// What an expression is where the elements of its inputs are finite.
enum class Reach {
  Finite,
  Downward, ///< finite or -inf: a logit
  Any       ///< +inf or NaN, too
};

/// The least that is proven of `e`: its maps are opened, and the folds of other passes looked into.
Reach reachOf(Terms &terms, const ScalarExpr *e);

/// True if `e` is proven to be 0 where `dim` has no index, with what is folded over it at its
/// identity: a sum over nothing times a maximum of nothing is not.
bool isZeroOverNothing(Terms &terms, const ScalarExpr *e, mlir::StringAttr dim);

/// `sum`, and 0 where one of `dims` has no index.
const ScalarExpr *unlessEmpty(mlir::OpBuilder &b, mlir::Location loc, Terms &terms,
                              attn::ProgramOp program, llvm::ArrayRef<mlir::StringAttr> dims,
                              const ScalarExpr *sum);

} // namespace attnc

#endif
