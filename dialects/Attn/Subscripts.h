// What a read remembers of its subscripts as they were written.
#ifndef ATTNC_DIALECTS_ATTN_SUBSCRIPTS_H
#define ATTNC_DIALECTS_ATTN_SUBSCRIPTS_H

#include "llvm/ADT/StringRef.h"

namespace attnc::attn {

/// On an attn.read, a string for each axis: the text of the subscript if it is checked when the
/// program runs, because it comes from data; empty for the others.
inline constexpr llvm::StringLiteral kCheckedAttr = "attn.checked";

} // namespace attnc::attn

#endif
