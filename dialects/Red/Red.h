// The red dialect: nests of folds over named dims. See docs/rationale/red.md.
#ifndef ATTNC_DIALECTS_RED_RED_H
#define ATTNC_DIALECTS_RED_RED_H

#include "dialects/Attn/Attn.h"
#include "dialects/Red/Schedule.h"
#include "mlir/IR/IRMapping.h"
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
/// On an attn.output: a value that the program with the gradients takes.
inline constexpr llvm::StringLiteral kSavedAttr = "red.saved";

/// Emits a scalar op with operands taken from the mapping, and maps its result.
using EmitScalar =
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Operation &, mlir::IRMapping &)>;

/// What a region of a fold's update makes of `arguments`, at the builder's insertion point: its ops
/// are cloned, with the location `loc`, or written by `emit`.
mlir::Value inlineUpdate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &region,
                         mlir::ValueRange arguments, EmitScalar emit = nullptr);

/// The frame of `element` relative to `reference`, of one of the nest's folds that has it. All of
/// them say the same of its distances.
FoldOp::Frame frameOf(NestOp nest, mlir::Value element, mlir::Value reference);

} // namespace attnc::red

#endif
