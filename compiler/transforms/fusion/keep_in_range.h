#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_KEEP_IN_RANGE_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_KEEP_IN_RANGE_H

#include "compiler/transforms/fusion/partition.h"

namespace attnc {

/// True if a sum of `array` over these dims adds up exponentials that nothing bounds.
bool sumsWeights(attn::ProgramOp program, mlir::Value array, llvm::ArrayRef<mlir::StringAttr> dims);

/// Rewrites a sum of exponentials that nothing bounds as sums relative to the maxima of their
/// exponents, all of them whole folds, which become states of `own`; maxima that it has already are
/// used again. Another fold stays as it is.
void keepInRange(attn::ProgramOp program, red::FoldOp fold, Pass &own);

} // namespace attnc

#endif
