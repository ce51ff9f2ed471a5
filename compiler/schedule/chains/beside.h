// Kernels that run beside the one before them.
#ifndef ATTNC_COMPILER_SCHEDULE_CHAINS_BESIDE_H
#define ATTNC_COMPILER_SCHEDULE_CHAINS_BESIDE_H

#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// On nests, unit attributes: their kernel may start while the one before runs; and it lets the one
/// behind it do so (tile.kernel says what it does then). Of a chain the first and the last nest say
/// it of its kernel.
inline constexpr llvm::StringLiteral kBesideAttr = "tile.beside";
inline constexpr llvm::StringLiteral kLetsNextAttr = "tile.lets_next";

/// Marks nests, in the order of their kernels, whose schedules and chains are known. Kernels that
/// follow each other and of which none reads what another one stores run side by side.
void markBesides(llvm::ArrayRef<red::NestOp> nests);

/// Says it of the kernel of a nest, or of a chain from `first` to `last`.
void takeMarks(red::NestOp first, red::NestOp last, tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
