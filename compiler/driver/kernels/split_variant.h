// A program whose streams are in parts, as a variant beside the one that folds them in one pass.
#ifndef ATTNC_COMPILER_DRIVER_KERNELS_SPLIT_VARIANT_H
#define ATTNC_COMPILER_DRIVER_KERNELS_SPLIT_VARIANT_H

#include "compiler/driver/kernels/kernel_shape.h"
#include "dialects/Red/Red.h"
#include "runtime/program/manifest.h"

namespace attnc::driver {

/// The name that a kernel of the program in parts has beside the others.
std::string splitName(const std::string &kernel);

/// Whether the nest's stream may be in parts, and is folded by tiles.
bool canBeSplit(red::NestOp nest);

/// Whether all nests of a program in parts that fold a part do so by tiles.
bool foldsSplitsByTiles(attn::ProgramOp program);

/// How many parts each of the program's part dims has: as many as let the launch fill the
/// multiprocessors, at least `kLeastOfPart` elements each, at most `most`; 1 where rows fill the
/// GPU already, or more than half of it. `kernels` are those of the program's nests, in order.
std::map<std::string, Expr> splitsThatFill(attn::ProgramOp program,
                                           llvm::ArrayRef<KernelShape> kernels, std::int64_t most);

/// Elements of a part: fewer are not worth a second kernel.
inline constexpr std::int64_t kLeastOfPart = 1024;

/// Gives the dims of `counts` these extents.
void setSplits(Manifest &manifest, const std::map<std::string, Expr> &counts);

/// Adds to `manifest` the launches of `parts`, the manifest of the same program in parts, as first
/// choice wherever one of the dims of `counts` has at least two parts. Kernels of `parts` get new
/// names (splitName), what lies between them too where `manifest` has the name.
void addSplitVariant(Manifest &manifest, const Manifest &parts,
                     const std::map<std::string, Expr> &counts);

} // namespace attnc::driver

#endif
