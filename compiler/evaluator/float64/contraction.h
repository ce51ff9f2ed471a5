// Sums of products: contractions, which never form the product of their factors as an array.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_CONTRACTION_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_CONTRACTION_H

#include "compiler/evaluator/float64/reduction.h"

namespace attnc::evaluator {

/// The sum over `reduced` of the product of `factors` (floats, at least one), an array over `kept`.
///
/// If a factor that is computed and depends on a reduced dim meets a read of a 16-bit input, the
/// bound allows for rounding the computed factor to that type (docs/notes/error-analysis.md).
/// Where f32 is emulated there is no bound, and nothing is rounded to 16 bits but by
/// sumOfRoundedProducts.
llvm::Expected<Tensor> sumOfProducts(Workplace work, std::vector<Tensor> factors, const Space &kept,
                                     const Space &reduced, double unit);

/// The same in emulated f32 where tensor cores compute it: all factors but `narrow`, which is a
/// read of a 16-bit input, are one operand, which is rounded to the type of that input.
llvm::Expected<Tensor> sumOfRoundedProducts(Workplace work, std::vector<Tensor> factors,
                                            size_t narrow, const Space &kept, const Space &reduced,
                                            double unit);

/// True if sumOfProducts serves these factors better than a walk over all elements: none of them
/// spans the whole space, or the rounding of a 16-bit operand has to be counted.
bool isContraction(llvm::ArrayRef<Tensor> factors, const Space &kept, const Space &reduced);

} // namespace attnc::evaluator

#endif
