#ifndef ATTNC_COMPILER_TRANSFORMS_SPLIT_H
#define ATTNC_COMPILER_TRANSFORMS_SPLIT_H

#include "dialects/Red/Red.h"

namespace attnc {

/// The discardable attribute of a program that asks for it: into how many parts streams are split,
/// an i64 of at least 2.
inline constexpr llvm::StringLiteral kSplitsAttr = "red.splits";

/// The discardable attribute of a program that says of how many elements the lengths of parts are
/// multiples, an i64; 128 without it, so that few tiles lie across the borders of parts.
inline constexpr llvm::StringLiteral kGranuleAttr = "red.split_granule";

/// The discardable attribute of a program that has been split: the dims of parts, an array of
/// strings.
inline constexpr llvm::StringLiteral kPartDimsAttr = "red.part_dims";

/// True of a dim of parts.
bool isPartDim(attn::ProgramOp program, mlir::StringAttr dim);

/// The discardable attribute of a program whose parts are not ranges: an i64 that picks which
/// elements each part has, from anywhere. The result is the same, as nothing in the merge depends
/// on what a part is; slower, as every part goes through the whole stream.
inline constexpr llvm::StringLiteral kScatterAttr = "red.split_scatter";

/// Divides each stream whose extent is known only at run time into parts that fold side by side.
/// The nest's states become one for each part; a second nest folds over the parts, by the same
/// operations, and finishes. How many parts there are is the extent of a new dim, the attribute
/// says; whoever runs the program may say another number, down to 1, with the same result. A
/// program without the attribute stays as it is.
void split(attn::ProgramOp program);

} // namespace attnc

#endif
