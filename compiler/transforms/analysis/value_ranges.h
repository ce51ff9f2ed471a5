// What is known of the sign and the size of scalar expressions.
#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_VALUE_RANGES_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_VALUE_RANGES_H

#include "compiler/transforms/algebra/terms.h"
#include "dialects/Attn/ScalarProperties.h"

namespace attnc {

/// The sign of every value that `e` takes, NaN aside: from constants, the ranges of params,
/// exponentials, squares, absolute values, roots, sums and products of these, and choices, on each
/// side of which a comparison with a constant may say something of what is compared.
attn::Sign signOf(const ScalarExpr *e);
attn::Sign signOf(mlir::Value array);

/// True if `e` is at most a constant, so that its exponential cannot overflow.
bool isBoundedAbove(const ScalarExpr *e);

} // namespace attnc

#endif
