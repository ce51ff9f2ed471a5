#include "compiler/schedule/slab/cells.h"
#include "compiler/schedule/nest/kernel_memory.h"
#include "dialects/Tile/ElementTypes.h"
#include "runtime/program/manifest.h"

using namespace mlir;

namespace attnc::schedule {

bool liesInSlab(Value result) {
  auto nest = result.getDefiningOp<red::NestOp>();
  return nest && nest->hasAttr(kSlabAttr) && nest.states().empty();
}

SlabCells slabCells(red::NestOp nest) {
  Builder builder(nest.getContext());
  auto apply = [&](StringRef op, Attribute x, Attribute y) -> Attribute {
    return builder.getArrayAttr({builder.getStringAttr(op), x, y});
  };
  auto number = [&](int64_t value) -> Attribute { return builder.getI64IntegerAttr(value); };
  SlabCells cells;
  cells.all = number(1);
  for (StringAttr dim : attn::dimNames(nest.getGrid()))
    cells.all = gridApply("mul", cells.all, gridExtent(nest, dim));
  int64_t bytes = 0; // of all values for one pair of indices
  for (auto other : attn::programOf(nest).getBodyBlock()->getOps<red::NestOp>())
    for (Value result : other.getResults())
      if (liesInSlab(result))
        bytes += tile::elementType(tensorOf(result).element).bytes;
  Attribute pairs = gridApply("mul", gridExtent(nest, cast<StringAttr>(nest.getRow()[0])),
                              gridExtent(nest, cast<StringAttr>(nest.getStream()[0])));
  cells.bytes = apply("max", apply("mul", number(bytes), pairs), number(1));
  int64_t room = nest->getAttrOfType<IntegerAttr>(kSlabAttr).getInt();
  // As many slabs as a loop has passes are the most.
  Attribute least = apply("max", apply("ceildiv", cells.all, number(maxLoopPasses)), number(1));
  Attribute fit = apply("max", apply("floordiv", number(room), cells.bytes), least);
  // Slabs of one size, as far as that goes.
  cells.slabs = apply("ceildiv", cells.all, fit);
  cells.together = apply("ceildiv", cells.all, apply("max", cells.slabs, number(1)));
  Attribute at =
      builder.getArrayAttr({builder.getStringAttr("let"), builder.getStringAttr(kSlabIndex)});
  cells.first = apply("mul", at, cells.together);
  cells.end = apply("min", apply("add", cells.first, cells.together), cells.all);
  return cells;
}

} // namespace attnc::schedule
