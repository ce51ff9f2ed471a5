// Operands of products that are no tensor's tile as it lies in memory: computed into shared memory.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_COMPUTED_OPERANDS_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_COMPUTED_OPERANDS_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// The 16-bit type that holds each value of the read, also what it gives outside of its tensor;
/// null if there is none.
mlir::Type halfType(attn::ReadOp read);

/// The product of `factors` as a tile with rows along `along`, to be computed element by element,
/// or nothing: where it depends on more than grid dims, `along` and one inner dim, or on folds. It
/// is f32, unless it is elements of a 16-bit tensor, read in whatever order (halfType). `fold` is
/// the contraction or state that it is an operand of.
std::optional<OperandTile> computedTile(red::NestOp nest, llvm::ArrayRef<mlir::Value> factors,
                                        mlir::StringAttr along, red::FoldOp fold);

/// True if the read's tensor is a sum of another nest that may have had a factor rounded to 16
/// bits, beside an input of that type, and no product of it cancels (Cancellation.h): it errs by
/// 2^-8 of its terms, or 2^-11, already. Then products that lose 2^-14 of each of its elements add
/// little to that (docs/notes/error-analysis.md).
bool isRoundedSum(attn::ReadOp read);

/// The same tile with elements of f32: itself, or one that is computed.
OperandTile widened(const OperandTile &tile);

/// The factors of a contraction by what they depend on; those of neither dim go with the rows.
struct ProductSides {
  llvm::SmallVector<mlir::Value> resident, streamed;
};

/// The sides of a sum of products over one inner dim, or nothing if a factor depends on both dims,
/// a side is empty, or it is no such sum.
std::optional<ProductSides> sidesOf(red::NestOp nest, red::FoldOp fold, mlir::StringAttr row,
                                    mlir::StringAttr stream);

/// Why a fold over inner dims cannot be computed index by index for a whole tile of rows and stream
/// indices, or nothing.
std::string whyNotDirect(red::NestOp nest, red::FoldOp fold);

} // namespace attnc::schedule

#endif
