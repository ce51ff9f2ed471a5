// The red dialect: nests of folds over named dims. See docs/rationale/red.md.
#ifndef ATTNC_DIALECTS_RED_RED_H
#define ATTNC_DIALECTS_RED_RED_H

#include "dialects/Attn/Attn.h"
#include "llvm/ADT/SetVector.h"

#include "dialects/Red/RedDialect.h.inc"
#include "dialects/Red/RedEnums.h.inc"

namespace attnc::red {
class FoldOp;
} // namespace attnc::red

#define GET_OP_CLASSES
#include "dialects/Red/RedOps.h.inc"

namespace attnc::red {

/// The discardable attribute of an arith.select that a full tile need not evaluate: a BoolAttr with
/// the side that it takes there.
inline constexpr llvm::StringLiteral kFullAttr = "red.full";

} // namespace attnc::red

#endif
