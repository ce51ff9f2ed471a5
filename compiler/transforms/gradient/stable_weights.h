#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_STABLE_WEIGHTS_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_STABLE_WEIGHTS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Rewrites sums of exponentials that nothing bounds relative to the maxima of their exponents, and
/// what is made of these sums with them: x / sum(x) of x = exp(s) becomes exp(s - m) / sum(exp(s -
/// m)). Derivatives are then made of what stays in range, and the sum is saved in range. Returns
/// the maxima. Whatever they are, no value is another number in exact arithmetic, so that nothing
/// has a gradient through them.
llvm::SmallVector<mlir::Value> stabiliseWeights(attn::ProgramOp program);

} // namespace attnc

#endif
