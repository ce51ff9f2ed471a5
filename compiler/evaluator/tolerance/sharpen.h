// Bounds that are too wide to tell a wrong result, replaced by statistical ones.
#ifndef ATTNC_COMPILER_EVALUATOR_TOLERANCE_SHARPEN_H
#define ATTNC_COMPILER_EVALUATOR_TOLERANCE_SHARPEN_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::evaluator {

/// Lowers the bounds of those `outputs` whose bounds are wide beside their values, as they are
/// after many products in a row: to the spread that errors of the same size cause in perturbed
/// evaluations (docs/notes/error-analysis.md). Programs that are not continuous keep theirs.
/// Errors: as evaluate.
llvm::Error sharpenBounds(attn::ProgramOp program, const EvalInputs &inputs,
                          const EvalOptions &options, const std::map<std::string, int64_t> &extents,
                          Outputs &outputs);

} // namespace attnc::evaluator

#endif
