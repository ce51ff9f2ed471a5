#include "compiler/schedule/operand_maps.h"
#include "dialects/Tile/Tile.h"

using namespace mlir;

namespace attnc::schedule {

// The axes of a tensor map: cuTensorMapEncodeTiled.
static constexpr size_t kMostAxes = 5;

static OperandMap mapOf(OperandMap::Kind kind, attn::ReadOp read, unsigned rowAxis, int64_t rows,
                        int64_t cols, Type element) {
  unsigned rank = tensorOf(read.getSource()).dims.size();
  OperandMap map{kind, read, rowAxis, rows, cols, element, SmallVector<int64_t>(rank, 1)};
  map.box.front() = tile::panelColumns(element);
  map.box[rank - 1 - rowAxis] = rows;
  return map;
}

SmallVector<OperandMap> operandMaps(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  SmallVector<OperandMap> maps;
  auto add = [&](OperandMap::Kind kind, const OperandTile &tile, int64_t rows) {
    maps.push_back(mapOf(kind, tile.read, tile.rowAxis, rows, tile.cols, tile.element));
  };
  for (const Contraction &contraction : plan.contractions)
    if (llvm::none_of(maps, [&](OperandMap &map) {
          return map.read == attn::ReadOp(contraction.resident.read);
        }))
      add(OperandMap::Kind::Resident, contraction.resident, schedule.rowTile());
  for (const OperandTile &operand : plan.streamed)
    add(OperandMap::Kind::Streamed, operand, schedule.streamTile);
  for (const InputTile &input : plan.inputs)
    if (tensorOf(attn::ReadOp(input.read).getSource()).dims.size() <= kMostAxes)
      maps.push_back(mapOf(OperandMap::Kind::Input, input.read, input.rowAxis, schedule.rowTile(),
                           schedule.streamTile, input.element));
  return maps;
}

SmallVector<OperandMap> operandMaps(red::NestOp nest) {
  DictionaryAttr attr = nest.getScheduleAttr();
  auto form = attr ? attr.getAs<StringAttr>("form") : StringAttr();
  std::string why;
  if (!form || form != "warpgroups")
    return {};
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan))
    return {};
  return operandMaps(*plan, WarpgroupSchedule::from(attr));
}

} // namespace attnc::schedule
