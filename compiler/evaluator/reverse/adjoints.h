// The adjoints of a program's arrays: what the result gains where an element of them grows.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_ADJOINTS_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_ADJOINTS_H

#include "compiler/evaluator/reverse/array_values.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

namespace attnc::evaluator {

/// True of arrays of floats.
bool isReal(mlir::Value array);

/// What a sweep back adds up: shares of the adjoints, or their magnitudes, so that nothing cancels.
enum class Sweep { Gradients, Magnitudes };

/// Dense arrays of sums, one for each array that has received something, in the order of its dims.
/// They exist for real arrays that depend on the wanted ones alone.
class Adjoints {
public:
  Adjoints(attn::ProgramOp program, llvm::ArrayRef<mlir::Value> wanted, const ArrayValues &values,
           Memory &memory, Sweep sweep = Sweep::Gradients);

  Sweep sweep() const { return kind; }

  /// What the sweep adds for a share of an adjoint.
  double counted(double share) const { return kind == Sweep::Gradients ? share : std::fabs(share); }

  /// True if `array` is of reals and depends on one that is wanted.
  bool isActive(mlir::Value array) const { return active.contains(array); }

  /// The adjoint of an active array, to add to; zeros at first.
  llvm::Expected<Tensor> of(mlir::Value array);

  /// The adjoint of `array` if something has been added to it, else null.
  const Tensor *find(mlir::Value array) const;

  /// Frees the adjoint of an array that needs it no longer.
  void drop(mlir::Value array) { sums.erase(array); }

private:
  const ArrayValues &values;
  Memory &memory;
  Sweep kind;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, Tensor> sums;
};

} // namespace attnc::evaluator

#endif
