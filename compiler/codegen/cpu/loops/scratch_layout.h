// Where the buffers of a nest lie in a thread's scratch memory.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_SCRATCH_LAYOUT_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_SCRATCH_LAYOUT_H

#include "compiler/codegen/cpu/loops/loop_nest.h"

namespace attnc::cpu {

/// Buffers follow one another at multiples of 64 bytes. Sizes are constants unless an inner dim has
/// a dynamic extent.
class ScratchLayout {
public:
  /// Emits the addresses at the builder's insertion point. With a null `base` only bytes() is of
  /// use.
  ScratchLayout(mlir::OpBuilder &builder, const NestPlan &plan, const KernelArguments &args,
                mlir::Value base);

  /// The buffer of a value that the plan keeps.
  const Buffer &buffer(mlir::Value value) const { return values.find(value)->second; }
  /// exp(exponent - reference).
  const Buffer &exponential(ExponentPair pair) const { return exponentials.find(pair)->second; }
  /// By how much the last tile rescales the states that refer to this one.
  const Buffer &scale(mlir::Value state) const { return scales.find(state)->second; }
  /// A moment of lower degree before it takes in the tile.
  const Buffer &before(mlir::Value state) const { return befores.find(state)->second; }
  /// The value that moments are about so far, and by how much the last tile has moved it.
  const Buffer &centre(mlir::Value value) const { return centres.find(value)->second; }
  const Buffer &shift(mlir::Value value) const { return shifts.find(value)->second; }
  mlir::Value bytes() const { return total; }

private:
  Buffer place(mlir::OpBuilder &builder, const DimList &dims, mlir::Type element);

  const NestPlan &plan;
  const KernelArguments &args;
  mlir::Value base, total;
  llvm::DenseMap<mlir::Value, Buffer> values, scales, befores, centres, shifts;
  llvm::DenseMap<ExponentPair, Buffer> exponentials;
};

} // namespace attnc::cpu

#endif
