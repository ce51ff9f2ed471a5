// The rounding of an emulated f32 computation.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_EMULATED_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_EMULATED_H

#include "compiler/evaluator/float64/reduction.h"

namespace attnc::evaluator {

/// `x` rounded to nearest in the type of unit roundoff `unit`: f16, bf16, f32, or f64 (unchanged).
/// f32 also stands for what it computes approximately (kUnitApproximate).
double roundedTo(double unit, double x);

/// The first `count` elements of `values`, rounded.
void roundAll(std::vector<double> &values, int64_t count, double unit);

/// The rounding of an f32 computation, or none.
struct Rounding {
  bool single = false;
  Real operator()(Real x) const { return single ? Real{static_cast<float>(x.value), 0} : x; }
};

/// The instruction x -> x rounded to the 16-bit type of `unit`.
Instruction roundingRule(double unit);

/// The sum over `reduced` of a * b, one product after the other, each addition rounded to f32 (the
/// product is not: tensor cores and fused multiply-adds keep it whole). Where `unit` is that of
/// f64, in f64.
void emulatedContraction(Workplace work, const Tensor &a, const Tensor &b, const Space &kept,
                         const Space &reduced, double unit, Tensor &result);

} // namespace attnc::evaluator

#endif
