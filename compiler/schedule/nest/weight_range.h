#ifndef ATTNC_COMPILER_SCHEDULE_NEST_WEIGHT_RANGE_H
#define ATTNC_COMPILER_SCHEDULE_NEST_WEIGHT_RANGE_H

#include "mlir/IR/Value.h"
#include <optional>

namespace attnc::schedule {

/// The magnitudes that the elements of an array can have besides 0.
struct Magnitudes {
  double smallest, largest;
};

/// The magnitudes of an f32 array that takes its values from literals alone (1 and 0 of a mask,
/// say), or nothing. Decides whether a computed operand may be rounded to a type of small range,
/// which loses what is too large as well as what is too small.
std::optional<Magnitudes> literalMagnitudes(mlir::Value array);

} // namespace attnc::schedule

#endif
