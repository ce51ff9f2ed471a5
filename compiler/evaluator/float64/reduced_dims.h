// Which dims have been reduced on the way to an array.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_REDUCED_DIMS_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_REDUCED_DIMS_H

#include "dialects/Attn/Attn.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace attnc::evaluator {

using DimSet = llvm::SmallDenseSet<mlir::StringAttr, 4>;

/// Finds the dims of all reductions, softmaxes and folds that an array depends on. Remembers what
/// it has found: a program must not change meanwhile. Not thread-safe.
class ReducedDims {
public:
  const DimSet &of(mlir::Value array);

private:
  llvm::DenseMap<mlir::Value, std::unique_ptr<DimSet>> known;
};

} // namespace attnc::evaluator

#endif
