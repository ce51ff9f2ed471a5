#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_REDUCTION_ADJOINTS_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_REDUCTION_ADJOINTS_H

#include "compiler/transforms/arrays/array_builder.h"

namespace attnc {

/// The gradient of what is reduced, given that of the result. Extrema share it evenly among the
/// elements that are the result; a product passes to each element the product of the others, also
/// where some are 0; a row that is all -inf passes nothing through its logsumexp. With `forMore`
/// that of a product is written without quotients, over all pairs of elements.
mlir::Value adjointOfReduction(ArrayBuilder &arrays, attn::ReduceOp reduce, mlir::Value gradient,
                               bool forMore = false);

/// p * (gradient - sum(p * gradient)), 0 where p is.
mlir::Value adjointOfSoftmax(ArrayBuilder &arrays, attn::SoftmaxOp softmax, mlir::Value gradient);

} // namespace attnc

#endif
