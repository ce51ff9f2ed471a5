// Operands of f32 as sums of two of f16, which kernels before that of the nest make.
#ifndef ATTNC_COMPILER_SCHEDULE_ENCODE_ENCODED_OPERANDS_H
#define ATTNC_COMPILER_SCHEDULE_ENCODE_ENCODED_OPERANDS_H

#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// True if products of warpgroups take the operand as a high and a low half. Beside such a one the
/// other side of the product is of f16, or comes as halves too. Plans are PlannedNest::ofHalves.
bool isEncoded(const OperandTile &operand);
/// True if an operand of the plan is, or weights come as halves.
bool hasEncoded(const StreamPlan &plan);
/// True if low halves are multiplied, too.
inline bool takesLowHalves(tile::Accuracy accuracy) { return accuracy != tile::Accuracy::Tf32; }
/// Products of f16 that a product of two sides becomes: small by small is left out.
inline int64_t halvesProducts(bool leftEncoded, bool rightEncoded, tile::Accuracy accuracy) {
  return takesLowHalves(accuracy) ? 1 + leftEncoded + rightEncoded : 1;
}

/// Why the operands of a plan that has such cannot be encoded, or "".
std::string whyNotEncoded(const StreamPlan &plan);

/// Why kernels that take tensors as they are should be preferred to encoding them first, or "": an
/// element of some tensor is known to be multiplied too seldom to make up for another pass over it.
std::string whyVainlyEncoded(red::NestOp nest, const StreamPlan &plan);

/// Puts red.tops, red.lost and red.encode before the nest for the operands that the kernel of its
/// schedule takes so, instead of those that are there.
void encodeOperands(red::NestOp nest, const GpuModel &machine);

/// The encoding of the tensor of an operand of the nest, or of the one that `read` reads with rows
/// along `rowAxis`; null if there is none.
red::EncodeOp encodingOf(red::NestOp nest, const OperandTile &operand, bool isStreamed);
red::EncodeOp encodingOf(red::NestOp nest, attn::ReadOp read, unsigned rowAxis, bool isStreamed);

/// All of the nest's, in order.
llvm::SmallVector<red::EncodeOp> encodingsOf(red::NestOp nest);
llvm::SmallVector<red::TopsOp> topsOf(red::NestOp nest);

/// What says whether the nest's encodings lose something; null where they cannot.
red::LostOp lostOf(red::NestOp nest);

/// A kernel that is launched for that of the nest alone, in one image with it.
struct Companion {
  enum class Kind { Zeros, Clear, Tops, Encode, Fallback } kind;
  std::string name;
  KernelSignature signature;

  /// Computes the nest after its kernel, where that had too little.
  bool isAfter() const { return kind == Kind::Fallback; }
};

/// Those of the nest, in the order of their launches.
llvm::SmallVector<Companion> companionsOf(red::NestOp nest);

/// Lowers them at the builder's insertion point: kernels that are companions. Fails, with an error
/// at the nest, if the schedule of the fallback is none that it can have.
mlir::FailureOr<llvm::SmallVector<tile::KernelOp>> lowerCompanions(red::NestOp nest,
                                                                   mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
