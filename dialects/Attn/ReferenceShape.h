// The shape that a spec is tried at, which tells costs apart.
#ifndef ATTNC_DIALECTS_ATTN_REFERENCESHAPE_H
#define ATTNC_DIALECTS_ATTN_REFERENCESHAPE_H

#include "llvm/ADT/StringRef.h"

namespace attnc::attn {

/// The discardable attribute of a program with the spec's reference shape: a dictionary from dims
/// to extents. It decides between orders of computation, never what is computed.
inline constexpr llvm::StringLiteral kReferenceAttr = "attn.reference";

} // namespace attnc::attn

#endif
