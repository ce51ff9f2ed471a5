// The tensors of a kernel's nest as its arguments see them: pointers, strides, sizes, params.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_KERNEL_MEMORY_H
#define ATTNC_COMPILER_SCHEDULE_NEST_KERNEL_MEMORY_H

#include "compiler/schedule/nest/signature.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The MLIR type of a kernel argument.
mlir::Type argumentType(const KernelArg &arg, mlir::MLIRContext *context);

/// Names and types of the arguments of the nest's kernel, as tile.kernel's builder takes them.
llvm::SmallVector<std::pair<std::string, mlir::Type>>
argumentTypes(const KernelSignature &signature, mlir::MLIRContext *context);

/// Turns "element (indices) of this array" into kernel arguments and i64 arithmetic. Used while one
/// kernel is built; the builder decides where the arithmetic goes.
class KernelMemory {
public:
  KernelMemory(red::NestOp nest, const KernelSignature &signature, tile::KernelOp kernel);

  mlir::Value pointer(mlir::Value array) const;
  mlir::Value stride(mlir::Value array, unsigned axis) const;
  mlir::Value param(mlir::Value array) const;
  mlir::Value tensorMap(attn::ReadOp read, Half half = Half::None) const;
  mlir::Value tensorMap(mlir::Value result) const;
  mlir::Value counter() const;
  /// i32, of a nest of a slab.
  mlir::Value cells(bool isEnd) const;

  /// The extent of a dim: a constant, or the size argument.
  mlir::Value extent(mlir::OpBuilder &builder, mlir::Location loc, mlir::StringAttr dim) const;

  /// The element offset of `indices`, one for each storage axis of `array`'s tensor. A null index
  /// stands for 0.
  mlir::Value offset(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                     mlir::ValueRange indices) const;

  /// The element of an array with one axis.
  mlir::Value element(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                      mlir::Value index) const;

private:
  red::NestOp nest;
  const KernelSignature &signature;
  mlir::Block *args;
};

/// The extent of a dim as tile.kernel's grid writes it: an integer or ["size", dim].
mlir::Attribute gridExtent(red::NestOp nest, mlir::StringAttr dim);

/// ["op", lhs, rhs], folded if both are integers.
mlir::Attribute gridApply(llvm::StringRef op, mlir::Attribute lhs, mlir::Attribute rhs);

} // namespace attnc::schedule

#endif
