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

// True if something other than a product of tiles reads the operand.
static bool readsElements(const StreamPlan &plan, attn::ReadOp read) {
  return llvm::any_of(read->getUsers(), [&](Operation *user) {
    bool isScores = llvm::any_of(plan.contractions,
                                 [&](const Contraction &c) { return red::FoldOp(c.fold) == user; });
    bool isState = llvm::any_of(plan.states, [&](const StreamState &s) {
      return red::FoldOp(s.fold) == user && s.streamed != -1 &&
             attn::ReadOp(plan.streamed[s.streamed].read) == read;
    });
    return !isScores && !isState;
  });
}

SmallVector<OperandMap> operandMaps(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  SmallVector<OperandMap> maps;
  auto add = [&](OperandMap::Kind kind, const OperandTile &tile, int64_t rows) {
    maps.push_back(mapOf(kind, tile.read, tile.rowAxis, rows, tile.cols, tile.element));
    maps.back().alsoElements = readsElements(plan, tile.read);
  };
  for (const Contraction &contraction : plan.contractions)
    if (llvm::none_of(maps, [&](OperandMap &map) {
          return map.read == attn::ReadOp(contraction.resident.read);
        }))
      add(OperandMap::Kind::Resident, contraction.resident, schedule.rowTile());
  for (const OperandTile &operand : plan.streamed)
    add(OperandMap::Kind::Streamed, operand, schedule.streamTile);
  for (const InputTile &input : plan.inputs)
    if (schedule.copyInputs &&
        tensorOf(attn::ReadOp(input.read).getSource()).dims.size() <= kMostAxes)
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

std::vector<std::string> copiedInputs(red::NestOp nest) {
  std::vector<std::string> names;
  for (const OperandMap &map : operandMaps(nest))
    if (map.kind == OperandMap::Kind::Input)
      names.push_back(tensorOf(attn::ReadOp(map.read).getSource()).name);
  return names;
}

} // namespace attnc::schedule
