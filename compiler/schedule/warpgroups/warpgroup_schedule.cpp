#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/nest/reference_degree.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/slab/cells.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "compiler/schedule/stream/band_products.h"
#include "compiler/schedule/stream/weight_stages.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::schedule {

// PTX ISA, setmaxnreg: multiples of 8.
static constexpr int64_t kFewestRegisters = 24, kMostRegisters = 256;
// Registers of a thread that hold neither fragments nor row vectors: addresses, numbers of tiles,
// descriptors. Measured: two groups whose fragments take 208 registers compile clean with 240,
// with 212 they spill; three with 124 compile clean with 160, four with 80 with 112.
static constexpr int64_t kOtherRegisters = 24;
// In a seesaw the next weights take the place of scores one by one, and nothing but them is under
// way while references are followed.
static constexpr int64_t kSeesawOtherRegisters = 20;

// Scales of rows and tiles, and the descriptors of twice as many operands. Measured of three groups
// with tiles of 64 columns at D64, and of two with 64 at D128: with 8 words less both spill.
static constexpr int64_t kHalvesRegisters = 12;

// Of staged weights the first ones stay while second scores come. Measured at D64: three groups
// with tiles of 48 columns spill with 4 words less, two with 96 do not.
static constexpr int64_t kStagedRegisters = 4;
// Beside a group that adds, blocks take one row tile, and keep nothing for the next. Measured of
// tiles of 64 columns with 208 registers: D96 without a mask compiles clean, with a logarithm
// behind it spills with 4 words more.
static constexpr int64_t kOfNextRows = 8;

bool drawsRowTiles(red::NestOp nest) {
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  return schedule && schedule->dynamicScheduler;
}

// While the last warps compute a row tile, the number of the one after the next can be there.
static constexpr int64_t kQueueSlots = 2;

tile::PipeType queueType(MLIRContext *context) {
  auto number = tile::SharedType::get(context, 1, 1, IntegerType::get(context, 32));
  return tile::PipeType::get(context, kQueueSlots, number);
}

// More than there are stages: whoever copies is not held up by the list.
static constexpr int64_t kBlockListSlots = 8;

tile::PipeType blockListType(MLIRContext *context) {
  return tile::PipeType::get(context, kBlockListSlots, queueType(context).getTile());
}

bool joinsAddends(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  return !plan.addends.empty() && !schedule.seesaw && !schedule.stagedWeights &&
         schedule.depth == 0;
}

tile::SharedType addendTile(MLIRContext *context, const WarpgroupSchedule &schedule) {
  return tile::SharedType::get(context, kAddendRows, schedule.streamTile,
                               BFloat16Type::get(context), kAddendRows);
}

static int64_t addendBytes(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  if (!joinsAddends(plan, schedule))
    return 0;
  llvm::SmallSet<int64_t, 2> steps; // which share a tile
  for (const Addend &addend : plan.addends)
    steps.insert(addend.step);
  return static_cast<int64_t>(steps.size()) *
         addendTile(plan.row.getContext(), schedule).getBytes();
}

bool tabulatesDifferences(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  return !plan.differences.empty() && plan.pairs.empty() && !schedule.seesaw &&
         !schedule.stagedWeights && schedule.pack == 1;
}

tile::SharedType differenceTable(MLIRContext *context, const WarpgroupSchedule &schedule) {
  return tile::SharedType::get(context, 1, kGroupRows + schedule.streamTile,
                               Float32Type::get(context));
}

static int64_t differenceBytes(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  if (!tabulatesDifferences(plan, schedule))
    return 0;
  return static_cast<int64_t>(plan.differences.size()) * kDifferenceTables * schedule.groups *
         differenceTable(plan.row.getContext(), schedule).getBytes();
}

// Bytes of the slots, and of their barriers.
static int64_t bytesOf(tile::PipeType type) {
  return type.getStages() * (type.getTile().getBytes() + 16);
}

//===----------------------------------------------------------------------===//
// What a plan must be like
//===----------------------------------------------------------------------===//

static std::string sourceName(const OperandTile &operand) {
  return "'" + tensorOf(operand.tensorRead().getSource()).name + "'";
}

// Why neither a box of a tensor map nor rows of a tensor are the operand's tile, or "".
static std::string checkOperand(const OperandTile &operand, StringAttr along) {
  std::string name = sourceName(operand);
  if (isEncoded(operand) && comesByRows(operand, along))
    return name + " is f32 whose rows lie anywhere; products of warpgroups take halves of tensors";
  if (!tile::elementType(operand.element).warpgroupProducts && !isEncoded(operand)) {
    std::string element;
    llvm::raw_string_ostream(element) << operand.element;
    return name + " is " + element + "; products of warpgroups take f16, bf16 and halves of f32";
  }
  if (operand.cols % 8)
    return llvm::formatv("{0} is {1} wide; it can be a multiple of 8", name, operand.cols);
  // What a copy reads beyond the tile has to be beyond the tensor, where it gives zeros.
  if (!hasWholeRows(operand.tensorRead()))
    return name + " has rows of which a part is read";
  return "";
}

const OperandTile *firstByRows(const StreamPlan &plan) {
  for (const Contraction &contraction : plan.contractions)
    if (comesByRows(contraction.resident, plan.row))
      return &contraction.resident;
  for (const OperandTile &operand : plan.streamed)
    if (comesByRows(operand, plan.stream))
      return &operand;
  return nullptr;
}

// Why products cannot take f32 as halves, or "".
static std::string checkHalves(const StreamPlan &plan) {
  if (std::string why = whyNotEncoded(plan); !why.empty())
    return why;
  for (const StreamState &state : plan.states) {
    if (state.streamed == -1 || !plan.weights[state.weight].inHalves)
      continue;
    const OperandTile &values = plan.streamed[state.streamed];
    if (values.element.isBF16())
      return sourceName(values) + " is bf16, and its weights come as halves of f16";
  }
  return "";
}

// What keeps sums over rows from being added box by box, or "".
static std::string checkSumBoxes(const StreamPlan &plan) {
  for (const RowSum &sum : plan.rowSums) {
    std::string name = "the sum over rows '" + tensorOf(sum.result).name + "'";
    if (tensorOf(sum.result).dims.size() > kMostMapAxes)
      return name + " has more axes than stores of boxes";
    if (!tile::elementType(sum.resident.element).warpgroupProducts || sum.resident.cols % 32)
      return name + " is of 16-bit rows whose columns are multiples of 32";
    if (std::string why = checkOperand(sum.resident, plan.row); !why.empty())
      return why;
    if (comesByRows(sum.resident, plan.row))
      return name + " is made of rows that lie anywhere";
  }
  return "";
}

bool canUseWarpgroups(const StreamPlan &plan, std::string &why) {
  if (why = checkSumBoxes(plan); !why.empty())
    return false;
  for (OpResult pair : plan.pairs) {
    Tensor tensor = tensorOf(pair);
    bool isNarrow = tile::elementType(tensor.element).isNarrow;
    if (isNarrow && tensor.dims.size() <= kMostMapAxes && !packOf(pair))
      continue;
    why = "it stores a value for each row and stream index, " +
          (isNarrow ? std::string("not as boxes") : "as f32");
    return false;
  }
  if (!plan.pairs.empty() && hasEncoded(plan)) {
    why = "it stores a value for each row and stream index, of products of f32";
    return false;
  }
  if (multipliesTiles(plan)) {
    for (const Weight &weight : plan.weights)
      if (attn::ReadOp read = tileWeight(plan, weight).input.read;
          tensorOf(read.getSource()).dims.size() > kMostMapAxes) {
        why = "'" + tensorOf(read.getSource()).name + "' has more axes than copies of boxes";
        return false;
      }
  } else if (plan.contractions.empty()) {
    why = "no product of a row with the stream's tile is in it";
    return false;
  }
  if (!plan.isOfRowsOnly()) {
    why = "an operand is computed, or a fold over an inner dim is no product of two tensors";
    return false;
  }
  for (const Contraction &contraction : plan.contractions)
    if (why = checkOperand(contraction.resident, plan.row); !why.empty())
      return false;
  for (const OperandTile &operand : plan.streamed)
    if (why = checkOperand(operand, plan.stream); !why.empty())
      return false;
  why = checkHalves(plan);
  return why.empty();
}

//===----------------------------------------------------------------------===//
// What a schedule needs
//===----------------------------------------------------------------------===//

TiledPlan cutPlan(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  return {plan, schedule.headDimTile, schedule.depth, schedule.blocks()};
}

int64_t columnBlocks(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  return llvm::divideCeil(headDimTiles(plan), schedule.seesaw ? schedule.groups : 1);
}

// A quarter more than the other parts leaves fewer slots, and fewer, larger products.
int64_t valueRows(const StreamPlan &plan, const OperandTile &operand,
                  const WarpgroupSchedule &schedule) {
  // A tensor that is also an operand of scores arrives in boxes of one size.
  for (auto [i, other] : llvm::enumerate(plan.streamed))
    if (isScoreOperand(plan, i) && other.source == operand.source)
      return schedule.streamTile;
  const tile::ElementType &type = tile::elementType(operand.element);
  int64_t rows = schedule.streamTile, most = 0;
  for (const Contraction &contraction : plan.contractions)
    most = std::max(most, type.panelBytes(rows, contraction.resident.cols) * 5 / 4);
  while (rows % 32 == 0 && type.panelBytes(rows, operand.cols) > most)
    rows /= 2;
  return rows;
}

int64_t seesawRowShares(red::NestOp nest, const StreamPlan &plan) {
  return llvm::count_if(plan.states, [](const StreamState &s) { return s.streamed == -1; }) +
         llvm::count_if(plan.references,
                        [&](const Reference &r) { return dependsOnReference(nest, r.fold); });
}

// Of what the groups of a seesaw are handed: weights with two barriers, a row vector for each
// reference, and for each share of a row.
static int64_t exchangeBytes(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  const tile::ElementType &type = tile::elementType(plan.contractions.front().resident.element);
  int64_t weights = type.panelBytes(schedule.rowTile(), schedule.streamTile) + 16;
  int64_t vectors = plan.references.size() + seesawRowShares(plan.nest(), plan);
  // The other block's scores, and a barrier for each way.
  int64_t partial = schedule.cluster ? 4 * schedule.rowTile() * schedule.streamTile + 16 : 0;
  return schedule.groups * (weights + 4 * schedule.rowTile() * vectors + partial);
}

bool sharesRing(const StreamPlan &cut) {
  if (cut.pairs.empty() || cut.streamed.size() < 2 ||
      cut.contractions.size() != cut.streamed.size())
    return false;
  const OperandTile &first = cut.streamed.front();
  for (auto [number, contraction] : llvm::enumerate(cut.contractions)) {
    const OperandTile &own = cut.streamed[number];
    if (contraction.streamed != number || partsOf(own) == 1 || own.cols != first.cols ||
        own.element != first.element)
      return false;
  }
  return true;
}

// The tiles of weights for the group that adds, and how many there are of each.
static SmallVector<std::pair<tile::SharedType, int64_t>>
handedOver(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  llvm::SmallMapVector<int, tile::SharedType, 2> tiles;
  for (const RowSum &sum : plan.rowSums)
    tiles[sum.weight] =
        tile::SharedType::get(plan.row.getContext(), schedule.rowTile(), schedule.streamTile,
                              sum.resident.element, schedule.rowTile());
  return llvm::map_to_vector(tiles, [](const auto &each) {
    return std::pair<tile::SharedType, int64_t>(each.second, kHandedStages);
  });
}

int64_t sharedBytes(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  int64_t bytes = 0, slots = 0, ringSlot = 0;
  for (const OperandMap &map : operandMaps(plan, schedule)) {
    int64_t tileBytes = map.slotBytes();
    if (schedule.seesaw && map.kind == OperandMap::Kind::Streamed) {
      ringSlot = std::max(ringSlot, tileBytes);
      continue;
    }
    bool isOfGroup = schedule.seesaw &&
                     (map.kind == OperandMap::Kind::Input || map.kind == OperandMap::Kind::Vector);
    int64_t stages = map.stages * (isOfGroup ? schedule.groups : 1);
    bytes += stages * tileBytes;
    slots += stages;
  }
  if (schedule.seesaw) {
    slots += schedule.groups * schedule.stages;
    bytes += schedule.groups * schedule.stages * ringSlot + exchangeBytes(plan, schedule);
  }
  for (const ResultMap &map : resultMaps(plan, schedule))
    bytes += map.bytes();
  for (auto [type, stages] : handedOver(plan, schedule)) {
    bytes += stages * type.getBytes();
    slots += stages;
  }
  bytes += differenceBytes(plan, schedule) + addendBytes(plan, schedule);
  if (schedule.dynamicScheduler)
    bytes += bytesOf(queueType(plan.row.getContext()));
  if (liveCondition(plan.nest()))
    bytes += bytesOf(blockListType(plan.row.getContext()));
  return bytes + 16 * slots; // a slot has a barrier that says full and one that says free
}

// Words of a thread, known before the loop, for which kOtherRegisters has room.
static constexpr int64_t kWordsIncluded = 5;
// Numbers for each score that are computed from indices are under way before the products end.
static constexpr int64_t kTermRegisters = 16;

// Of `count` reads, or other terms, of a score those that do not come from tables.
static int64_t withoutTables(int64_t count, const StreamPlan &plan,
                             const WarpgroupSchedule &schedule, bool areReads) {
  if (!tabulatesDifferences(plan, schedule))
    return count;
  return std::max<int64_t>(0, count - llvm::count_if(plan.differences, [&](const Difference &each) {
                                return areReads ==
                                       (each.array.getDefiningOp<attn::ReadOp>() != nullptr);
                              }));
}

// Elements of tensors that the step's scalar code reads: the compiler has many of them under way.
// Measured of vectors along the stream, with two groups at D128: 96 columns of a mask of 32-bit ids
// compile clean with 232 registers, 112 spill; of 64-bit ids 64 do and 80 spill. With D64 and a
// part of the stream 112 columns do with 224, 128 spill. Vectors that arrive as tiles are read
// where they are needed: the first one that is only compared takes none, a second one more than 34
// for 176 columns; what is added under a mask takes more than 12 for 112 columns, and than 24 for
// 192. Of tensors with both dims: 64 columns at D512 spill with 232 registers and compile clean
// with 240.
static int64_t readRegisters(const RegisterNeeds &needs, const StreamPlan &plan,
                             const WarpgroupSchedule &schedule) {
  int64_t tile = schedule.streamTile, inputs = plan.inputs.size();
  SmallVector<attn::ReadOp> arriving = copiedVectors(plan, schedule);
  int64_t vectors = 0, compared = 0;
  for (const ColumnVector &column : needs.columns) {
    bool isReal = isa<FloatType>(tensorOf(column.read->getOperand(0)).element);
    if (!llvm::is_contained(arriving, column.read))
      vectors += 36 + column.words * tile / 4 + (needs.inParts ? tile / 16 : 0);
    else if (column.onlyCompared)
      vectors += compared++ ? column.words * tile / 4 : (column.words - 1) * tile / 8;
    else if (!isReal)
      vectors += column.words * tile / 4 + 12;
    else
      vectors += needs.masked ? tile / 8 + 4 : 4;
  }
  int64_t copied = schedule.copyInputs ? inputs : 0;
  int64_t read = withoutTables(needs.inputs, plan, schedule, /*areReads=*/true) + inputs - copied;
  return vectors + copied * (tile / 8 + 4) + read * (tile / 4 + 12);
}

// What else differs from nest to nest.
static int64_t scalarRegisters(const RegisterNeeds &needs, const StreamPlan &plan,
                               const WarpgroupSchedule &schedule) {
  // Addresses have 64 bits; of what code reads for each score, each of a thread's two rows has one.
  // A cut tile has a number and a beginning.
  int64_t copied = schedule.copyInputs ? plan.inputs.size() : 0;
  int64_t read =
      withoutTables(needs.inputs, plan, schedule, /*areReads=*/true) + plan.inputs.size() - copied;
  int64_t cuts = (schedule.headDimTile != 0) + (schedule.depth != 0);
  int64_t columns = needs.columns.size() - copiedVectors(plan, schedule).size();
  int64_t words = needs.uniform + 2 * (needs.rows + columns + copied) + 4 * read + 2 * cuts;
  // A moment has a centre, and reads scores beside the weights made of them.
  // Terms are live beside what a mask or a part of the stream adds: at D64 a slope times the
  // distance compiles clean with tiles of 64 columns, and spills under a mask.
  int64_t computed = withoutTables(needs.terms, plan, schedule, /*areReads=*/false);
  if (joinsAddends(plan, schedule))
    computed = std::max<int64_t>(0, computed - static_cast<int64_t>(plan.addends.size()));
  int64_t terms = needs.inParts || needs.masked ? kTermRegisters * computed : 0;
  return std::max<int64_t>(0, words - kWordsIncluded) + terms +
         needs.moments * (4 + schedule.streamTile / 4);
}

// Where rows lie, four at a time, and what says so.
static constexpr int64_t kRowCopyRegisters = 24;

int64_t producerRegisters(const StreamPlan &plan) {
  const RegisterNeeds &needs = plan.needs;
  return kFewestRegisters + needs.asked + (needs.asked && needs.inParts ? 4 : 0) +
         (firstByRows(plan) ? kRowCopyRegisters : 0);
}

// Behind the stream: the states, the products of bands beside them, and a band of weights, whose
// conversion takes a few more (four bands of 64 columns spilled without these).
static int64_t bandRegisters(const StreamPlan &plan, ArrayRef<BandProduct> bands) {
  constexpr int64_t kConverted = 20;
  int64_t registers = 0, band = 0;
  for (const StreamState &state : plan.states)
    registers += state.streamed == -1 ? 0 : plan.streamed[state.streamed].cols / 2;
  for (const BandProduct &each : bands) {
    registers += each.cols / 2;
    band = std::max(band, bandRows(each, kGroupRows) / 2 + kConverted);
  }
  return band ? registers + band : 0;
}

// Reference, top and rescale of the rows, their sums, and what each schedule has.
static int64_t otherRegisters(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  int64_t rows = 6 * plan.references.size();
  for (const StreamState &state : plan.states)
    rows += state.streamed == -1 ? 2 : 0;
  return rows + (schedule.seesaw ? kSeesawOtherRegisters : kOtherRegisters) +
         (hasEncoded(plan) ? kHalvesRegisters : 0) +
         (schedule.stagedWeights ? kStagedRegisters : 0) -
         (schedule.adderRegisters ? kOfNextRows : 0);
}

// What a group can have at most beside whoever copies, with the fewest registers.
static int64_t mostConsumerRegisters(int64_t groups) {
  constexpr int64_t kThreads = 128, kPool = 65536, kMost = 240;
  int64_t share = kPool / kThreads / (groups + 1) / 8 * 8;
  return std::min(kMost, (share * (groups + 1) - kFewestRegisters) / groups / 8 * 8);
}

SmallVector<BandProduct> bandsIn(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  if (schedule.headDimTile || schedule.seesaw || schedule.pack != 1)
    return {};
  SmallVector<BandProduct> bands;
  llvm::copy_if(plan.bands, std::back_inserter(bands), [&](const BandProduct &band) {
    return tensorOf(attn::ReadOp(band.read).getSource()).dims.size() <= kMostMapAxes &&
           bandRows(band, schedule.rowTile()) <= kMostBoxRows;
  });
  // Other numbers of groups are refused elsewhere.
  int64_t room = mostConsumerRegisters(std::clamp<int64_t>(schedule.groups, 1, 4)) -
                 otherRegisters(plan, schedule);
  while (!bands.empty() && bandRegisters(plan, bands) > room)
    bands.pop_back();
  return bands;
}

// Fragments and operands of a tile where weights are made one after the other: what a stage starts,
// what it reads of earlier ones, and the operands whose products still run.
static int64_t stagedRegisters(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  int64_t fragment = schedule.streamTile / 2, operand = schedule.streamTile / 4;
  int64_t most = 0, running = 0;
  for (const WeightStage &stage : weightStages(plan.nest(), plan)) {
    auto made = static_cast<int64_t>(
        std::max(stage.contractions.size(), stage.weights.size() + stage.arraysMade.size()));
    auto read = static_cast<int64_t>(stage.contractionsRead.size() + stage.weightsRead.size() +
                                     stage.arraysRead.size());
    most = std::max(most, (made + read) * fragment + running);
    running = static_cast<int64_t>(stage.weights.size()) * operand;
  }
  return most;
}

int64_t consumerRegisters(const StreamPlan &whole, const WarpgroupSchedule &schedule) {
  TiledPlan cut = cutPlan(whole, schedule);
  const StreamPlan &plan = *cut;
  // A thread holds one element of each column of two rows for each quad of columns: 64 x n elements
  // in 128 threads are n / 2 registers, half of it as a 16-bit operand.
  // Halves of weights are two operands, and each tile's products have an accumulator of their own.
  int64_t accumulators = 0;
  llvm::SmallSetVector<int, 2> operands; // weights
  for (const StreamState &state : plan.states) {
    if (state.streamed == -1)
      continue;
    int64_t halves = plan.weights[state.weight].inHalves ? 2 : 1;
    accumulators += halves * plan.streamed[state.streamed].cols / 2;
    operands.insert(state.weight);
  }
  const RegisterNeeds &needs = plan.needs;
  if (multipliesTiles(plan))
    return accumulators + scalarRegisters(needs, plan, schedule) + otherRegisters(plan, schedule);
  int64_t scores = scoreFragments(plan) * schedule.streamTile / 2;
  int64_t weights = 0;
  for (int weight : operands) {
    bool inTwo = plan.weights[weight].inHalves && takesLowHalves(schedule.accuracy);
    weights += (inTwo ? 2 : 1) * schedule.streamTile / 4;
  }
  // Those kept of the tile before, whose place results take.
  if (!plan.pairs.empty())
    scores += static_cast<int64_t>(std::max(plan.contractions.size(), plan.pairs.size())) *
              schedule.streamTile / 2;
  int64_t ofTile = schedule.stagedWeights ? stagedRegisters(plan, schedule) : scores + weights;
  int64_t stepped = accumulators + ofTile + readRegisters(needs, plan, schedule) +
                    scalarRegisters(needs, plan, schedule);
  return std::max(stepped, bandRegisters(plan, bandsIn(plan, schedule))) +
         otherRegisters(plan, schedule);
}

// Beside the products: where the terms go, and the descriptors. Measured: 64 columns compile clean
// with 72.
static constexpr int64_t kAdderOther = 40;

int64_t adderRegisters(const StreamPlan &plan) {
  int64_t columns = 0;
  for (const RowSum &sum : plan.rowSums)
    columns = std::max(columns, std::min(sum.resident.cols, kSumColumns));
  return columns ? llvm::alignTo(columns / 2 + kAdderOther, 8) : 0;
}

// A block starts with equal shares, in multiples of 8, which its warps then redistribute.
static int64_t registerShare(const WarpgroupSchedule &s, const GpuModel &machine) {
  int64_t share = machine.registersPerMultiprocessor / s.threads() / s.minBlocks() / 8 * 8;
  return std::min(share, kMostRegisters);
}

static int64_t registerPool(const WarpgroupSchedule &s, const GpuModel &machine) {
  return registerShare(s, machine) * (s.threads() / 128);
}

// What ptxas asks for one product beside its accumulators: rows in registers, descriptors, and what
// it keeps for itself. Measured with CUDA 13.0, whatever is multiplied: 30, and 26 where the rows
// are in shared memory.
static constexpr int64_t kProductRegisters = 30;
// wgmma: columns of one instruction.
static constexpr int64_t kMostProductColumns = 256;

// Registers of a thread for the widest product of a step. Each has to fit in the share that a block
// starts with: ptxas holds single instructions to that one (C7602), whatever the groups have by
// then.
static int64_t productRegisters(const StreamPlan &whole, const WarpgroupSchedule &schedule) {
  TiledPlan cut = cutPlan(whole, schedule);
  const StreamPlan &plan = *cut;
  int64_t columns = schedule.streamTile;
  for (const StreamState &state : plan.states)
    if (state.streamed != -1)
      columns = std::max(columns, plan.streamed[state.streamed].cols);
  return std::min(columns, kMostProductColumns) / 2 + kProductRegisters;
}

// Whether the block's registers can be divided so.
static std::string checkPool(const WarpgroupSchedule &s, const GpuModel &machine) {
  int64_t all = s.producerRegisters + s.groups * s.consumerRegisters + s.adderRegisters,
          pool = registerPool(s, machine);
  if (all > pool)
    return llvm::formatv(
        "producer_registers {0}{1} and {2} times consumer_registers {3} are {4}; a block of "
        "{5} threads has {6} for one thread of each warpgroup",
        s.producerRegisters,
        s.adderRegisters ? llvm::formatv(", adder_registers {0}", s.adderRegisters).str() : "",
        s.groups, s.consumerRegisters, all, s.threads(), pool);
  return "";
}

static std::string checkPacking(red::NestOp nest, const StreamPlan &plan,
                                const WarpgroupSchedule &s) {
  if (s.pack == 1)
    return "";
  if (!plan.packing)
    return llvm::formatv("pack is {0}; no dim of {1} has indices that see the same stream", s.pack,
                         kernelName(nest));
  if (!plan.inputs.empty() && s.copyInputs)
    return llvm::formatv("pack is {0}; a tensor with both dims then needs copy_inputs false",
                         s.pack);
  return "";
}

// All warps of the role that copies take part in a tile that comes row by row, each for one row
// tile of a block; and whole rows come.
static std::string checkRows(const StreamPlan &plan, const WarpgroupSchedule &s) {
  const OperandTile *operand = firstByRows(plan);
  if (!operand)
    return "";
  auto refusal = [&](StringRef key) {
    return llvm::formatv("{0} comes row by row, not with {1}: leave {1} out", sourceName(*operand),
                         key)
        .str();
  };
  if (s.persistent)
    return refusal("persistent");
  if (s.seesaw)
    return refusal("seesaw");
  if (s.pack != 1 && llvm::any_of(plan.contractions, [&](const Contraction &c) {
        return comesByRows(c.resident, plan.row);
      }))
    return refusal("pack");
  TiledPlan cut = cutPlan(plan, s);
  if (depthTiles(*cut) != 1)
    return refusal("depth");
  return headDimTiles(*cut) != 1 ? refusal("head_dim_tile") : "";
}

// Whole tiles come as halves, for groups with rows of their own.
static std::string checkEncoded(const StreamPlan &plan, const WarpgroupSchedule &s) {
  if (!hasEncoded(plan))
    return s.accuracy == tile::Accuracy::F32
               ? ""
               : "accuracy is of products of f32, and there are none: leave it out";
  TiledPlan cut = cutPlan(plan, s);
  if (s.seesaw)
    return "operands of f32 come as halves, not with seesaw: leave seesaw out";
  if (depthTiles(*cut) != 1)
    return "operands of f32 come as halves, not with depth: leave depth out";
  return "";
}

// How columns do not divide among groups, or the depth among blocks. There are values.
static std::string checkShares(const StreamPlan &whole, const StreamPlan &plan,
                               const WarpgroupSchedule &s) {
  int64_t columns = widestColumns(whole), depth = widestDepth(whole);
  int64_t parts = headDimTiles(plan), groups = s.groups * s.blocks();
  if (s.cluster ? parts != groups : parts % groups != 0) {
    int64_t each = evenColumns(columns, llvm::divideCeil(columns, groups));
    int64_t even = (columns + each - 1) / each;
    StringRef name = s.cluster ? "cluster" : "seesaw";
    std::string why = llvm::formatv(
        "{0} with head_dim_tile {1} divides {2} columns in {3} parts; it needs {4}: ", name,
        s.headDimTile, columns, parts, s.cluster ? "one for each of 4 groups" : "an even number");
    return why + (even == groups ? llvm::formatv("head_dim_tile {0} makes {1}", each, even).str()
                                 : llvm::formatv("leave {0} out", name).str());
  }
  if (s.cluster && whole.depthBlocks == 1 && depth <= depthShare(depth, s.blocks()))
    return llvm::formatv("cluster divides the depth of scores, which is {0}: leave it out", depth);
  return "";
}

// What a nest has that two groups cannot share, or how its columns do not divide.
static std::string checkSeesaw(red::NestOp nest, const StreamPlan &whole,
                               const WarpgroupSchedule &s) {
  if (!s.seesaw)
    return "";
  TiledPlan cut = cutPlan(whole, s);
  const StreamPlan &plan = *cut;
  // Parts arrive in the order in which they are used, and a group holds no more than its slots.
  if (plan.contractions.size() != 1)
    return llvm::formatv("seesaw takes scores of one product, not {0}: leave it out",
                         plan.contractions.size());
  llvm::SmallSetVector<int, 2> weights;
  int sums = 0;
  for (const StreamState &state : plan.states) {
    if (red::FoldOp(state.fold).getBase())
      return "seesaw has no moments about a centre: leave it out";
    sums += state.streamed != -1;
    if (state.streamed != -1)
      weights.insert(state.weight);
  }
  if (sums > 1)
    return llvm::formatv("seesaw takes one result of weights and values, not {0}: leave it out",
                         sums);
  if (weights.size() != 1)
    return llvm::formatv("seesaw exchanges one kind of weights; the states multiply {0}: leave it "
                         "out",
                         weights.size());
  if (liveCondition(nest))
    return "seesaw has no list of the tiles that matter: leave it out";
  return checkShares(whole, plan, s);
}

// What stages of weights are not for.
static std::string checkStaged(red::NestOp nest, const StreamPlan &plan,
                               const WarpgroupSchedule &s) {
  if (!s.stagedWeights)
    return "";
  if (hasEncoded(plan))
    return "operands of f32 come as halves, not with staged_weights: leave staged_weights out";
  if (liveCondition(nest))
    return "staged_weights has no list of the tiles that matter: leave it out";
  if (weightStages(nest, plan).size() < 2)
    return plan.references.empty()
               ? "staged_weights takes two weights or more that need different scores: leave it out"
               : "staged_weights takes weights without a running maximum: leave it out";
  return "";
}

// What has no scores has none of what is done to scores.
static std::string checkTiles(const StreamPlan &plan, const WarpgroupSchedule &s) {
  if (!multipliesTiles(plan))
    return "";
  auto refusal = [](StringRef key) {
    return llvm::formatv("weights that are tiles of tensors do not go with {0}: leave {0} out", key)
        .str();
  };
  if (!s.copyInputs)
    return "weights that are tiles of tensors arrive as such: leave copy_inputs out";
  if (s.pack != 1)
    return refusal("pack");
  if (s.seesaw)
    return refusal("seesaw");
  if (s.pingPong)
    return refusal("ping_pong");
  if (s.depth)
    return refusal("depth");
  return s.residentInputs ? refusal("resident_inputs") : "";
}

// What results leave with that are not of rows.
static std::string checkPairs(const StreamPlan &plan, const WarpgroupSchedule &s) {
  if (plan.pairs.empty())
    return "";
  if (s.pack != 1)
    return "values of rows and stream indices do not go with pack: leave pack out";
  if (s.residentInputs)
    return "values of rows and stream indices do not go with resident_inputs: leave it out";
  // A box would write columns of the next tile.
  for (OpResult pair : plan.pairs)
    if (int64_t panel = tile::elementType(tensorOf(pair).element).panelColumns();
        s.streamTile % panel)
      return llvm::formatv("values of rows and stream indices leave as boxes: stream_tile can be "
                           "multiples of {0}, not {1}",
                           panel, s.streamTile);
  bool readsSlab = llvm::any_of(plan.inputs, [](const InputTile &input) {
    return liesInSlab(attn::ReadOp(input.read).getSource());
  });
  if (readsSlab && !s.copyInputs)
    return "weights that are stored arrive as tiles: leave copy_inputs out";
  return s.bulkStores ? "" : "values of rows and stream indices leave as boxes: bulk_stores true";
}

// Who adds what sums over rows are made of, tile by tile of the stream.
static std::string checkRowSums(const StreamPlan &plan, const WarpgroupSchedule &s) {
  int64_t needed = adderRegisters(plan);
  if (!needed)
    return s.adderRegisters
               ? "adder_registers is for sums over rows, and there are none: leave it out"
               : "";
  if (!s.stagedWeights)
    return "sums over rows need staged_weights";
  if (s.adderRegisters < needed)
    return llvm::formatv("a group adds sums over rows: adder_registers is {0}, and it needs about "
                         "{1}",
                         s.adderRegisters, needed);
  if (s.streamTile % 64)
    return llvm::formatv("sums over rows take stream_tile in multiples of 64, not {0}",
                         s.streamTile);
  return "";
}

// A box is as wide as a panel: beyond the last panel of a part it would write columns of the next.
static std::string checkBulkStores(const StreamPlan &whole, const WarpgroupSchedule &s) {
  TiledPlan cut = cutPlan(whole, s);
  for (auto [uncut, result] : llvm::zip_equal(whole.results, cut->results)) {
    int64_t panel = tile::elementType(result.element).panelColumns();
    if (s.bulkStores && result.cols < uncut.cols && result.cols % panel)
      return llvm::formatv("bulk_stores needs head_dim_tile in multiples of {0}, not {1}: leave "
                           "bulk_stores out",
                           panel, s.headDimTile);
  }
  return "";
}

// Whether some input is the same in several cells, and a tile of it is all that a run of row tiles
// reads.
static std::string checkResident(red::NestOp nest, const StreamPlan &plan,
                                 const WarpgroupSchedule &s) {
  if (!s.residentInputs)
    return "";
  if (runDims(nest, plan).empty())
    return "resident_inputs needs tensors with both dims that lack a dim of the grid, the same "
           "one: leave resident_inputs out";
  if (nest.getDomainBlock() || plan.needs.inParts)
    return llvm::formatv("resident_inputs takes row tiles of whole streams, not {0}: leave "
                         "resident_inputs out",
                         plan.needs.inParts ? "parts of these" : "those that a mask bounds");
  for (const OperandMap &map : operandMaps(plan, s))
    if (int64_t panel = tile::elementType(map.element).panelColumns();
        map.stays && (s.streamTile % panel || s.residentInputs % panel))
      return llvm::formatv("resident_inputs needs stream_tile in multiples of {0}, not {1}", panel,
                           s.streamTile);
  attn::DimAttr stream = attn::programOf(nest).lookupDim(plan.stream);
  if (stream.isStatic() && stream.getExtent() > s.residentInputs)
    return llvm::formatv("resident_inputs is {0}; {1} has {2} elements", s.residentInputs,
                         plan.stream.getValue(), stream.getExtent());
  return "";
}

static std::string describe(const StreamPlan &plan, const WarpgroupSchedule &s) {
  int64_t widest = 0;
  Type element;
  for (const OperandTile &operand : plan.streamed)
    if (operand.cols > widest)
      std::tie(widest, element) = std::tie(operand.cols, operand.element);
  std::string text;
  llvm::raw_string_ostream(text) << element << " operands of width " << widest << " with "
                                 << s.groups << " groups, stream_tile " << s.streamTile << ", "
                                 << s.stages << " stages";
  return text;
}

// Of a block that shares a multiprocessor with as many others as have registers there.
static int64_t sharedRoom(const WarpgroupSchedule &schedule, const GpuModel &machine) {
  return std::min(machine.sharedPerBlock,
                  machine.sharedPerMultiprocessor / schedule.minBlocks() - machine.sharedReserved);
}

// What the machine lacks for a schedule of a possible shape, or "".
static std::string lack(const StreamPlan &plan, const WarpgroupSchedule &schedule,
                        const GpuModel &machine) {
  int64_t bytes = sharedBytes(plan, schedule);
  int64_t registers = consumerRegisters(plan, schedule);
  if (int64_t room = sharedRoom(schedule, machine); bytes > room)
    return llvm::formatv("needs {0} KB of shared memory, {1} has {2}{3}", (bytes + 1023) / 1024,
                         machine.name, room / 1024,
                         schedule.minBlocks() == 1 ? "" : " for each of two blocks");
  if (registers > schedule.consumerRegisters)
    return llvm::formatv("needs about {0} registers a thread, consumer_registers is {1}", registers,
                         schedule.consumerRegisters);
  int64_t share = registerShare(schedule, machine), product = productRegisters(plan, schedule);
  if (product > share)
    return llvm::formatv("needs {0} registers a thread for one product, a block of {1} threads "
                         "starts with {2}",
                         product, schedule.threads(), share);
  return "";
}

// Whether two products of scores read the same tiles, one after the other.
static bool readsTwice(const StreamPlan &plan) {
  llvm::SmallSet<unsigned, 4> read;
  return llvm::any_of(plan.contractions,
                      [&](const Contraction &each) { return !read.insert(each.streamed).second; });
}

// How many parts of a tile have to be there at a time: all where groups take turns or parts are
// read twice, else 0 for any number.
static int64_t partsTogether(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  int64_t parts = depthTiles(*cutPlan(plan, schedule));
  return parts > 1 && (schedule.pingPong || readsTwice(plan)) ? parts : 0;
}

bool fits(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
          const GpuModel &machine) {
  return machine.warpgroups && schedule.conflict().empty() &&
         checkPool(schedule, machine).empty() && checkPacking(nest, plan, schedule).empty() &&
         checkRows(plan, schedule).empty() && checkEncoded(plan, schedule).empty() &&
         checkColumnParts(*cutPlan(plan, schedule)).empty() && checkTiles(plan, schedule).empty() &&
         checkPairs(plan, schedule).empty() && checkRowSums(plan, schedule).empty() &&
         checkSeesaw(nest, plan, schedule).empty() && checkStaged(nest, plan, schedule).empty() &&
         checkBulkStores(plan, schedule).empty() && checkResident(nest, plan, schedule).empty() &&
         schedule.depthStages >= partsTogether(plan, schedule) &&
         sharedBytes(plan, schedule) <= sharedRoom(schedule, machine) &&
         productRegisters(plan, schedule) <= registerShare(schedule, machine) &&
         consumerRegisters(plan, schedule) <= schedule.consumerRegisters;
}

std::string checkSchedule(red::NestOp nest, const StreamPlan &plan,
                          const WarpgroupSchedule &schedule, const GpuModel &machine) {
  if (!machine.warpgroups)
    return llvm::formatv("{0} has no products of warpgroups; sm_90a has", machine.name);
  if (std::string why = schedule.check(); !why.empty())
    return why;
  if (std::string why = checkPool(schedule, machine); !why.empty())
    return why;
  if (std::string why = checkPacking(nest, plan, schedule); !why.empty())
    return why;
  if (std::string why = checkRows(plan, schedule); !why.empty())
    return why;
  if (std::string why = checkEncoded(plan, schedule); !why.empty())
    return why;
  if (std::string why = checkColumnParts(*cutPlan(plan, schedule)); !why.empty())
    return why;
  if (std::string why = checkTiles(plan, schedule); !why.empty())
    return why;
  if (std::string why = checkPairs(plan, schedule); !why.empty())
    return why;
  if (std::string why = checkRowSums(plan, schedule); !why.empty())
    return why;
  if (std::string why = checkSeesaw(nest, plan, schedule); !why.empty())
    return why;
  if (std::string why = checkStaged(nest, plan, schedule); !why.empty())
    return why;
  if (std::string why = checkBulkStores(plan, schedule); !why.empty())
    return why;
  if (std::string why = checkResident(nest, plan, schedule); !why.empty())
    return why;
  int64_t parts = partsTogether(plan, schedule);
  if (schedule.depthStages < parts)
    return llvm::formatv("{0} needs depth_stages {1}, all parts of depth {2}: {3}",
                         schedule.pingPong ? "ping_pong" : "the nest", parts, schedule.depth,
                         schedule.pingPong
                             ? "the group whose turn it is uses parts before the others"
                             : "two products of scores read the same parts");
  std::string what = lack(plan, schedule, machine);
  if (what.empty())
    return "";
  std::string text = describe(plan, schedule) + " " + what;
  WarpgroupSchedule smaller = schedule;
  for (smaller.streamTile -= 16; smaller.streamTile >= 16; smaller.streamTile -= 16)
    if (lack(plan, smaller, machine).empty() && checkRowSums(plan, smaller).empty())
      return text + llvm::formatv(": stream_tile {0} fits", smaller.streamTile).str();
  return text;
}

} // namespace attnc::schedule
