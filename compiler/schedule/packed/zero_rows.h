// Rows of packed results that belong to no sequence.
#ifndef ATTNC_COMPILER_SCHEDULE_PACKED_ZERO_ROWS_H
#define ATTNC_COMPILER_SCHEDULE_PACKED_ZERO_ROWS_H

#include "compiler/schedule/encode/thread_code.h"
#include "compiler/schedule/packed/packed_tiles.h"

namespace attnc::schedule {

/// The code of a kernel that stores 0 for the rows of no sequence: a warp looks for the sequence of
/// a row, 32 of them at a time.
class ZeroRowsCode : ThreadCode {
public:
  static constexpr int64_t kThreads = 256;
  static constexpr int64_t kRows = 32; ///< of a block

  ZeroRowsCode(red::NestOp nest, const KernelMemory &memory, mlir::OpBuilder &b)
      : ThreadCode(nest, memory, b, kThreads), packs(packsOf(nest)) {}

  void build();

  static mlir::Attribute blocks(red::NestOp nest, mlir::Builder &builder);

private:
  void visitRow(red::PackOp pack, Value row);
  Value hasSequence(red::PackOp pack, Value row);
  void zeroRow(red::PackOp pack, Value row);

  llvm::SmallVector<red::PackOp> packs;
};

} // namespace attnc::schedule

#endif
