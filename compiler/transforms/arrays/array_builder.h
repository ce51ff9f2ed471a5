#ifndef ATTNC_COMPILER_TRANSFORMS_ARRAYS_ARRAY_BUILDER_H
#define ATTNC_COMPILER_TRANSFORMS_ARRAYS_ARRAY_BUILDER_H

#include "dialects/Attn/Attn.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <map>

namespace attnc {

using Dims = llvm::SmallVector<mlir::StringAttr>;

/// The dims of an array, and whether its elements are real numbers.
llvm::ArrayRef<mlir::StringAttr> dimsOf(mlir::Value array);
mlir::Type elementOf(mlir::Value array);
bool isReal(mlir::Value array);

/// Those of `dims` that are not among `others`.
Dims without(llvm::ArrayRef<mlir::StringAttr> dims, llvm::ArrayRef<mlir::StringAttr> others);

/// Builds arrays at the end of a program. Arrays broadcast by name, so one that does not vary along
/// a dim need not have it.
class ArrayBuilder {
public:
  using Emit = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)>;

  explicit ArrayBuilder(attn::ProgramOp program)
      : program(program), b(mlir::OpBuilder::atBlockEnd(program.getBodyBlock())),
        loc(program.getLoc()) {}

  /// Of what follows.
  void setLocation(mlir::Location place) { loc = place; }
  mlir::Location location() const { return loc; }
  mlir::OpBuilder &builder() { return b; }
  attn::ProgramOp programOp() const { return program; }

  /// A scalar function of arrays.
  mlir::Value map(mlir::ValueRange arrays, mlir::Type element, Emit emit);
  mlir::Value constant(mlir::Type element, double value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  /// grad * factor, and 0 where `grad` is 0 and the factor may be infinite.
  mlir::Value times(mlir::Value grad, mlir::Value factor);
  /// `value` where `condition`, else 0.
  mlir::Value where(mlir::Value condition, mlir::Value value);
  mlir::Value equal(mlir::Value x, mlir::Value y);

  mlir::Value index(mlir::StringAttr dim);
  mlir::Value size(mlir::StringAttr dim);
  /// Of the sizes of dims.
  mlir::Value product(llvm::ArrayRef<mlir::StringAttr> dims);
  mlir::Value reduce(attn::ReduceKind kind, mlir::Value array,
                     llvm::ArrayRef<mlir::StringAttr> dims);
  /// The sum over `dims`; along those that the array has not got, it is the same element each time.
  mlir::Value sum(mlir::Value array, llvm::ArrayRef<mlir::StringAttr> dims);
  /// The array with `dims`, also where it does not vary along them.
  mlir::Value broadcast(mlir::Value array, llvm::ArrayRef<mlir::StringAttr> dims);
  /// `source` at one subscript for each of its dims, the index along it if it has none in `at`; 0
  /// outside.
  mlir::Value read(mlir::Value source, const llvm::DenseMap<mlir::StringAttr, mlir::Value> &at =
                                           llvm::DenseMap<mlir::StringAttr, mlir::Value>());
  /// A dim as long as `like`, which nothing has yet.
  mlir::StringAttr addDim(mlir::StringAttr like);
  /// A dim with an index for each combination of indices along `dims`, the same one each time: it
  /// is for sums that are complete before the next one is asked for.
  mlir::StringAttr scratchDim(llvm::ArrayRef<mlir::StringAttr> dims);

private:
  /// `size` is null for a static extent.
  mlir::StringAttr addDim(mlir::StringAttr like, int64_t extent, mlir::Value size);

  attn::ProgramOp program;
  mlir::OpBuilder b;
  mlir::Location loc;
  std::map<std::vector<void const *>, mlir::StringAttr> scratch; // by dims
};

} // namespace attnc

#endif
