#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_FOLD_FORM_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_FOLD_FORM_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Rewrites every attn.reduce of a desugared program into a red.fold at the level of the program.
/// A sum of a product becomes a fold with one factor for each operand; factors that do not depend
/// on the reduced dims are taken out of the sum.
void toFoldForm(attn::ProgramOp program);

/// What replaces one such attn.reduce: a fold, or that times factors.
mlir::Value asFold(attn::ReduceOp reduce);

/// The way back: replaces a fold without an exponent by an attn.reduce of the product of its
/// factors.
attn::ReduceOp replaceByReduce(red::FoldOp fold);

/// The product of scalars, from left to right.
mlir::Value multiply(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange factors);

/// The factors whose product is `array`, looking through maps that multiply; a factor that is no
/// array of the program yet becomes a map at the builder's insertion point. A scaled reduction is
/// one factor, a value in its own right, unless `ofReductions`: taken apart, its factors would
/// leave the range that the product was made for.
llvm::SmallVector<mlir::Value> productFactors(mlir::OpBuilder &b, mlir::Value array,
                                              bool ofReductions = false);

/// The part of a map that computes `scalar`, as a map of its own over what that uses, at the
/// builder's insertion point.
attn::MapOp subexpression(mlir::OpBuilder &b, attn::MapOp map, mlir::Value scalar);

/// True if a map's result is that of a reduction times, or by, what has no further dims: a
/// normalised output, say.
bool scalesReduction(attn::MapOp map);

/// The operands of `map` that `scalar` is computed from.
llvm::SetVector<mlir::Value> arraysOf(attn::MapOp map, mlir::Value scalar);

/// True of a map that chooses between 0 and another constant: which terms of a sum count.
bool isMask(mlir::Value array);

/// True if `productFactors` with `ofReductions` looks through `map`.
bool isProduct(attn::MapOp map);

} // namespace attnc

#endif
