// What is made of a sum after it: whether its size alone counts, or how exact its small values are.
#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_LINEAR_USES_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_LINEAR_USES_H

#include "dialects/Red/Red.h"

namespace attnc {

/// True if the program's outputs depend on `value` by sums, differences, choices between values and
/// multiples by what depends on no fold alone. An absolute error of `value` is then one of them,
/// too, multiplied as `value` is: nothing divides by it, takes its logarithm or asks if it is 0.
bool isUsedLinearly(mlir::Value value);

} // namespace attnc

#endif
