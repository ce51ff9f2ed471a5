// What the kernels of a chain hand each other in the shared memory of a block.
#ifndef ATTNC_COMPILER_SCHEDULE_CHAINS_CHAIN_MEMORY_H
#define ATTNC_COMPILER_SCHEDULE_CHAINS_CHAIN_MEMORY_H

#include "compiler/schedule/nest/signature.h"

namespace attnc::schedule {

/// Of a nest of a chain: an i1 for each result, whether it is in shared memory only.
inline constexpr llvm::StringLiteral kKeptAttr = "red.kept";

/// True if no memory holds the result of a nest but that of the blocks of its chain.
bool isKept(mlir::Value result);

/// A result of which each block holds its cell.
struct ChainArray {
  mlir::Value result;
  int64_t bytes;
  int64_t offset = 0; ///< in the shared memory, in bytes
  /// Of all storage axes, in elements; 0 of the cell's dims.
  llvm::SmallVector<int64_t> strides = {};
};

/// Finds room from byte `begin` to byte `end` for the results of a chain's nests that no other nest
/// reads, from where each is stored to where it is read last, and sets kKeptAttr.
llvm::SmallVector<ChainArray> placeChainArrays(llvm::ArrayRef<red::NestOp> nests, int64_t begin,
                                               int64_t end);

} // namespace attnc::schedule

#endif
