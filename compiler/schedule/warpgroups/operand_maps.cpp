#include "compiler/schedule/warpgroups/operand_maps.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "compiler/schedule/stream/band_products.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/warpgroups/row_runs.h"
#include "dialects/Tile/Tile.h"

using namespace mlir;

namespace attnc::schedule {

// Of a warp in a product of its warpgroup.
static constexpr int64_t kWarpRows = 16;
// Of a box: cuTensorMapEncodeTiled.

static OperandMap mapOf(OperandMap::Kind kind, attn::ReadOp read, unsigned rowAxis, int64_t rows,
                        int64_t cols, Type element) {
  unsigned rank = tensorOf(read.getSource()).dims.size();
  OperandMap map{kind, read, rowAxis, rows, cols, element, SmallVector<int64_t>(rank, 1)};
  map.box.front() = tile::elementType(element).panelColumns();
  if (rowAxis < rank)
    map.box[rank - 1 - rowAxis] = rows;
  return map;
}

// Of streamed tiles, boxes bring the rows that provably follow each other.
static OperandMap rowsOf(OperandMap::Kind kind, const OperandTile &tile, StringAttr along,
                         int64_t rows, int64_t cols) {
  attn::ReadOp read = tile.tensorRead();
  OperandMap map{kind, read, tile.rowAxis, rows, cols, tile.element, {}, false, true};
  bool hasMap = kind == OperandMap::Kind::Streamed && rows <= kMostBoxRows &&
                tensorOf(read.getSource()).dims.size() <= kMostMapAxes;
  if (std::optional<RowRun> run = hasMap ? runOfRows(read, along, rows) : std::nullopt) {
    map.box = mapOf(kind, read, run->axis, run->rows, cols, tile.element).box;
    map.run = run->rows;
  }
  return map;
}

// True if the dims are one, or as long as each other at any size.
static bool areAsLong(attn::ProgramOp program, StringAttr a, StringAttr b) {
  attn::DimAttr first = program.lookupDim(a), second = program.lookupDim(b);
  return a == b || (first.isStatic() && first.getExtent() == second.getExtent());
}

bool hasWholeRows(attn::ReadOp read) {
  SmallVector<StringAttr> dims = tensorOf(read.getSource()).dims;
  return areAsLong(attn::programOf(read), dims.back(), read.subscriptDim(dims.size() - 1));
}

bool comesByRows(const OperandTile &operand, StringAttr along) {
  attn::ReadOp read = operand.tensorRead();
  Tensor tensor = tensorOf(read.getSource());
  // What a box reads beyond the tile has to be beyond the tensor, where copies give zeros.
  return operand.gathered || operand.length || tensor.dims.size() > kMostMapAxes ||
         !areAsLong(attn::programOf(read), tensor.dims[operand.rowAxis], along);
}

// True if something other than a product of tiles reads the operand.
static bool readsElements(const StreamPlan &plan, attn::ReadOp read) {
  return llvm::any_of(read->getUsers(), [&](Operation *user) {
    bool isScores = llvm::any_of(plan.contractions,
                                 [&](const Contraction &c) { return red::FoldOp(c.fold) == user; });
    bool isState = llvm::any_of(plan.states, [&](const StreamState &s) {
      return red::FoldOp(s.fold) == user && s.streamed != -1 &&
             plan.streamed[s.streamed].tensorRead() == read;
    });
    bool isSum = llvm::any_of(plan.rowSums, [&](const RowSum &sum) {
      return red::FoldOp(sum.fold) == user && sum.resident.read == read;
    });
    return !isScores && !isState && !isSum;
  });
}

int64_t OperandMap::slotBytes() const {
  int64_t bytes = tile::elementType(element).panelBytes(rows, cols);
  return kind == Kind::Vector ? llvm::alignTo(bytes, tile::kSwizzleBytes) : bytes;
}

static bool hasAxes(attn::ReadOp read) {
  size_t rank = tensorOf(read.getSource()).dims.size();
  return rank >= 2 && rank <= kMostMapAxes;
}

// True if code that decides which tiles matter may read single elements, too.
static bool asksTensors(const StreamPlan &plan) { return liveCondition(plan.nest()) != nullptr; }

static int64_t columnsOf(attn::ReadOp read) {
  StringAttr last = read.subscriptDim(tensorOf(read.getSource()).dims.size() - 1);
  return attn::programOf(read).lookupDim(last).getExtent();
}

// Indices of a packed dim share a tile, and each has a vector of its own.
static bool variesInBlock(attn::ReadOp read, const StreamPlan &plan,
                          const WarpgroupSchedule &schedule) {
  return schedule.pack != 1 && read.getType().hasDim(plan.packing->dim);
}

// True if the input is the same at some indices of the grid.
static bool lacksGridDim(red::NestOp nest, const InputTile &input) {
  return llvm::any_of(attn::dimNames(nest.getGrid()), [&](StringAttr dim) {
    return !attn::ReadOp(input.read).getType().hasDim(dim);
  });
}

SmallVector<StringAttr> runDims(red::NestOp nest, const StreamPlan &plan) {
  SmallVector<StringAttr> dims = attn::dimNames(nest.getGrid());
  bool any = false;
  for (const InputTile &input : plan.inputs) {
    if (!hasAxes(input.read) || !lacksGridDim(nest, input))
      continue;
    any = true;
    llvm::erase_if(dims,
                   [&](StringAttr dim) { return attn::ReadOp(input.read).getType().hasDim(dim); });
  }
  return any ? dims : SmallVector<StringAttr>();
}

SmallVector<attn::ReadOp> copiedVectors(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  SmallVector<attn::ReadOp> copied;
  for (attn::ReadOp read : plan.vectors)
    if (schedule.copyInputs && hasAxes(read) && !variesInBlock(read, plan, schedule))
      copied.push_back(read);
  return copied;
}

SmallVector<OperandMap> operandMaps(const StreamPlan &whole, const WarpgroupSchedule &schedule) {
  TiledPlan cut = cutPlan(whole, schedule);
  const StreamPlan &plan = *cut;
  SmallVector<OperandMap> maps;
  auto add = [&](OperandMap::Kind kind, const OperandTile &tile, int64_t rows, int64_t cols,
                 int64_t stages) {
    attn::ReadOp read = tile.tensorRead();
    StringAttr along = kind == OperandMap::Kind::Resident ? plan.row : plan.stream;
    if (comesByRows(tile, along))
      maps.push_back(rowsOf(kind, tile, along, rows, cols));
    else
      maps.push_back(mapOf(kind, read, tile.rowAxis, rows, cols, tile.element));
    maps.back().alsoElements = maps.back().byRows || readsElements(plan, read);
    maps.back().stages = stages;
  };
  // Of an encoded operand each half that is multiplied arrives by itself.
  auto splitLast = [&](const OperandTile &tile) {
    if (!isEncoded(tile))
      return;
    OperandMap &high = maps.back();
    high.element = Float16Type::get(high.element.getContext());
    if (!high.byRows)
      high.box.front() = tile::elementType(high.element).panelColumns();
    high.half = Half::High;
    if (!takesLowHalves(schedule.accuracy))
      return;
    OperandMap low = high;
    low.half = Half::Low;
    maps.push_back(low);
  };
  auto pack = [&](OperandMap &map, const OperandTile &tile) {
    if (schedule.pack == 1)
      return;
    unsigned last = map.box.size() - 1;
    for (unsigned axis = 0; axis < tile.rowAxis; ++axis)
      if (map.read.subscriptDim(axis) == plan.packing->dim)
        map.box[last - axis] = schedule.pack;
    map.box[last - tile.rowAxis] = schedule.rowIndices();
  };
  auto addResident = [&](const OperandTile &tile) {
    add(OperandMap::Kind::Resident, tile, schedule.rowTile(), tile.wholeCols(), schedule.rowStages);
    pack(maps.back(), tile);
    splitLast(tile);
  };
  for (const Contraction &contraction : plan.contractions)
    if (llvm::none_of(
            maps, [&](OperandMap &map) { return map.read == contraction.resident.tensorRead(); }))
      addResident(contraction.resident);
  for (const RowSum &sum : plan.rowSums)
    if (llvm::none_of(maps, [&](OperandMap &map) { return map.read == sum.resident.read; }))
      addResident(sum.resident);
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    bool inParts = isScoreOperand(plan, i) && partsOf(operand) > 1;
    int64_t rows = schedule.seesaw && !isScoreOperand(plan, i) ? valueRows(plan, operand, schedule)
                                                               : schedule.streamTile;
    add(OperandMap::Kind::Streamed, operand, rows, operand.cols,
        inParts && !schedule.seesaw ? schedule.depthStages : schedule.stages);
    splitLast(operand);
  }
  if (!schedule.copyInputs)
    return maps;
  red::NestOp nest = plan.nest();
  for (const InputTile &input : plan.inputs)
    if (hasAxes(input.read)) {
      bool stays = schedule.residentInputs && lacksGridDim(nest, input);
      maps.push_back(mapOf(OperandMap::Kind::Input, input.read, input.rowAxis, schedule.rowTile(),
                           stays ? schedule.residentInputs : schedule.streamTile, input.element));
      maps.back().stays = stays;
      maps.back().stages = stays ? 1 : schedule.stages;
    }
  for (attn::ReadOp read : turnedWeights(plan)) {
    const InputTile &input =
        *llvm::find_if(plan.turned, [&](const InputTile &each) { return each.read == read; });
    maps.push_back(mapOf(OperandMap::Kind::Input, read, input.rowAxis, schedule.streamTile,
                         schedule.rowTile(), input.element));
    maps.back().stages = schedule.stages;
  }
  for (attn::ReadOp read : copiedVectors(plan, schedule)) {
    maps.push_back(mapOf(OperandMap::Kind::Vector, read, ~0u, 1, schedule.streamTile,
                         tensorOf(read.getSource()).element));
    maps.back().alsoElements = asksTensors(plan);
    maps.back().stages = schedule.stages;
  }
  if (schedule.headDimTile || schedule.seesaw || schedule.pack != 1)
    return maps;
  for (const BandProduct &band : bandsIn(plan, schedule))
    if (llvm::none_of(maps, [&](OperandMap &map) { return map.read == band.read; }))
      maps.push_back(mapOf(OperandMap::Kind::Band, band.read, band.rowAxis,
                           bandRows(band, schedule.rowTile()), band.cols,
                           tensorOf(attn::ReadOp(band.read).getSource()).element));
  for (const InputTile &input : plan.finishInputs)
    if (hasAxes(input.read))
      maps.push_back(mapOf(OperandMap::Kind::Finish, input.read, input.rowAxis, schedule.rowTile(),
                           columnsOf(input.read), input.element));
  return maps;
}

int64_t ResultMap::bytes() const { return tile::elementType(element).panelBytes(rows, cols); }

SmallVector<ResultMap> resultMaps(const StreamPlan &whole, const WarpgroupSchedule &schedule) {
  TiledPlan cut = cutPlan(whole, schedule);
  const StreamPlan &plan = *cut;
  SmallVector<ResultMap> maps;
  auto add = [&](Value result, unsigned rowAxis, int64_t rows, int64_t cols, Type element) {
    unsigned rank = tensorOf(result).dims.size();
    ResultMap map{result, rowAxis, rows, cols, element, SmallVector<int64_t>(rank, 1)};
    map.box.front() = tile::elementType(element).panelColumns();
    map.box[rank - 1 - rowAxis] = kWarpRows;
    maps.push_back(map);
  };
  for (const RowSum &sum : plan.rowSums) {
    Tensor tensor = tensorOf(sum.result);
    add(sum.result, std::distance(tensor.dims.begin(), llvm::find(tensor.dims, plan.stream)),
        kGroupRows, sum.resident.cols, tensor.element);
  }
  if (!schedule.bulkStores)
    return maps;
  for (const ResultTile &tile : plan.results)
    if (tensorOf(tile.result).dims.size() <= kMostMapAxes && !packOf(tile.result))
      add(tile.result, tile.rowAxis, schedule.rowTile(), tile.cols, tile.element);
  for (OpResult pair : plan.pairs) {
    Tensor tensor = tensorOf(pair);
    add(pair, std::distance(tensor.dims.begin(), llvm::find(tensor.dims, plan.row)),
        schedule.rowTile(), schedule.streamTile, tensor.element);
  }
  return maps;
}

SmallVector<OperandMap> boxMaps(PlannedNest &nest) {
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.op().getScheduleAttr());
  if (!schedule || !nest.ofHalves())
    return {};
  SmallVector<OperandMap> maps = operandMaps(*nest.ofHalves(), *schedule);
  llvm::erase_if(maps, [](const OperandMap &map) { return map.box.empty(); });
  return maps;
}

SmallVector<ResultMap> resultMaps(PlannedNest &nest) {
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.op().getScheduleAttr());
  return schedule && nest.ofHalves() ? resultMaps(*nest.ofHalves(), *schedule)
                                     : SmallVector<ResultMap>();
}

} // namespace attnc::schedule
