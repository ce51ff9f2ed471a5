// A positive factor that all scores share.
#ifndef ATTNC_COMPILER_SCHEDULE_SCORE_SCALE_H
#define ATTNC_COMPILER_SCHEDULE_SCORE_SCALE_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// A param c > 0 (by its declared bounds) such that every element of `array`, which belongs to the
/// nest, is c * x with an x that does not depend on c, or is -inf, inf or 0 whatever c is. Null if
/// there is none. A maximum of such elements is c * max x, so c can be multiplied once for each
/// exponent instead of once before and once in it. With c = 1 the array's own maps compute x.
mlir::Value positiveFactor(red::NestOp nest, mlir::Value array);

} // namespace attnc::schedule

#endif
