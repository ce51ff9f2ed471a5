// The gradient of a read: what the elements that read an element receive, it receives.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_READ_GRADIENT_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_READ_GRADIENT_H

#include "compiler/evaluator/float64/reduction.h"

namespace attnc::evaluator {

/// What selects along one axis of the array that is read.
struct AxisSelector {
  int64_t extent; // of the axis
  /// The dim of the result that subscripts the axis; null if `index` does.
  mlir::StringAttr dim;
  Tensor index;
};

/// Adds to `sums`, the dense elements of the array that is read, the adjoints `g` (dense, over
/// `result`) of the elements that read them. What reads outside, and so the value for that, gives
/// nothing. Elements are taken in the order of the result: the sums are the same in every run.
void addReadGradient(llvm::ArrayRef<AxisSelector> axes, const Space &result,
                     llvm::ArrayRef<double> g, llvm::MutableArrayRef<double> sums);

} // namespace attnc::evaluator

#endif
