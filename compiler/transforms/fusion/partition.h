// A division of a program's folds into passes, and its outlining into nests.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_PARTITION_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_PARTITION_H

#include "compiler/transforms/derivation/derivation.h"
#include "dialects/Red/Red.h"
#include <vector>

namespace attnc {

/// One pass over `stream`: the folds that it keeps as states.
struct Pass {
  llvm::SmallVector<mlir::StringAttr> stream;
  llvm::SmallVector<red::FoldOp> states;
  std::vector<derivation::Step> derivation; ///< becomes the nest's
};

/// The passes of a program in an order in which they can run. Folds that belong to no pass are
/// computed, again and again if need be, inside the tiles of the nests that use them.
using Partition = std::vector<Pass>;

/// Turns a program in fold form (see fold_form.h) into one of red.nests: one for each pass, and one
/// for each output (or array that is read at computed subscripts) that no pass can finish. A value
/// that one nest needs from another is stored where its dims have lost the stream of the nest that
/// makes it; everything before that point is recomputed.
void outlineNests(attn::ProgramOp program, const Partition &partition);

/// The inverse: the bodies of all nests at the level of the program, in fold form.
void flattenNests(attn::ProgramOp program);

/// True if `fold`, a sum over inner dims that is no state, can follow the stream of the last pass
/// that it depends on: it folds what the states leave there, over dims that they have, and gives
/// one value for what all of them have in common, a row. Passes need not be complete.
bool foldsInEpilogue(red::FoldOp fold, const Partition &passes);

/// True if `value` depends on one of `folds` inside the program's flat form.
bool dependsOn(mlir::Value value, llvm::ArrayRef<red::FoldOp> folds);

} // namespace attnc

#endif
