// Code of kernels whose threads are written one by one: loops, branches, constants.
#ifndef ATTNC_COMPILER_SCHEDULE_ENCODE_THREAD_CODE_H
#define ATTNC_COMPILER_SCHEDULE_ENCODE_THREAD_CODE_H

#include "compiler/schedule/nest/kernel_memory.h"

namespace attnc::schedule {

inline constexpr int64_t kLanes = 32;

/// The columns of a row that a lane has.
inline int64_t partsOf(int64_t cols) { return (cols + kLanes - 1) / kLanes; }

/// Base of the builders of kernels that read the columns of rows, a warp for each row.
class ThreadCode {
protected:
  using Value = mlir::Value;

  ThreadCode(red::NestOp nest, const KernelMemory &memory, mlir::OpBuilder &builder,
             int64_t threads);

  /// i32 `from`, `from + step`, ... below `to`; returns what the last one carries, or null where
  /// `init` is. Unrolled `unroll` times, 0 for all.
  Value loop(llvm::StringRef name, Value from, Value to, int64_t step, Value init, int64_t unroll,
             llvm::function_ref<Value(Value index, Value carried)> body);
  Value loop(llvm::StringRef name, int64_t count, Value init,
             llvm::function_ref<Value(Value index, Value carried)> body);
  /// What `body` gives, or else `otherwise`; nothing if that is null.
  Value when(Value condition, Value otherwise, llvm::function_ref<Value()> body);
  void when(Value condition, llvm::function_ref<void()> body);

  /// The columns of a row that the lane has and that exist, of `cols`.
  Value eachColumn(int64_t cols, Value init,
                   llvm::function_ref<Value(Value part, Value column, Value carried)> body);
  /// Stores 1 to a number by itself, where `condition` holds in some thread.
  void raise(Value number, Value condition);
  /// The larger of `largest` and the magnitude of x, if that is finite.
  Value largerFinite(Value x, Value largest);
  Value isFinite(Value x);

  /// The columns of a tensor, and the blocks of a kernel that has `count` for each index of the
  /// axes but `axis` and the last.
  int64_t columnsOf(Value tensor);
  Value cellsOf(Value tensor, unsigned axis, Value count);
  /// The indices of these axes by the number of such a block, that of `count` at `axis`.
  llvm::SmallVector<Value> indicesOf(Value tensor, unsigned axis, Value count, Value work);
  /// For each tensor in turn, the blocks that are left go on with the next; `count` says how many
  /// it has.
  void shareBlocks(size_t tensors, llvm::function_ref<Value(size_t)> count,
                   llvm::function_ref<void(size_t, Value)> body);

  mlir::Location named(llvm::StringRef name) { return mlir::NameLoc::get(b.getStringAttr(name)); }
  Value constant(int64_t value);
  Value wide(int64_t value);
  Value real(double value);
  Value widen(Value index, llvm::StringRef name);
  Value less(Value x, Value y);
  Value add(Value x, Value y, llvm::StringRef name = "");
  Value mul(Value x, Value y, llvm::StringRef name = "");
  Value ceilDiv(Value x, Value y); ///< i64
  Value array(llvm::ArrayRef<int64_t> shape, llvm::StringRef name, bool shared);
  Value get(Value array, mlir::ValueRange at);

  red::NestOp nest;
  const KernelMemory &memory;
  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t threads;
  Value lane, warp; ///< i32

  int64_t warps() const;
};

} // namespace attnc::schedule

#endif
