#include "compiler/transforms/lower_to_nests.h"
#include "compiler/transforms/fold_form.h"
#include "compiler/transforms/partition.h"

namespace attnc {

void lowerToNests(attn::ProgramOp program) {
  toFoldForm(program);
  Partition partition;
  for (auto fold : program.getBodyBlock()->getOps<red::FoldOp>())
    partition.push_back({attn::dimNames(fold.getDims()), {fold}, {}});
  outlineNests(program, partition);
}

} // namespace attnc
