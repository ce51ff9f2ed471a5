// The elements of a map as a tape: swept forward for values, and back for gradients.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_MAP_TAPE_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_MAP_TAPE_H

#include "compiler/evaluator/float64/scalar_program.h"
#include "compiler/evaluator/reverse/adjoints.h"
#include "compiler/evaluator/reverse/scalar_derivatives.h"

namespace attnc::evaluator {

/// The ops of a map and of the maps that are expanded in it, over chunks of elements. Every value
/// keeps a register of its own, as the sweep back needs them all.
class MapTape {
public:
  /// The tape of what `map` computes. Fails on an op that cannot be evaluated.
  static llvm::Expected<MapTape> ofMap(attn::MapOp map, const ArrayValues &values);
  /// The tape that reads `array`, expanded if it is not stored.
  static llvm::Expected<MapTape> ofOperand(mlir::Value array, const ArrayValues &values);

  /// Prepares the sweep back. Fails on an op that has no derivative though reals that are
  /// differentiated reach it, and on the limit of memory.
  llvm::Error differentiate(Adjoints &adjoints);

  /// Walks `space`, which has all dims of the arrays that are read: calls `body(start, count)` for
  /// one chunk of its elements after the other, row-major.
  void walk(const Space &space, llvm::function_ref<void(int64_t, int64_t)> body);

  /// In a walk, the values of a chunk.
  const Register &forward(int64_t start, int64_t count);

  /// In a walk, after forward of the same chunk: adds to the adjoints of the arrays that are read
  /// what `seed`, the adjoint of each element, brings them.
  void backward(int64_t start, int64_t count, llvm::ArrayRef<double> seed);

private:
  friend class TapeCompiler;
  struct Leaf {
    mlir::Value array;
    Tensor values;
    unsigned result; // a register, as in an instruction
    Extents strides = {};
    Tensor adjoint = {}; // without storage if none is wanted
    Extents adjointStrides = {};
  };
  struct Step {
    mlir::Operation *op;
    Instruction instruction;
    Derivative derivative = {};
  };

  void load(const Leaf &leaf, int64_t start, int64_t count);
  void sweepBack(const Step &step, int64_t count);

  std::vector<Leaf> leaves;
  std::vector<Step> steps;
  std::vector<Register> registers;
  std::vector<std::vector<double>> adjoints; // for each register; empty if no reals reach it
  const Adjoints *arrays = nullptr;          // that the sweep back adds to
  unsigned root = 0;
  Extents shape;
};

/// Adds `values` to the elements [start, start + count) of a walk over `shape`, which lie in `to`
/// at these strides.
void addStrided(double *to, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                int64_t start, int64_t count, llvm::ArrayRef<double> values);

/// Copies these elements out of `from`.
void loadStrided(const double *from, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                 int64_t start, int64_t count, llvm::MutableArrayRef<double> values);

} // namespace attnc::evaluator

#endif
