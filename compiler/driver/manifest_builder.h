#ifndef ATTNC_COMPILER_DRIVER_MANIFEST_BUILDER_H
#define ATTNC_COMPILER_DRIVER_MANIFEST_BUILDER_H

#include "attnc/result.h"
#include "dialects/Red/Red.h"
#include "runtime/program/manifest.h"
#include <map>
#include <memory>

namespace attnc::driver {

/// What a launch of a nest's kernel looks like on a target.
struct KernelShape {
  std::string name;
  std::vector<ArgDecl> args;
  std::array<Expr, 3> grid = {Expr::constant(1), Expr::constant(1), Expr::constant(1)};
  int threads = 1;
  int cluster = 1;
  std::int64_t sharedBytes = 0;
  std::vector<std::int64_t>
      align; ///< of each argument: bytes to which its tensor must be aligned, or 1
  /// The kernel for tensors that are not aligned as `fallbackFor` says, if there is one.
  std::shared_ptr<const KernelShape> fallback;
  std::map<std::string, std::int64_t> fallbackFor; ///< tensors and bytes
};

/// The arguments of the kernel of a nest with its present schedule.
std::vector<ArgDecl> kernelArguments(red::NestOp nest);

/// The manifest of a program of red nests: its tensors, params and facts, and one launch for each
/// nest in order; `kernels` has one entry for each nest. Error (InvalidArgument): a scalar that the
/// host cannot evaluate when shapes are bound.
Result<Manifest> buildManifest(attn::ProgramOp program, llvm::StringRef target,
                               llvm::ArrayRef<KernelShape> kernels);

/// The storage type of a tensor of the manifest.
DType dtypeOf(mlir::Type storage);

/// A 0-d integer or float array (a let, a default, a requirement) as an expression for the host.
Result<Expr> hostExpression(mlir::Value scalar);

} // namespace attnc::driver

#endif
