// A division of a program's folds into passes, and its outlining into nests.
#ifndef ATTNC_COMPILER_TRANSFORMS_PARTITION_H
#define ATTNC_COMPILER_TRANSFORMS_PARTITION_H

#include "dialects/Red/Red.h"
#include <string>
#include <vector>

namespace attnc {

/// One pass over `stream`: the folds that it keeps as states.
struct Pass {
  llvm::SmallVector<mlir::StringAttr> stream;
  llvm::SmallVector<red::FoldOp> states;
  std::vector<std::string> notes; ///< how the pass was derived, in words, for explain
};

/// The passes of a program in an order in which they can run. Folds that belong to no pass are
/// computed, again and again if need be, inside the tiles of the nests that use them.
using Partition = std::vector<Pass>;

/// The discardable attribute of a nest that holds its pass's notes.
inline constexpr llvm::StringLiteral kNotesAttr = "red.notes";

/// Turns a program in fold form (see fold_form.h) into one of red.nests: one for each pass, and one
/// for each output (or array that is read at computed subscripts) that no pass can finish. A value
/// that one nest needs from another is stored where its dims have lost the stream of the nest that
/// makes it; everything before that point is recomputed.
void outlineNests(attn::ProgramOp program, const Partition &partition);

/// The inverse: the bodies of all nests at the level of the program, in fold form.
void flattenNests(attn::ProgramOp program);

/// True if `value` depends on one of `folds` inside the program's flat form.
bool dependsOn(mlir::Value value, llvm::ArrayRef<red::FoldOp> folds);

} // namespace attnc

#endif
