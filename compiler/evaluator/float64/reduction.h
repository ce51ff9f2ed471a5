// Walks over whole arrays: element by element, reductions, and softmax.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_REDUCTION_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_REDUCTION_H

#include "compiler/evaluator/float64/scalar_program.h"

namespace attnc::evaluator {

/// What every kernel of the evaluator needs.
struct Workplace {
  Memory &memory;
  unsigned threads;
  Precision precision = Precision::Double;
  double productUnit = 0; ///< EvalOptions

  bool emulates() const { return precision == Precision::EmulatedF32; }
};

/// Named dims with their extents.
struct Space {
  Dims dims;
  Extents shape;
  int64_t size() const { return product(shape); }
};

/// The stride of `tensor` along each dim of `space`, 0 along those that it lacks.
Extents stridesOver(const Tensor &tensor, const Space &space);

/// The array of `program` over `space`.
llvm::Expected<Tensor> evaluateElements(Workplace work, ScalarProgram program, const Space &space);

/// `program` over kept x reduced, reduced over `reduced`. `kind` is one of add, mul, max, min, and,
/// or; `unit` the unit roundoff of the result's type.
llvm::Expected<Tensor> reduceElements(Workplace work, ScalarProgram program, attn::ReduceKind kind,
                                      const Space &kept, const Space &reduced, double unit);

/// Where the maximum (or minimum, if `isMin`) of `program` over `reduced` may be another element
/// than the one that is the largest here: booleans.
llvm::Expected<Tensor> contestedExtremum(Workplace work, ScalarProgram program, bool isMin,
                                         const Space &kept, const Space &reduced);

/// softmax of `array` over `reduced`; the result's dims are those of `result`.
llvm::Expected<Tensor> softmax(Workplace work, const Tensor &array, const Space &result,
                               const Space &kept, const Space &reduced, double unit);

/// log(sum(exp(array))) over `reduced`, -inf for an empty row.
llvm::Expected<Tensor> logSumExp(Workplace work, const Tensor &array, const Space &kept,
                                 const Space &reduced, double unit);

} // namespace attnc::evaluator

#endif
