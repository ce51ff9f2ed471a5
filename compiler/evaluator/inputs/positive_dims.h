#ifndef ATTNC_COMPILER_EVALUATOR_INPUTS_POSITIVE_DIMS_H
#define ATTNC_COMPILER_EVALUATOR_INPUTS_POSITIVE_DIMS_H

#include "dialects/Attn/Attn.h"
#include "llvm/ADT/DenseSet.h"

namespace attnc {

/// The dims whose extent has to be at least 1; every other dynamic one may be 0. The proof that a
/// subscript stays inside takes sizes for positive. It need not hold where the read has no element;
/// so, where a read of computed subscripts relies on a proof, the axes and the sizes that the proof
/// may speak about have to be positive, except those of the read's own dims. So have the sizes that
/// something is divided by.
llvm::DenseSet<mlir::StringAttr> positiveDims(attn::ProgramOp program);

} // namespace attnc

#endif
