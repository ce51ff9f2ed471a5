#include "compiler/schedule/warpgroups/warpgroup_compute.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

void WarpgroupCompute::storeFragment(Value array, Value result, bool last) {
  Value into = epilogueFragment(array, result, last);
  if (Value tile = resultTiles.lookup(result))
    return storeBox(into, result, tile, columnPart ? partBegin() : Value());
  Location loc = array.getLoc();
  auto [indices, rowAxis] = rowAxisOf(result);
  Value base =
      memory.offset(b, named(cIdentifier(tensorOf(result).name) + "_base"), result, indices);
  int64_t extent = attn::programOf(nest).lookupDim(tensorOf(result).dims.back()).getExtent();
  if (columnPart)
    base = arith::AddIOp::create(b, loc, base, widen(partBegin(), ""));
  tile::StoreFragmentRowsOp::create(b, loc, into, storeBegin(), storeEnd(result),
                                    memory.pointer(result), base, memory.stride(result, rowAxis),
                                    columnsLeft(extent, std::min(extent, tiles.partColumns)));
}

// Each warp stores its own rows, so that no other one has to wait. What lies beyond the extent of
// the rows is not written.
void WarpgroupCompute::storeBox(Value fragment, Value result, Value tile, Value column) {
  Location loc = fragment.getLoc();
  if (schedule.persistent || !plan.pairs.empty())
    awaitStores();
  Value strip = warpStrip(loc, tile);
  tile::StoreFragmentOp::create(b, loc, fragment, strip);
  tile::PublishOp::create(b, loc);
  byOneThread([&] {
    storeStrip(strip, result, column);
    tile::StoreCommitOp::create(b, loc);
  });
}

void WarpgroupCompute::storeStrip(Value strip, Value result, Value column) {
  SmallVector<Value> at;
  auto [indices, rowAxis] = rowAxisOf(result);
  takeSlabIndices(result, indices);
  for (auto [axis, index] : llvm::enumerate(indices))
    if (static_cast<int>(axis) == rowAxis)
      at.push_back(storeBegin());
    else if (index)
      at.push_back(narrow(index, ""));
  std::reverse(at.begin(), at.end());
  if (column)
    at.insert(at.begin(), column);
  tile::StoreBoxOp::create(b, strip.getLoc(), strip, memory.tensorMap(result), at);
}

// Until the warp's rows of the results' tiles may be written again, or shared memory be given back.
void WarpgroupCompute::awaitStores() {
  Location loc = nest.getLoc();
  byOneThread([&] { tile::StoreWaitOp::create(b, loc, b.getI64IntegerAttr(0), b.getUnitAttr()); });
  tile::WarpSyncOp::create(b, loc);
}

void WarpgroupCompute::byOneThread(llvm::function_ref<void()> build) {
  auto single = tile::SingleOp::create(b, nest.getLoc(), b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  build();
}

} // namespace attnc::schedule
