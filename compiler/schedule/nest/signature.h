// What a kernel is called with: the tensors, strides, sizes and params that a nest needs.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_SIGNATURE_H
#define ATTNC_COMPILER_SCHEDULE_NEST_SIGNATURE_H

#include "dialects/Red/Red.h"
#include "llvm/ADT/DenseSet.h"
#include <string>

namespace attnc::schedule {

class PlannedNest;
struct OperandMap;

/// A tensor in memory: an input, an output or an intermediate of the program.
struct Tensor {
  enum class Kind { Input, Output, Intermediate };
  Kind kind;
  std::string name;
  mlir::Type element;                       ///< storage type: f16, bf16, f32, f64, iN; i1 is a byte
  llvm::SmallVector<mlir::StringAttr> dims; ///< in storage order; the last one has stride 1
};

/// The tensor that holds `value`: an attn.input's result or a nest's result, as it is or packed. A
/// nest's result is either an output (its only use is one attn.output) or an intermediate: compute
/// type, dims in program order, contiguous, named `<value's name>` made unique. The results of
/// red.encode are intermediates, too.
Tensor tensorOf(mlir::Value value);

/// What packs a nest's result, or null. Its tensor is that of the packed rows, along whose axis
/// lies the index within a sequence.
red::PackOp packOf(mlir::Value result);

/// Which part of an operand of f32 that products take as two of f16 (encoded_operands.h).
enum class Half { None, High, Low };

/// One kernel argument, passed by value.
struct KernelArg {
  enum class Kind {
    Pointer,   ///< address of element 0 of `tensor`
    Stride,    ///< i64 stride, in elements, of axis `axis` of `tensor`
    Size,      ///< i64 extent of `dim`
    Param,     ///< the param `name`: f32, or i64
    TensorMap, ///< `tensor` for copies of boxes of `box` elements, innermost axis first
    Counter,   ///< address of an i32 that is 0 when the kernel starts and when it ends
    Cells, ///< i32 of the slab at hand (slab/cells.h): its first cell, and with axis 1 their end
  };
  Kind kind;
  std::string name; ///< a C identifier, unique but for the counter's: q, q_stride0, size_j, scale
  /// Pointer, Stride, Param: the captured value, or the nest's result; Cells: a result of the nest.
  mlir::Value array;
  unsigned axis = 0;      ///< Stride
  mlir::StringAttr dim;   ///< Size
  attn::ReadOp read = {}; ///< TensorMap: the operand that arrives through it; null of results
  llvm::SmallVector<int64_t> box = {};
  Half half = Half::None; ///< TensorMap: of the operand
  int swizzle = 128;      ///< TensorMap: bytes of the pattern; 0: none, of tiles of one row

  /// True if both are always called with the same.
  bool isSame(const KernelArg &other) const;
};

/// The arguments of the kernel of a nest, in order: for each captured tensor and then each result
/// its tensor maps, and, unless all reads of it go through these, its pointer and the strides of
/// all axes but the last; the sizes of all dynamic dims that the nest or its tensors mention, in
/// program order; the params; the counter of drawn row tiles; last, of a nest that has encodings
/// and a schedule which takes none, what says that these lose something. Which operands arrive
/// through tensor maps, and whether row tiles are drawn, is said by the nest's schedule.
class KernelSignature {
public:
  explicit KernelSignature(PlannedNest &planned);
  /// Of a nest that has no plans yet.
  explicit KernelSignature(red::NestOp nest);
  /// Of a kernel that has these alone: of each tensor the pointer and the strides, and all sizes.
  KernelSignature(attn::ProgramOp program, llvm::ArrayRef<mlir::Value> tensors,
                  llvm::ArrayRef<mlir::Value> params);

  /// Of a kernel that does what those of the nests do: all their arguments, each once, but for the
  /// results that a chain keeps (chains/chain_memory.h).
  explicit KernelSignature(llvm::ArrayRef<red::NestOp> nests);

  llvm::ArrayRef<KernelArg> args() const { return list; }
  /// That of the same argument; asserts that it exists.
  unsigned position(const KernelArg &arg) const;
  /// Position of an argument; asserts that it exists.
  unsigned pointer(mlir::Value array) const;
  unsigned stride(mlir::Value array, unsigned axis) const;
  unsigned param(mlir::Value array) const;
  unsigned tensorMap(attn::ReadOp read, Half half = Half::None) const;
  unsigned tensorMap(mlir::Value result) const;
  unsigned size(mlir::StringAttr dim) const;
  unsigned counter() const;
  unsigned cells(bool isEnd) const;

private:
  /// The pointer and the strides of a tensor.
  void addTensor(mlir::Value array);
  void addOnce(mlir::Value array);
  void addParams(llvm::ArrayRef<mlir::Value> params);
  /// The map of half of an encoded operand, and its scales.
  void addHalf(red::NestOp nest, const OperandMap &map);
  /// The sizes of those of the program's dims that are dynamic and in `dims`.
  void addSizes(attn::ProgramOp program, const llvm::SmallDenseSet<mlir::StringAttr> &dims);

  llvm::SmallVector<KernelArg> list;
};

/// `text` as a C identifier: letters, digits and _; other bytes become _uXX.
std::string cIdentifier(llvm::StringRef text);

/// The kernel's name: the program's name and the names of the nest's results.
std::string kernelName(red::NestOp nest);

} // namespace attnc::schedule

#endif
