// Values c * exp(m): their quotients, products and logarithms without ever leaving the range.
#ifndef ATTNC_COMPILER_TRANSFORMS_ALGEBRA_SCALED_TERMS_H
#define ATTNC_COMPILER_TRANSFORMS_ALGEBRA_SCALED_TERMS_H

#include "compiler/transforms/algebra/terms.h"

namespace attnc {

/// `e`, an expression of the epilogue, with the exponents of its exponentials combined before exp:
///
///   c exp(m) / (d exp(n)) = c / d * exp(m - n),   log(c exp(m)) = m + log(c),
///   c exp(m) + d exp(n) = (c exp(m - M) + d exp(n - M)) exp(M),  M = max(m, n),
///   (c exp(m))^n = c^n exp(n m), and 0^n where m is -inf,
///   abs(c exp(m)) = abs(c) exp(m), and so for every op that distributes over positive factors,
///   max(c exp(m), d exp(n)) = max(c exp(m - k), d exp(n - k)) exp(k), k the larger one's exponent.
///
/// What is in range already stays as it is: the same expression comes back where nothing cancels
/// and no exponent grows without another that shifts it.
const ScalarExpr *combineExponents(Terms &terms, const ScalarExpr *e);

/// The same, also where everything is in range: the logarithm of each c exp(m) is m + log(c).
const ScalarExpr *openLogarithms(Terms &terms, const ScalarExpr *e);

} // namespace attnc

#endif
