// A program with gradients as two: what runs before the outputs' gradients are known, and after.
#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_HALVE_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_HALVE_H

#include "dialects/Red/Red.h"
#include <set>
#include <string>
#include <vector>

namespace attnc {

/// What the first half stores for the second.
struct SavedValue {
  std::string name; ///< of the output and of the input: "saved_p_max"
  mlir::Type element;
  llvm::SmallVector<mlir::StringAttr> dims; ///< in the order in memory
};

/// Makes `first` (of a program in fold form or in nests, and `second`, its clone) the program
/// without the inputs `later` and without the outputs `ofSecond`, with an output for each value
/// that is saved, and `second` the one that has these as inputs and no outputs but `ofSecond`; both
/// in fold form. Inputs that `second` does not need are left out, but for those of `later`: what it
/// takes of these does not depend on what is asked of it.
///
/// Saved are folds that do not depend on the inputs `later`, are needed with them, and are no
/// larger than the program's tensors while computing them costs more by an extent. Others, as the
/// scores of each query and key, are computed again.
std::vector<SavedValue> halve(attn::ProgramOp first, attn::ProgramOp second,
                              const std::set<std::string> &later,
                              const std::set<std::string> &ofSecond);

} // namespace attnc

#endif
