#include "compiler/transforms/lower_to_nests.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/partition.h"

namespace attnc {

void lowerToNests(attn::ProgramOp program) {
  toFoldForm(program);
  // Lengths are notes; what they are computed from belongs to the nests alone.
  for (auto extent : llvm::make_early_inc_range(program.getBodyBlock()->getOps<attn::ExtentOp>()))
    if (!extent.getValue().getType().isScalar())
      extent.erase();
  outlineFolds(program);
}

void outlineFolds(attn::ProgramOp program) {
  Partition partition;
  for (auto fold : program.getBodyBlock()->getOps<red::FoldOp>())
    partition.push_back({attn::dimNames(fold.getDims()), {fold}, {}});
  outlineNests(program, partition);
}

} // namespace attnc
