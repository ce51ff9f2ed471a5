#include "compiler/schedule/lower_stream.h"
#include "compiler/schedule/operand_maps.h"
#include "compiler/schedule/stream_parts.h"
#include "compiler/schedule/warpgroup_frame.h"

using namespace mlir;

namespace attnc::schedule {

static Attribute blocksOf(red::NestOp nest, const StreamPlan &plan,
                          const WarpgroupSchedule &schedule, Builder &builder) {
  Attribute blocks = gridApply("ceildiv", gridExtent(nest, plan.row),
                               builder.getI64IntegerAttr(schedule.rowIndices()));
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>()) {
    Attribute extent = gridExtent(nest, dim);
    if (schedule.pack != 1 && dim == plan.packing->dim)
      extent = gridApply("ceildiv", extent, builder.getI64IntegerAttr(schedule.pack));
    blocks = gridApply("mul", blocks, extent);
  }
  blocks = gridApply("mul", builder.getI64IntegerAttr(columnParts(plan)), blocks);
  if (!schedule.persistent)
    return blocks;
  Attribute all = builder.getArrayAttr({builder.getStringAttr("multiprocessors")});
  return gridApply("min", blocks, all);
}

FailureOr<tile::KernelOp> lowerWarpgroupNest(red::NestOp nest, OpBuilder &builder) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan) || !canUseWarpgroups(nest, *plan, why))
    return nest.emitOpError("has no warpgroup form: ") << why;
  WarpgroupSchedule schedule = WarpgroupSchedule::from(nest.getScheduleAttr());
  *plan = cutPlan(*plan, schedule.columns, schedule.depth);

  OpBuilder::InsertionGuard guard(builder);
  KernelSignature signature(nest);
  auto kernel = tile::KernelOp::create(
      builder, nest.getLoc(), kernelName(nest), argumentTypes(signature, nest.getContext()),
      builder.getArrayAttr({blocksOf(nest, *plan, schedule, builder)}), schedule.threads(),
      sharedBytes(*plan, schedule));
  kernel->setAttr("schedule", schedule.toAttr(nest.getContext()));
  kernel.setMinBlocks(1);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  WarpgroupFrame frame(nest, *plan, schedule, signature, kernel, builder);
  BlockPlaces block = frame.place();
  buildCopies(nest, *plan, schedule, signature, kernel, builder, block);
  SmallVector<Value> indices =
      buildCompute(nest, *plan, schedule, signature, kernel, builder, block);
  simplifyStream(nest, signature, kernel, indices, /*spreadsFactors=*/true);
  return kernel;
}

} // namespace attnc::schedule
