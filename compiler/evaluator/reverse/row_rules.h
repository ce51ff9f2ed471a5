// Reductions that look at a whole row of elements at once, and their gradients.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_ROW_RULES_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_ROW_RULES_H

#include "compiler/evaluator/reverse/adjoints.h"

namespace attnc::evaluator {

/// The reduction of a row of reals: mul, max, min or logsumexp.
double reduceRow(attn::ReduceKind kind, llvm::ArrayRef<double> row);

/// The reduction of a row of integers or booleans: add, mul, max, min, and, or.
int64_t reduceRow(attn::ReduceKind kind, llvm::ArrayRef<int64_t> row);

/// The softmax of `row`; all zeros if the row is empty or all -inf.
void softmaxOfRow(llvm::ArrayRef<double> row, llvm::MutableArrayRef<double> weights);

/// What the elements of `row` get of the adjoint `g` of its reduction, which is `result`.
/// mul: g times the product of the others, exact where some are 0. max and min: g shared evenly
/// among the elements that equal the result, none if it is NaN. logsumexp: g times the softmax.
void gradientOfReducedRow(attn::ReduceKind kind, llvm::ArrayRef<double> row, double result,
                          double g, llvm::MutableArrayRef<double> gradient);

/// What a row gets of the adjoints `g` of its softmax: w * (g - sum(w * g)). A weight of 0 gives
/// and takes nothing, whatever its adjoint is. Of magnitudes: w * (g + sum(w * g)).
void gradientOfSoftmaxRow(llvm::ArrayRef<double> weights, llvm::ArrayRef<double> g,
                          llvm::MutableArrayRef<double> gradient, Sweep sweep);

} // namespace attnc::evaluator

#endif
