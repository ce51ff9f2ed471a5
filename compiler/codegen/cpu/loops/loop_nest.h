// Loops over a tile, and the evaluation of arrays inside them.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_LOOP_NEST_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_LOOP_NEST_H

#include "compiler/codegen/cpu/loops/kernel_arguments.h"
#include "compiler/codegen/cpu/loops/nest_plan.h"
#include "compiler/codegen/cpu/loops/storage.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attnc::cpu {

/// The part of a dim that the current tile covers: [origin, origin + count), i64 values.
struct Range {
  mlir::Value origin, count;
};

/// A scratch array over the ranges of its dims, row-major; `strides` in elements.
struct Buffer {
  mlir::Value pointer;
  mlir::Type element;
  DimList dims;
  llvm::SmallVector<mlir::Value> strides;
};

/// What is known while one tile is computed.
struct TileScope {
  mlir::OpBuilder &builder;
  const NestPlan &plan;
  const KernelArguments &args;
  const Storage &storage;
  llvm::DenseMap<mlir::StringAttr, Range> ranges{};
  llvm::DenseMap<mlir::Value, Buffer> buffers{};
};

/// Loops over some dims of a tile. Values are evaluated at the outermost loop that has all their
/// dims, once. After the LoopNest is destroyed the builder stands where it stood before, behind
/// everything that was emitted meanwhile.
class LoopNest {
public:
  explicit LoopNest(TileScope &scope, llvm::ArrayRef<mlir::StringAttr> dims = {});
  ~LoopNest();

  /// Opens the innermost loop as a reduction that starts from `init`; returns the running value.
  mlir::Value openReduction(mlir::StringAttr dim, mlir::Value init);
  /// Ends the reduction with its next value; the builder then stands behind it. Returns the result.
  mlir::Value closeReduction(mlir::Value next);

  /// The element of `array` at the loops' indices. Dims without a loop must be grid dims.
  mlir::Value evaluate(mlir::Value array);

  /// The element of a buffer, loaded where the builder stands.
  mlir::Value load(const Buffer &buffer);
  /// The element of a buffer that the loops do not change, loaded at its outermost loop.
  mlir::Value loadHoisted(const Buffer &buffer);
  void store(mlir::Value value, const Buffer &buffer);
  /// Stores into the tensor of a nest's result.
  void storeResult(mlir::Value value, mlir::Value result);

private:
  struct Loop {
    mlir::StringAttr dim;
    mlir::scf::ForOp op;
  };
  mlir::scf::ForOp open(mlir::StringAttr dim, mlir::ValueRange init);
  mlir::Value position(mlir::StringAttr dim) const;
  mlir::Value index(mlir::StringAttr dim);
  unsigned depthOf(llvm::ArrayRef<mlir::StringAttr> dims) const;
  void standAt(unsigned depth);
  void standInside() { standAt(loops.size()); }
  mlir::Value bufferIndex(const Buffer &buffer);
  mlir::Value compute(mlir::Value array);
  mlir::Value computeMap(attn::MapOp map);
  mlir::Value computeRead(attn::ReadOp read);
  mlir::Value insideExtents(attn::ReadOp read, mlir::ValueRange indices);

  TileScope &scope;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::OpBuilder::InsertPoint outside;
  llvm::SmallVector<Loop> loops;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> indices;
};

} // namespace attnc::cpu

#endif
