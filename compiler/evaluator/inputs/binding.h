// The caller's inputs and extents against what the program declares.
#ifndef ATTNC_COMPILER_EVALUATOR_INPUTS_BINDING_H
#define ATTNC_COMPILER_EVALUATOR_INPUTS_BINDING_H

#include "compiler/evaluator/tensor.h"

namespace attnc::evaluator {

/// A view of the caller's array for `input`; it must outlive the view. The array fits the extents
/// (bindExtents has checked it).
llvm::Expected<Tensor> bindInput(attn::InputOp input, const EvalInputs &inputs);

/// The value that the caller passes for `param`, or nothing. Fails if it is outside its range.
llvm::Expected<std::optional<double>> bindParam(attn::ParamOp param, const EvalInputs &inputs);

/// Checks `value` against the range of `param`.
llvm::Error checkRange(attn::ParamOp param, double value);

/// Unit roundoff, smallest normal or subnormal that a store may lose, and largest number of a type.
struct StorageRounding {
  double unit, floor, max;
};
StorageRounding storageRounding(mlir::Type type);

} // namespace attnc::evaluator

#endif
