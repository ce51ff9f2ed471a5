// The reference of gradients: the reverse mode in float64.
//
// Its rules of derivatives are written from calculus, apart from every pass of the compiler, so
// that what a pass derives can be compared with them.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_REVERSE_MODE_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_REVERSE_MODE_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::evaluator {

/// The gradients of the sum over outputs of <cotangent, output> with respect to the inputs and
/// params `wanted`, in float64, by a tape over whole arrays. `program` is as the frontend makes it,
/// before any pass. `cotangents` are by name of the output, in its storage order; an output without
/// one counts for nothing. The result is by name: of an input in its storage order and shape, of a
/// param without dims; of kind Real. Its `error` bounds, to first order and but for the lengths of
/// sums, what the sweep's own rounding in float64 makes of shares that cancel.
///
/// Nothing passes through integers, conditions, indices, random numbers, floor and comparisons;
/// conversions between floats, rounding to 16 bits among them, have slope 1. An adjoint of exactly
/// 0 gives 0 whatever it is multiplied by. Where a derivative does not exist, the value is
/// PyTorch's: see scalar_derivatives.h and row_rules.h.
///
/// Errors: those of evaluate; a name in `wanted` or in `cotangents` that the program does not have
/// or that is not real; a cotangent of another shape; an op without a derivative; options of
/// emulated precision or of samples. All values are kept for the sweep back, within
/// `options.memoryLimit`, but for maps that one sum or map uses alone. It runs in one thread.
llvm::Expected<std::map<std::string, Array>>
reverseMode(attn::ProgramOp program, const EvalInputs &inputs,
            const std::map<std::string, Array> &cotangents, const std::vector<std::string> &wanted,
            const EvalOptions &options = {});

} // namespace attnc::evaluator

#endif
