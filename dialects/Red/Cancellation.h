// Sums whose terms may cancel in the sum that they are factors of.
#ifndef ATTNC_DIALECTS_RED_CANCELLATION_H
#define ATTNC_DIALECTS_RED_CANCELLATION_H

#include "dialects/Red/Red.h"

namespace attnc::red {

/// On a fold of a sum of products in another order than the spec's: names of dims over which what
/// it makes is summed in turn, of products of either sign. A factor along one of them is not
/// rounded to 16 bits: that would be relative to products which may cancel, and in the spec's order
/// it is rounded, if at all, after they have (docs/notes/error-analysis.md).
inline constexpr llvm::StringLiteral kMayCancelAttr = "red.cancels";

/// `to` takes the place of `from`, or of a part of it.
inline FoldOp withCancellationOf(FoldOp from, FoldOp to) {
  if (mlir::Attribute dims = from->getDiscardableAttr(kMayCancelAttr))
    to->setDiscardableAttr(kMayCancelAttr, dims);
  return to;
}

/// True if products along the dims of `array` may cancel after `fold`.
inline bool mayCancelAlong(FoldOp fold, mlir::Value array) {
  auto dims = fold->getAttrOfType<mlir::ArrayAttr>(kMayCancelAttr);
  auto type = mlir::cast<attn::ArrayType>(array.getType());
  return dims && llvm::any_of(dims.getAsRange<mlir::StringAttr>(),
                              [&](mlir::StringAttr dim) { return type.hasDim(dim); });
}

} // namespace attnc::red

#endif
