// The kernel that computes the nests of a chain.
#ifndef ATTNC_COMPILER_SCHEDULE_CHAINS_JOIN_CHAIN_H
#define ATTNC_COMPILER_SCHEDULE_CHAINS_JOIN_CHAIN_H

#include "compiler/schedule/nest/signature.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// `kernels` are those of `nests`, the nests of a chain (chain_nests.h). Makes them members of it
/// and, at the builder's insertion point, the kernel that calls them, with a barrier between two
/// calls. What they hand each other is in up to `memory` bytes of shared memory, as far as it fits
/// (chain_memory.h): they have pointers to shared memory for it, and constants in place of its
/// strides. The arguments of the kernel that is returned are those of KernelSignature(nests).
tile::KernelOp joinChain(llvm::ArrayRef<red::NestOp> nests, llvm::ArrayRef<tile::KernelOp> kernels,
                         int64_t memory, mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
