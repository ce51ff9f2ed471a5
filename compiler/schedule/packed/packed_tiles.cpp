#include "compiler/schedule/packed/packed_tiles.h"
#include "compiler/schedule/nest/kernel_memory.h"

using namespace mlir;

namespace attnc::schedule {

SmallVector<red::PackOp> packsOf(red::NestOp nest) {
  SmallVector<red::PackOp> packs;
  for (Value result : nest.getResults())
    if (red::PackOp pack = packOf(result))
      packs.push_back(pack);
  return packs;
}

red::PackOp packOfTiles(red::NestOp nest, const StreamPlan &plan) {
  SmallVector<red::PackOp> packs = packsOf(nest);
  if (packs.size() != nest.getNumResults() || !plan.pairs.empty())
    return {};
  auto isLikeFirst = [&](red::PackOp pack) {
    return pack.getStart() == packs.front().getStart() &&
           pack.getCount() == packs.front().getCount() && pack.getDimAttr() == plan.row;
  };
  return llvm::all_of(packs, isLikeFirst) ? packs.front() : red::PackOp();
}

red::PackOp packOfTiles(red::NestOp nest, const StreamPlan &plan,
                        const tile::WarpgroupSchedule &schedule) {
  return schedule.pack == 1 && !schedule.residentInputs ? packOfTiles(nest, plan) : red::PackOp();
}

Attribute packedRowTiles(red::PackOp pack, int64_t rows, Builder &builder) {
  auto nest = pack.getPadded().getDefiningOp<red::NestOp>();
  Attribute ofRows =
      gridApply("ceildiv", gridExtent(nest, pack.rows()), builder.getI64IntegerAttr(rows));
  return gridApply("add", ofRows, gridExtent(nest, pack.over()));
}

} // namespace attnc::schedule
