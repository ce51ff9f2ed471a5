// Nests of small matrices that one launch computes: a block has all of a cell, one nest after the
// other.
#ifndef ATTNC_COMPILER_SCHEDULE_CHAINS_CHAIN_NESTS_H
#define ATTNC_COMPILER_SCHEDULE_CHAINS_CHAIN_NESTS_H

#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/planned_nest.h"

namespace attnc::schedule {

/// Of a nest: the number of its chain.
inline constexpr llvm::StringLiteral kChainAttr = "red.chain";

/// The dims of a cell: each block of the nest's kernel has one index of each of them, and all
/// indices of all other dims. Block number b has the b-th cell, the last dim fastest. Empty where
/// the nest's schedule divides its blocks otherwise.
llvm::SmallVector<mlir::StringAttr> cellDims(red::NestOp nest);

/// Gives schedules with the same cells to nests that follow each other, where most multiply
/// matrices so small that one block for each cell is enough. Nests that have been tuned keep
/// theirs.
void proposeChains(llvm::ArrayRef<red::NestOp> nests, const GpuModel &machine);

/// Numbers the chains: as many small nests in a row as possible that have the same cells and the
/// same threads by their schedules, and read of each other what their own cell has stored.
void markChains(llvm::ArrayRef<red::NestOp> nests);

} // namespace attnc::schedule

#endif
