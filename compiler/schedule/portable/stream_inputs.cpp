#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/portable/warp_lowering.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {

constexpr int64_t kLeastCopy = 4; // bytes

SmallVector<StagedInput> stagedInputs(red::NestOp nest, const StreamPlan &plan,
                                      const PortableSchedule &schedule) {
  SmallVector<StagedInput> staged;
  if (schedule.columnWarps ||
      depthTiles(*TiledPlan(plan, schedule.headDimTile, schedule.depth)) > 1)
    return staged;
  auto tile = [&](int64_t rows, int64_t cols, Type element) {
    return tile::SharedType::get(nest.getContext(), rows, cols, element);
  };
  for (attn::ReadOp read : plan.vectors) {
    Type element = tensorOf(read.getSource()).element;
    int64_t bytes = tile::elementType(element).bytes;
    if (bytes >= kLeastCopy) // else code reads them
      staged.push_back({read, {}, false, tile(1, schedule.streamTile, element), bytes});
  }
  if (!schedule.copyInputs)
    return staged;
  auto add = [&](const InputTile &input, StringAttr last, int64_t rows, int64_t cols, bool turned) {
    attn::DimAttr dim = attn::programOf(nest).lookupDim(last);
    int64_t bytes = tile::elementType(input.element).bytes;
    if (dim.isStatic() || bytes >= kLeastCopy)
      staged.push_back({input.read, input.rowAxis, turned, tile(rows, cols, input.element),
                        dim.isStatic() ? dim.getExtent() * bytes : bytes});
  };
  for (const InputTile &input : plan.inputs)
    add(input, plan.stream, schedule.rowTile, schedule.streamTile, false);
  for (const InputTile &input : plan.turned)
    add(input, plan.row, schedule.streamTile, schedule.rowTile, true);
  return staged;
}

void WarpLowering::placeInputs(int64_t offset) {
  for (const StagedInput &input : stagedInputs(nest, plan, schedule)) {
    attn::ReadOp read = input.read;
    auto ring = tile::RingType::get(b.getContext(), schedule.stages, input.type);
    Value place = tile::SharedOp::create(b, named(sourceName(read) + "_ring"), ring,
                                         b.getI64IntegerAttr(offset));
    Value base = memory.offset(b, named(sourceName(read) + "_base"), read.getSource(),
                               operandIndices(read, input.rowAxis.value_or(~0u)));
    staged.push_back({input, place, base});
    offset += schedule.stages * input.type.getBytes();
  }
}

// Tile `slot` of the stream, whose columns begin at `first`. What lies beyond the extents is zero.
void WarpLowering::copyInput(const StagedRing &from, Value first, Value slot) {
  const StagedInput &input = from.input;
  attn::ReadOp read = input.read;
  Location loc = read.getLoc();
  Value into = tile::StageOp::create(b, loc, input.type, from.ring, slot);
  int64_t vectorBytes = std::gcd<int64_t>(16, input.rowBytes);
  auto copy = [&](Value offset, Value stride, Value rows, Value columns) {
    tile::CopyOp::create(b, loc, memory.pointer(read.getSource()), offset, stride, rows, columns,
                         into, b.getI64IntegerAttr(vectorBytes));
  };
  if (!input.rowAxis) {
    Value offset = arith::AddIOp::create(b, loc, from.base, widen(first, ""));
    Value columns = arith::SubIOp::create(b, loc, extent32(plan.stream), first);
    Value none = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    return copy(offset, none, constant(1), columns);
  }
  Value row = input.turned ? first : row0, column = input.turned ? row0 : first;
  Value stride = memory.stride(read.getSource(), *input.rowAxis);
  Value offset = arith::MulIOp::create(b, loc, widen(row, ""), stride);
  offset = arith::AddIOp::create(b, loc, from.base, offset);
  offset = arith::AddIOp::create(b, loc, offset, widen(column, ""));
  auto [down, across] =
      input.turned ? std::pair(plan.stream, plan.row) : std::pair(plan.row, plan.stream);
  Value rows = arith::SubIOp::create(b, loc, extent32(down), row), columns;
  attn::DimAttr last = attn::programOf(nest).lookupDim(across);
  if (!last.isStatic() || last.getExtent() % input.type.getCols())
    columns = arith::SubIOp::create(b, loc, extent32(across), column);
  copy(offset, stride, rows, columns);
}

void WarpLowering::beginInputs(Value slot) {
  stagedTiles.clear();
  for (const StagedRing &from : staged) {
    attn::ReadOp read = from.input.read;
    Value tile = tile::StageOp::create(b, named(sourceName(read) + "_tile"), from.input.type,
                                       from.ring, slot);
    stagedTiles[read.getResult()] = {tile, from.input.turned, !from.input.rowAxis};
  }
}

} // namespace attnc::schedule
