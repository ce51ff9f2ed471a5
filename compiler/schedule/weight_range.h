#ifndef ATTNC_COMPILER_SCHEDULE_WEIGHT_RANGE_H
#define ATTNC_COMPILER_SCHEDULE_WEIGHT_RANGE_H

#include "dialects/Attn/Attn.h"
#include <optional>

namespace attnc::schedule {

/// A bound on the magnitude of an f32 array's finite elements that holds for all inputs, or nothing.
/// Decides whether a computed operand may be rounded to a type of small range.
std::optional<double> magnitudeBound(mlir::Value array);

} // namespace attnc::schedule

#endif
