// Differences from a centre that is the maximum of the weights' own exponent and a rest.
#ifndef ATTNC_COMPILER_TRANSFORMS_ALGEBRA_WEIGHT_LOGARITHM_H
#define ATTNC_COMPILER_TRANSFORMS_ALGEBRA_WEIGHT_LOGARITHM_H

#include "compiler/transforms/algebra/terms.h"

namespace attnc {

/// x - g = (base - max a) + factor + shift, of a term with weights exp(a): what an entropy sums.
struct WeightLogarithm {
  const ScalarExpr *base;   ///< a, and 0 where a condition leaves it out
  const ScalarExpr *factor; ///< logarithms of the term's other factors; null if there are none
  const ScalarExpr *shift;  ///< of the epilogue; null if it is 0
};

/// The one difference of `term`, with weights relative to `reference`, in that form; nothing if it
/// has none. No part of it is larger than the logarithm of a weight, a factor or a sum: the size of
/// a itself has gone.
std::optional<WeightLogarithm> logarithmOfWeight(Terms &terms, const Term &term,
                                                 red::FoldOp reference);

} // namespace attnc

#endif
