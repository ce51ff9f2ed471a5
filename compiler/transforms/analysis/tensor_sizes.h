// Whether an array is as large as a tensor of its program at most.
#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_TENSOR_SIZES_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_TENSOR_SIZES_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// The sizes of some tensors of a program, all dynamic extents being taken to differ: an array with
/// the sequence dims of two tensors is no such size.
class TensorSizes {
public:
  explicit TensorSizes(attn::ProgramOp program) : program(program) {}

  /// A tensor with these dims.
  void add(llvm::ArrayRef<mlir::StringAttr> dims) { tensors.push_back(dynamic(dims)); }

  /// True if some tensor has all the dynamic dims of an array over `dims`.
  bool fit(llvm::ArrayRef<mlir::StringAttr> dims);

private:
  /// The dynamic dims whose sizes make the number of indices along `dims`.
  llvm::SmallVector<mlir::StringAttr> dynamic(llvm::ArrayRef<mlir::StringAttr> dims);
  /// Those of which the extent of `dim` is computed.
  llvm::SmallVector<mlir::StringAttr> sizesOf(mlir::StringAttr dim);

  attn::ProgramOp program;
  llvm::SmallVector<llvm::SmallVector<mlir::StringAttr>> tensors; // the dynamic dims of each
};

} // namespace attnc

#endif
