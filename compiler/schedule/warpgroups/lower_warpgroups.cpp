#include "compiler/schedule/choice/packing.h"
#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "compiler/schedule/nest/kernel_memory.h"
#include "compiler/schedule/packed/packed_tiles.h"
#include "compiler/schedule/portable/lower_portable.h"
#include "compiler/schedule/slab/cells.h"
#include "compiler/schedule/steps/lower_to_steps.h"
#include "compiler/schedule/stream/tiled_plan.h"

using namespace mlir;

namespace attnc::schedule {

static Attribute blocksOf(red::NestOp nest, const StreamPlan &plan,
                          const WarpgroupSchedule &schedule, Builder &builder) {
  red::PackOp pack = packOfTiles(nest, plan, schedule);
  Attribute blocks = pack ? packedRowTiles(pack, schedule.rowIndices(), builder)
                          : gridApply("ceildiv", gridExtent(nest, plan.row),
                                      builder.getI64IntegerAttr(schedule.rowIndices()));
  bool inSlab = nest->hasAttr(kSlabAttr);
  if (inSlab) { // blocks that stay count the cells themselves
    SlabCells cells = slabCells(nest);
    blocks = gridApply("mul", blocks,
                       schedule.persistent ? cells.together
                                           : builder.getArrayAttr({builder.getStringAttr("sub"),
                                                                   cells.end, cells.first}));
  }
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>()) {
    if (inSlab || (pack && dim == pack.over()))
      continue;
    Attribute extent = gridExtent(nest, dim);
    if (schedule.pack != 1 && dim == plan.packing->dim)
      extent = packedTiles(nest, *plan.packing, schedule.pack);
    blocks = gridApply("mul", blocks, extent);
  }
  blocks = gridApply("mul", builder.getI64IntegerAttr(columnBlocks(plan, schedule)), blocks);
  if (!schedule.persistent)
    return blocks;
  Attribute all = builder.getArrayAttr({builder.getStringAttr("multiprocessors")});
  if (schedule.minBlocks() > 1)
    all = gridApply("mul", all, builder.getI64IntegerAttr(schedule.minBlocks()));
  return gridApply("min", blocks, all);
}

FailureOr<tile::KernelOp> lowerWarpgroupNest(PlannedNest &planned, OpBuilder &builder) {
  red::NestOp nest = planned.op();
  std::string why = planned.whyNoStream();
  if (!planned.ofHalves() || !canUseWarpgroups(*planned.ofHalves(), why))
    return nest.emitOpError("has no warpgroup form: ") << why;
  WarpgroupSchedule schedule = cast<tile::WarpgroupsAttr>(nest.getScheduleAttr()).getValue();
  StreamPlan plan =
      tiledPlan(*planned.ofHalves(), schedule.headDimTile, schedule.depth, schedule.blocks());

  OpBuilder::InsertionGuard guard(builder);
  KernelSignature signature(planned);
  auto kernel = tile::KernelOp::create(
      builder, nest.getLoc(), kernelName(nest), argumentTypes(signature, nest.getContext()),
      builder.getArrayAttr({blocksOf(nest, plan, schedule, builder)}), schedule.threads(),
      /*smem=*/0);
  kernel.setScheduleAttr(nest.getScheduleAttr());
  kernel.setMinBlocks(schedule.minBlocks());
  if (schedule.cluster)
    kernel.setCluster(schedule.blocks());
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  lowerToSteps(nest, plan, schedule, signature, kernel, builder);
  askForCleanUp(kernel, nest, signature, /*indices=*/{}, /*spreadsFactors=*/true);
  return kernel;
}

} // namespace attnc::schedule
