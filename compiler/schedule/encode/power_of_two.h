#ifndef ATTNC_COMPILER_SCHEDULE_ENCODE_POWER_OF_TWO_H
#define ATTNC_COMPILER_SCHEDULE_ENCODE_POWER_OF_TWO_H

#include "mlir/IR/Builders.h"

namespace attnc::schedule {

/// The power of two in x (f32), over 2^lowered, and its reciprocal: both are numbers whatever x is.
std::pair<mlir::Value, mlir::Value> powerOfTwo(mlir::OpBuilder &b, mlir::Location loc,
                                               mlir::Value x, int64_t lowered);

} // namespace attnc::schedule

#endif
