// What is done to the kernels of tiled nests once they are built, and what it has to know of the
// nest.
#ifndef ATTNC_COMPILER_SCHEDULE_CLEANUP_KERNEL_CLEANUP_H
#define ATTNC_COMPILER_SCHEDULE_CLEANUP_KERNEL_CLEANUP_H

#include "compiler/schedule/nest/signature.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The discardable attribute of a kernel that tells its clean-ups what only the nest knows, a
/// dictionary with any of
/// - `sizes`: the arguments that are extents of row and stream dims, an array of i64;
/// - `narrow`: operands have 16 bits;
/// - `spreads_factors`: see shareElementArithmetic.
/// The last clean-up removes it. Kernels without it are left as they are.
inline constexpr llvm::StringLiteral kCleanUpAttr = "tile.clean_up";

/// The discardable attribute, a unit, of an op of the kernel whose result is the number of a row or
/// of an element of the stream: the first ones of blocks, warps and tiles. narrowIndices removes
/// it.
inline constexpr llvm::StringLiteral kIndexAttr = "tile.index";

/// Sets kCleanUpAttr, and kIndexAttr on the ops that define `indices`.
void askForCleanUp(tile::KernelOp kernel, red::NestOp nest, const KernelSignature &signature,
                   mlir::ValueRange indices, bool spreadsFactors);

/// Whether both attributes of the kernel, which has kCleanUpAttr, are as described above.
bool canCleanUp(tile::KernelOp kernel);

/// Whether the kernel has kCleanUpAttr.
bool isTiled(tile::KernelOp kernel);

/// Folds constants of the kernel and erases what does nothing: maps, too, that write each element
/// where they read it.
void foldKernel(tile::KernelOp kernel);

/// Exponentials of elements as 2^(x log2 e), which the bounds of errors are made for: one
/// instruction and a product in place of nine. Where everything is f32 they stay as exact as CUDA
/// has them. Reciprocals of elements without a branch, so that a thread computes several at a time:
/// divisions with fastmath<arcp>, and <arcp,afn> where the divisor is no number below the normal
/// ones.
void approximateFunctions(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
