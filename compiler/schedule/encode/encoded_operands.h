// Operands of f32 as sums of two of f16, which kernels before that of the nest make.
#ifndef ATTNC_COMPILER_SCHEDULE_ENCODE_ENCODED_OPERANDS_H
#define ATTNC_COMPILER_SCHEDULE_ENCODE_ENCODED_OPERANDS_H

#include "compiler/schedule/stream/stream_plan.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// True if products of warpgroups take the operand as a high and a low half.
bool isEncoded(const OperandTile &operand);
/// True if an operand of the plan is.
bool hasEncoded(const StreamPlan &plan);

/// Why the operands of a plan that has such cannot be encoded, or "".
std::string whyNotEncoded(const StreamPlan &plan);

/// Puts red.tops and red.encode before the nest for the operands that the kernel of its schedule
/// takes so, instead of those that are there.
void encodeOperands(red::NestOp nest);

/// The encoding of the tensor of an operand of the nest, or of the one that `read` reads with rows
/// along `rowAxis`; null if there is none.
red::EncodeOp encodingOf(red::NestOp nest, const OperandTile &operand, bool isStreamed);
red::EncodeOp encodingOf(red::NestOp nest, attn::ReadOp read, unsigned rowAxis, bool isStreamed);

/// All of the nest's, in order.
llvm::SmallVector<red::EncodeOp> encodingsOf(red::NestOp nest);
llvm::SmallVector<red::TopsOp> topsOf(red::NestOp nest);

/// A kernel that is launched before that of the nest.
struct Preparation {
  llvm::StringRef suffix; ///< of its name, behind that of the nest's kernel
  KernelSignature signature;
};

/// Those of the nest, in the order of their launches.
llvm::SmallVector<Preparation> preparationsOf(red::NestOp nest);

/// Lowers them at the builder's insertion point: kernels that prepare.
llvm::SmallVector<tile::KernelOp> lowerPreparations(red::NestOp nest, mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
