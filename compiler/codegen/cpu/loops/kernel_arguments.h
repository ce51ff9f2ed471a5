// The arguments of a kernel, read from their array of 64-bit words.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_KERNEL_ARGUMENTS_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_KERNEL_ARGUMENTS_H

#include "compiler/schedule/nest/signature.h"

namespace attnc::cpu {

/// Emits loads of all arguments at the builder's insertion point; the values then serve the whole
/// function.
class KernelArguments {
public:
  KernelArguments(mlir::OpBuilder &builder, red::NestOp nest, mlir::Value words);

  mlir::Value pointer(mlir::Value array) const { return values[signature.pointer(array)]; }
  /// Stride of storage axis `axis` in elements; that of the last axis is 1.
  mlir::Value stride(mlir::Value array, unsigned axis) const;
  mlir::Value param(mlir::Value array) const { return values[signature.param(array)]; }
  /// The extent of a dim: a constant, or the argument.
  mlir::Value size(mlir::OpBuilder &builder, mlir::StringAttr dim) const;

private:
  red::NestOp nest;
  schedule::KernelSignature signature;
  llvm::SmallVector<mlir::Value> values;
};

} // namespace attnc::cpu

#endif
