// Operands of f32 as sums of two of f16, which a kernel before that of the nest makes.
#ifndef ATTNC_COMPILER_SCHEDULE_ENCODE_ENCODED_OPERANDS_H
#define ATTNC_COMPILER_SCHEDULE_ENCODE_ENCODED_OPERANDS_H

#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"

namespace attnc::schedule {

/// True if products of warpgroups take the operand as a high and a low half.
bool isEncoded(const OperandTile &operand);
/// True if an operand of the plan is.
bool hasEncoded(const StreamPlan &plan);

/// Puts a red.encode before the nest for each operand that the kernel of its schedule takes so,
/// instead of those that are there.
void encodeOperands(red::NestOp nest);

/// The encoding of the tensor that `read` reads for the nest, with rows along `rowAxis`, or null.
red::EncodeOp encodingOf(red::NestOp nest, attn::ReadOp read, unsigned rowAxis);

/// All of the nest's, in order.
llvm::SmallVector<red::EncodeOp> encodingsOf(red::NestOp nest);

/// The tensors of the kernel that encodes: of each encoding the one that it reads, then its own.
llvm::SmallVector<mlir::Value> encodedTensors(red::NestOp nest);

/// What the name of the kernel that encodes has behind that of the nest's.
inline constexpr llvm::StringLiteral kEncodeSuffix = "_encode";

/// The kernel that encodes what the nest takes so, at the builder's insertion point, or null: its
/// blocks have a tile of rows each, of one tensor after the other.
tile::KernelOp lowerEncodings(red::NestOp nest, mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
