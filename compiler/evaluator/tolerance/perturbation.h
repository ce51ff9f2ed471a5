// An evaluation that commits rounding errors instead of bounding them.
#ifndef ATTNC_COMPILER_EVALUATOR_TOLERANCE_PERTURBATION_H
#define ATTNC_COMPILER_EVALUATOR_TOLERANCE_PERTURBATION_H

#include "compiler/evaluator/tensor.h"

namespace attnc::evaluator {

/// How errors are drawn: every element of every computed array is moved by its bound, which counts
/// only what its own operation rounds, up or down.
struct Perturbation {
  uint64_t seed = 0;
  /// One draw for each array: all its elements grow or all shrink, as under arithmetic that
  /// truncates or a constant that is rounded. Otherwise a draw for each element.
  bool coherent = false;
};

/// Moves the elements of a fresh array, number `number` of the evaluation, and makes them exact.
/// Elements of unknown bound stay.
void perturb(Tensor &array, Perturbation how, uint64_t number);

/// True if small changes of computed floats change the outputs of `program` a little: nothing is
/// compared, truncated or rounded to 16 bits that is not an exact number (an input, an index).
bool isContinuous(attn::ProgramOp program);

} // namespace attnc::evaluator

#endif
