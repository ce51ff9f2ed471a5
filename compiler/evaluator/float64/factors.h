// The factors of the product that a map computes.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_FACTORS_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_FACTORS_H

#include "compiler/evaluator/float64/scalar_program.h"

namespace attnc::evaluator {

/// One factor: a stored array, or else a scalar of a map's region (or its reciprocal).
struct Factor {
  mlir::Value array;
  attn::MapOp map;
  mlir::Value scalar;
  bool reciprocal = false;
};

/// The factors of what `map` yields: multiplications and divisions are taken apart, through the
/// maps that `arrays` expands in place.
std::vector<Factor> productFactors(attn::MapOp map, const ArraySource &arrays);

} // namespace attnc::evaluator

#endif
