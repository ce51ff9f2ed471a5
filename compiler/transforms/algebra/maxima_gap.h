// Where a maximum of sums and the maxima of their summands meet.
#ifndef ATTNC_COMPILER_TRANSFORMS_ALGEBRA_MAXIMA_GAP_H
#define ATTNC_COMPILER_TRANSFORMS_ALGEBRA_MAXIMA_GAP_H

#include "compiler/transforms/algebra/terms.h"

namespace attnc {

/// If `maximum` is that of a sum f(x, y), also under a mask, and the summands of f(max x, max y)
/// are taken away in `parts`, they are removed from there; returned is max f(x, y) - f(max x, max
/// y). Else null. The sum of the maxima is added up as the exponent is: where one element has all
/// of them the difference is 0 without any rounding, however large they are.
const ScalarExpr *takeMaxima(Terms &terms, red::FoldOp maximum,
                             llvm::SmallVectorImpl<const ScalarExpr *> &parts);

/// n if `e` is a small whole multiple n * x of its first argument, which n summands x are as well;
/// 1 if it is none.
unsigned wholeMultiple(const ScalarExpr *e);

/// Appends what `e` adds up, negations and whole multiples opened as well; false if that is too
/// much.
bool signedParts(Terms &terms, const ScalarExpr *e, bool negative,
                 llvm::SmallVectorImpl<const ScalarExpr *> &out);

/// The sum of `parts`: such differences first, then what is added, then what is taken away. So it
/// is -inf over a row without keys, where what is added is.
const ScalarExpr *sumOfExponents(Terms &terms, llvm::ArrayRef<const ScalarExpr *> parts);

} // namespace attnc

#endif
