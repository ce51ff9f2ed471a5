// Strided views over shared storage, and the count of the bytes that are alive.
#ifndef ATTNC_COMPILER_EVALUATOR_TENSOR_H
#define ATTNC_COMPILER_EVALUATOR_TENSOR_H

#include "compiler/evaluator/evaluator.h"

#include <atomic>
#include <cmath>
#include <memory>

namespace attnc::evaluator {

using Dims = llvm::SmallVector<mlir::StringAttr, 6>;
using Extents = llvm::SmallVector<int64_t, 6>;

/// Counts the bytes of intermediate arrays against a limit. Outlives every tensor made from it.
class Memory {
public:
  explicit Memory(uint64_t limit) : limit(limit) {}
  /// Takes `bytes`, or fails with a message that names the limit.
  llvm::Error take(uint64_t bytes);
  void release(uint64_t bytes) { used -= bytes; }

private:
  uint64_t limit;
  std::atomic<uint64_t> used = 0;
};

/// Elements that belong to one computed array.
struct Storage {
  Memory &memory;
  uint64_t bytes;
  std::vector<double> value;
  std::vector<int64_t> integer;
  std::vector<double> error;
  std::vector<double> gross; // empty if it is the magnitude of the value
  ~Storage() { memory.release(bytes); }
};

/// A factor of 16 bits of a sum of products: a read of an input over `dims`.
struct NarrowFactor {
  Dims dims;
  double unit, floor; // roundoff and smallest subnormal, as of Tensor
};

/// A view: one stride (in elements, 0 to broadcast) for each dim. Copies share the elements.
struct Tensor {
  Dims dims;
  Extents shape;
  Extents strides;
  ElementKind kind = ElementKind::Real;
  const double *value = nullptr;
  const int64_t *integer = nullptr;
  const double *error = nullptr; // null if exact
  /// What the terms that a fused program adds up apart come to in magnitude; null if that is the
  /// magnitude of the value (docs/notes/error-analysis.md).
  const double *gross = nullptr;
  std::shared_ptr<Storage> storage; // null if the elements are the caller's
  /// Unit roundoff and smallest subnormal of the 16-bit input that this is a read of, else 0.
  double narrowUnit = 0;
  double narrowFloor = 0;
  /// If this is a sum of products: its factors of 16 bits, which another order of products
  /// multiplies by what this is multiplied by.
  std::vector<NarrowFactor> narrowFactors;
  /// True if this is a read of an input (of any type).
  bool isRead = false;

  int64_t size() const;
  /// The stride along `dim`, 0 if the tensor has not got it.
  int64_t strideOf(mlir::StringAttr dim) const;
  bool hasDim(mlir::StringAttr dim) const { return llvm::is_contained(dims, dim); }
  double grossAt(int64_t offset) const { return gross ? gross[offset] : std::fabs(value[offset]); }
};

int64_t product(llvm::ArrayRef<int64_t> extents);

/// Row-major strides.
Extents rowMajor(llvm::ArrayRef<int64_t> shape);

/// A fresh row-major tensor of zeros with room for errors; its storage may be written until it is
/// read for the first time.
llvm::Expected<Tensor> makeTensor(Memory &memory, llvm::ArrayRef<mlir::StringAttr> dims,
                                  llvm::ArrayRef<int64_t> shape, ElementKind kind);

/// Room in a fresh tensor of floats for gross magnitudes.
llvm::Error addGross(Tensor &tensor);

/// Forgets the errors of a fresh tensor if all are zero.
void dropZeroErrors(Tensor &tensor);

/// The offsets of all points of a box, row-major, from one stride for each of its dims.
std::vector<int64_t> offsetsOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// The kind of a compute type (f32, f64, i64, i1) or storage type.
ElementKind kindOf(mlir::Type element);

/// Splits [0, count) into contiguous pieces and runs `body(begin, end)` for each, on `threads`
/// threads. Pieces are multiples of `grain`, but for the last.
void parallelFor(int64_t count, int64_t grain, unsigned threads,
                 llvm::function_ref<void(int64_t, int64_t)> body);

} // namespace attnc::evaluator

#endif
