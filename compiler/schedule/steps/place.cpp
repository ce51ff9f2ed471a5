#include "compiler/schedule/steps/place.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {

static int64_t slotsBytes(PipeOp pipe) {
  return pipe.getType().getStages() * pipe.getType().getStride();
}

// Of what stands in a tile.shared.
static int64_t bytesOf(Type type) {
  if (auto barriers = dyn_cast<BarriersType>(type))
    return 8 * barriers.getCount();
  if (auto ring = dyn_cast<RingType>(type))
    return ring.getStages() * ring.getTile().getBytes();
  return cast<SharedType>(type).getBytes();
}

// An asynchronous copy of a vector takes multiples of 16.
static int64_t alignmentOf(Type type) {
  auto tile = dyn_cast<SharedType>(type);
  return tile && tile.hasPanels() ? kSwizzleBytes : 16;
}

void placeShared(KernelOp kernel) {
  if (kernel.getSmem() != 0 || kernel.getBodyBlock()->getOps<PipeOp>().empty())
    return;
  int64_t end = 0;
  for (PipeOp pipe : kernel.getBodyBlock()->getOps<PipeOp>())
    if (pipe.getType().getTile().hasPanels() && !pipe.getRing()) {
      pipe.setOffset(llvm::alignTo(end, kSwizzleBytes));
      end = static_cast<int64_t>(pipe.getOffset()) + slotsBytes(pipe);
    }
  for (SharedOp shared : kernel.getBodyBlock()->getOps<SharedOp>()) {
    shared.setOffset(llvm::alignTo(end, alignmentOf(shared.getType())));
    end = static_cast<int64_t>(shared.getOffset()) + bytesOf(shared.getType());
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
      pipe.setOffset(llvm::alignTo(end, 16));
      end = static_cast<int64_t>(pipe.getOffset()) + slotsBytes(pipe);
    }
    pipe.setBarriers(llvm::alignTo(end, 16));
    end = static_cast<int64_t>(pipe.getBarriers()) + pipe.barrierBytes();
  }
  kernel.setSmem(end);
}

} // namespace attnc::schedule
