#include "compiler/driver/kernels/outline_epilogues.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/transforms/derive_updates.h"
#include "compiler/transforms/outline_epilogue.h"

using namespace mlir;

namespace attnc::driver {

void outlineEpilogues(attn::ProgramOp program, StringRef target) {
  const schedule::GpuModel *machine = schedule::findGpuModel(target);
  if (!machine)
    return;
  for (auto nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>())) {
    if (!foldsInEpilogue(nest))
      continue;
    schedule::PlannedNest planned(nest);
    schedule::dropVainQuestions(planned);
    red::Schedule chosen = schedule::chooseSchedule(planned, *machine).schedule;
    // Without the folds tiles may take the nest: in parts of the columns, say.
    bool hasProducts = planned.stream() && planned.stream()->hasProducts();
    if (isa<tile::GenericAttr>(chosen) || (hasProducts && !chosen.hasTiles()))
      outlineEpilogue(nest);
  }
  deriveUpdates(program); // of the nests that were cut out
}

} // namespace attnc::driver
