// Which factors of a product may be infinite: a sum that leaves elements out must not multiply by
// them what is 0 there.
#ifndef ATTNC_COMPILER_TRANSFORMS_FINITE_FACTORS_H
#define ATTNC_COMPILER_TRANSFORMS_FINITE_FACTORS_H

#include "compiler/transforms/terms.h"

namespace attnc {

/// False if finite elements may give an infinity or a NaN: a weight of 0 does not hide these.
bool keepsFinite(const ScalarExpr *whole);

/// True if `factor`, which is applied after a sum, may be infinite or NaN where the sum takes
/// nothing. A maximum of nothing is; the inverse that a softmax multiplies by is not.
bool mayBeInfiniteOverNothing(const ScalarExpr *factor);

} // namespace attnc

#endif
