// What a backward program computes of the forward one once more.
#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_RECOMPUTED_VALUES_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_RECOMPUTED_VALUES_H

#include "dialects/Red/Red.h"
#include <set>
#include <string>
#include <vector>

namespace attnc {

/// A value of the forward program that gradients need and that no input holds.
struct RecomputedValue {
  std::string name; ///< in the spec, or the expression that computes it
  mlir::Type element;
  llvm::SmallVector<mlir::StringAttr> dims;
  unsigned count = 1; ///< of values of one place: those of the turns of an iteration
  /// Of it, and of what it is computed from, back to the next folds and the next such values: these
  /// say in which nests it is computed once the program has some.
  llvm::SmallVector<mlir::Location> places;
};

/// Those of a program in fold form whose inputs `later` are the gradients of outputs: arrays of
/// reals that do not depend on these and are used with what does. If they were stored, nothing of
/// the forward program would be computed again. Scalars, and inputs as they are read, do not count.
std::vector<RecomputedValue> recomputedValues(attn::ProgramOp program,
                                              const std::set<std::string> &later);

/// For each nest of the program, in order, whether it computes each of `values`.
std::vector<std::vector<bool>> findInNests(attn::ProgramOp program,
                                           const std::set<std::string> &later,
                                           llvm::ArrayRef<RecomputedValue> values);

} // namespace attnc

#endif
