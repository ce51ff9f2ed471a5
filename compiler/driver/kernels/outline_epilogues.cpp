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
    if (isa<tile::GenericAttr>(schedule::chooseSchedule(planned, *machine).schedule))
      outlineEpilogue(nest);
  }
  deriveUpdates(program); // of the nests that were cut out
}

} // namespace attnc::driver
