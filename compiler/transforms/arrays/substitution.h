#ifndef ATTNC_COMPILER_TRANSFORMS_ARRAYS_SUBSTITUTION_H
#define ATTNC_COMPILER_TRANSFORMS_ARRAYS_SUBSTITUTION_H

#include "compiler/transforms/arrays/array_builder.h"
#include <optional>

namespace attnc {

/// Integers in the place of indices, by dim.
using Substitution = llvm::DenseMap<mlir::StringAttr, mlir::Value>;

/// `value` with each index along a dim of `at` replaced, as a function of the dims that the
/// replacements have. Maps are built anew, down to inputs and reductions, which are read; where a
/// replacement is outside of its dim, unless all of them `areInside`, these are 0.
mlir::Value substitute(ArrayBuilder &arrays, mlir::Value value, const Substitution &at,
                       bool areInside = false);

/// The constant c of a value that is c * index + (what does not vary along `dim`).
std::optional<int64_t> slopeAlong(mlir::Value value, mlir::StringAttr dim);

/// True if there is a dim along which the value goes from one integer to the next.
bool hasUnitSlope(mlir::Value value);

} // namespace attnc

#endif
