// What the elements of a sum are products of, by whether it varies along the sum.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_SUM_FACTORS_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_SUM_FACTORS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// sum(x f / g) = sum(x) f / g, where f and g do not vary along the sum.
struct SumFactors {
  struct Outer {
    mlir::Value array;
    bool divides = false;
  };
  llvm::SmallVector<mlir::Value> inside; ///< between them they have all dims of the sum
  llvm::SmallVector<Outer> outside;      ///< in the order in which they are applied
  bool isNegated = false;
  bool absorbs = false; ///< a factor of 0 hides what is not finite (kAbsorbsAttr)
};

/// The factors of the elements of a sum over `dims`, the product of `elements`; new arrays are
/// built at `b`. Looks through products, negations, quotients by what leaves the sum, and choices
/// of 0 that absorb. A quotient by a sum of exponentials stays: weights are in range only with it.
SumFactors sumFactors(mlir::OpBuilder &b, mlir::ValueRange elements, mlir::ArrayAttr dims);

/// The sum, a red.fold, with the factors outside applied to it: an array of `type`. It is 0 where
/// one of `dims` has no index.
mlir::Value buildSum(mlir::OpBuilder &b, mlir::Location loc, attn::ArrayType type,
                     mlir::ArrayAttr dims, const SumFactors &factors);

/// Takes what does not vary along the sums of a program in fold form out of them.
void takeOutFactors(attn::ProgramOp program);

} // namespace attnc

#endif
