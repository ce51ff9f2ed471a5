#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_GROWTH_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_GROWTH_H

#include "compiler/transforms/algebra/terms.h"

namespace attnc {

/// Appends what `e` adds up. False if that is too much: of sums that are shared, x = y + y of
/// y = z + z, there are exponentially many parts.
bool sumParts(const ScalarExpr *e, bool negative, Terms &terms,
              llvm::SmallVectorImpl<const ScalarExpr *> &out);

/// `e` with another array in place of `from`.
const ScalarExpr *substitute(Terms &terms, const ScalarExpr *e, mlir::Value from, mlir::Value to);

/// True if the sum of the parts is a positive multiple of x.
bool growsWith(llvm::ArrayRef<const ScalarExpr *> parts, mlir::Value x);

} // namespace attnc

#endif
