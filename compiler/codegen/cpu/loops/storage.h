// Elements in memory: addresses, and conversion between storage types and compute types.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_STORAGE_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_STORAGE_H

#include "compiler/codegen/cpu/loops/loop_annotations.h"
#include "dialects/Attn/Attn.h"

namespace attnc::cpu {

/// The type whose bytes an element of `storage` occupies: i16 for bf16, i8 for i1.
mlir::Type memoryType(mlir::Type storage);
int64_t memoryBytes(mlir::Type storage);

/// Emits loads and stores. All accesses of one object belong to one access group: loops that
/// `loops` annotates have iterations that touch different elements.
class Storage {
public:
  explicit Storage(mlir::MLIRContext *context);

  /// Loads element `index` of the tensor of type `storage` at `pointer`, in its compute type.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type storage,
                   mlir::Value pointer, mlir::Value index) const;
  /// Stores a compute value, rounded to nearest even (floats) or wrapped (integers).
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type storage,
             mlir::Value pointer, mlir::Value index) const;

  const LoopAnnotations &loops() const { return annotations; }

private:
  mlir::LLVM::AccessGroupAttr group;
  LoopAnnotations annotations;
};

} // namespace attnc::cpu

#endif
