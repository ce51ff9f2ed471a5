// What reads and lengths remember of how they were written.
#ifndef ATTNC_DIALECTS_ATTN_SUBSCRIPTS_H
#define ATTNC_DIALECTS_ATTN_SUBSCRIPTS_H

#include "llvm/ADT/StringRef.h"

namespace attnc::attn {

/// On an attn.read, a string for each axis: the text of the subscript if it is checked when the
/// program runs, because it comes from data; empty for the others.
inline constexpr llvm::StringLiteral kCheckedAttr = "attn.checked";

/// On the attn.extent of lengths, the dim of the rows of all sequences if these are packed: index i
/// of a sequence is row i beyond its first one. The lengths are then a map that subtracts the first
/// rows from those of the next sequences.
inline constexpr llvm::StringLiteral kRowsAttr = "attn.rows";

/// On an attn.read of rows of packed sequences, the dim of the index within one: its value is that
/// of the sequence and the index that each row belongs to, 0 for a row of none.
inline constexpr llvm::StringLiteral kPackedAttr = "attn.packed";

} // namespace attnc::attn

#endif
