// What scalar operations cost.
#ifndef ATTNC_COMPILER_SCHEDULE_MODEL_SCALAR_COST_H
#define ATTNC_COMPILER_SCHEDULE_MODEL_SCALAR_COST_H

#include "mlir/IR/Operation.h"

namespace attnc::schedule {

/// On the special function units, and in slots of the others.
struct ScalarCost {
  double special = 0, plain = 0;

  ScalarCost &operator+=(const ScalarCost &other) {
    special += other.special;
    plain += other.plain;
    return *this;
  }
};

/// Of an operation. Functions that the device headers or ptxas make of several operations count
/// with these.
ScalarCost scalarCost(mlir::Operation *op);

/// Of an element that code reads from a tensor: address, load, conversion.
inline constexpr ScalarCost kReadCost = {.special = 0, .plain = 3};

} // namespace attnc::schedule

#endif
