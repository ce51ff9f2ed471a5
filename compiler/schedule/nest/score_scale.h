// A positive factor that all scores share.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_SCORE_SCALE_H
#define ATTNC_COMPILER_SCHEDULE_NEST_SCORE_SCALE_H

#include "dialects/Red/Red.h"
#include "mlir/IR/Builders.h"

namespace attnc::schedule {

/// A param c > 0 (by its declared bounds) such that every element of `array`, which belongs to the
/// nest, is written as c * x, or is -inf, inf or 0 whatever c is. Null if there is none. A maximum
/// of such elements is c * max x, so c can be multiplied once for each exponent instead of once
/// before and once in it.
mlir::Value positiveFactor(red::NestOp nest, mlir::Value array);

/// The param of which the scalar of a map is the element, if its declared bounds say that it is
/// positive; else null.
mlir::Value positiveParam(attn::MapOp map, mlir::Value scalar);

/// x, where the scalar code of `element` is c * x as above and `factor` is the scalar c.
mlir::Value withoutFactor(mlir::OpBuilder &builder, mlir::Value element, mlir::Value factor);

} // namespace attnc::schedule

#endif
