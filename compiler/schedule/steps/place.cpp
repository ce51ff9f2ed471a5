#include "compiler/schedule/steps/place.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {

static int64_t slotsBytes(PipeOp pipe) {
  return pipe.getType().getStages() * pipe.getType().getStride();
}

// Of a barrier for "full" and one for "free", of each slot.
static int64_t barrierBytes(PipeOp pipe) { return 16 * pipe.getType().getStages(); }

void placeShared(KernelOp kernel) {
  if (kernel.getSmem() != 0 || kernel.getBodyBlock()->getOps<PipeOp>().empty())
    return;
  int64_t end = 0;
  for (PipeOp pipe : kernel.getBodyBlock()->getOps<PipeOp>())
    if (pipe.getType().getTile().hasPanels() && !pipe.getRing()) {
      pipe.setOffset(end);
      end += slotsBytes(pipe);
    }
  for (SharedOp shared : kernel.getBodyBlock()->getOps<SharedOp>()) {
    shared.setOffset(end);
    if (auto barriers = dyn_cast<BarriersType>(shared.getType()))
      end += llvm::alignTo(8 * barriers.getCount(), 16);
    else
      end += cast<SharedType>(shared.getType()).getBytes();
  }
  for (PipeOp pipe : kernel.getBodyBlock()->getOps<PipeOp>()) {
    if (pipe.getRing()) {
      auto ring = pipe.getRing().getDefiningOp<PipeOp>();
      pipe.setOffset(ring.getOffset());
      pipe.setBarriers(ring.getBarriers());
      pipe.getRingMutable().clear();
      continue;
    }
    if (!pipe.getType().getTile().hasPanels()) {
      pipe.setOffset(end);
      end += slotsBytes(pipe);
    }
    pipe.setBarriers(end);
    end += barrierBytes(pipe);
  }
  kernel.setSmem(end);
}

} // namespace attnc::schedule
