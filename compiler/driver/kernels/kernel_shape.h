// What a launch of a kernel looks like on a target.
#ifndef ATTNC_COMPILER_DRIVER_KERNELS_KERNEL_SHAPE_H
#define ATTNC_COMPILER_DRIVER_KERNELS_KERNEL_SHAPE_H

#include "attnc/result.h"
#include "compiler/schedule/nest/signature.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"
#include "runtime/program/manifest.h"
#include <array>
#include <string>
#include <vector>

namespace attnc::driver {

struct KernelShape {
  std::string name;
  std::vector<ArgDecl> args;
  std::array<Expr, 3> grid = {Expr::constant(1), Expr::constant(1), Expr::constant(1)};
  int threads = 1;
  int cluster = 1;
  std::int64_t sharedBytes = 0;
  /// Of each argument: bytes to which the address and the strides of its tensor must be aligned; 1
  /// where the size of an element is enough. Empty on the cpu, where it is everywhere.
  std::vector<std::int64_t> align;
  bool beside = false; ///< as tile.kernel says
  std::optional<Expr> slabs =
      {}; ///< of a kernel that is launched for each slab: how many there are
  /// What is launched before and after each launch of it, for it alone.
  std::vector<KernelShape> before, after;
};

/// The arguments of the kernel of a nest with its present schedule.
std::vector<ArgDecl> kernelArguments(red::NestOp nest);

/// An extent of a kernel's grid. Error (Internal): it is no expression.
Result<Expr> gridExpr(mlir::Attribute extent);

/// The launch of the kernel that the nest with its present schedule has become. Error (Internal): a
/// grid that is no expression.
Result<KernelShape> shapeOf(red::NestOp nest, tile::KernelOp kernel);

/// The same for a kernel that is none of a nest, with its arguments.
Result<KernelShape> shapeOf(const schedule::KernelSignature &signature, tile::KernelOp kernel);

} // namespace attnc::driver

#endif
