// The memory of sums over rows, before blocks add to it.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_CLEAR_SUMS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_CLEAR_SUMS_H

#include "compiler/schedule/encode/thread_code.h"

namespace attnc::schedule {

/// The code of a kernel that stores 0 for all elements of the nest's sums over rows.
class ClearSumsCode : ThreadCode {
public:
  static constexpr int64_t kThreads = 256;

  ClearSumsCode(red::NestOp nest, const KernelMemory &memory, mlir::OpBuilder &b)
      : ThreadCode(nest, memory, b, kThreads) {}

  void build();

  static mlir::Attribute blocks(red::NestOp nest, mlir::Builder &builder);
};

} // namespace attnc::schedule

#endif
