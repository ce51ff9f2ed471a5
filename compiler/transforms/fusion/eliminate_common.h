#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_ELIMINATE_COMMON_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_ELIMINATE_COMMON_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Equal ops inside of `root` become one. As MLIR's elimination of common subexpressions, whose
/// time grows with the square of the number of maps of the same arrays: it tells ops with regions
/// apart only by comparing them.
void eliminateCommon(mlir::Operation *root);

} // namespace attnc

#endif
