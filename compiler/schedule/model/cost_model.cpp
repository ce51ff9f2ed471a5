#include "compiler/schedule/model/cost_model.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/stream/weight_stages.h"
#include "compiler/schedule/warpgroups/row_runs.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {

// What follows from no data sheet. Fitted to the tensor-core use of hand-written kernels on an
// H100 (docs/schedules.md has the measurements beside the model).

// What the rows of a group do in a step for each moment: sums are kept and shifted.
static constexpr double kMomentRows = 60;
// A group's products start this much after those of the group before it have ended.
static constexpr double kProductStart = 24;
// What a step of one group waits for beside its arithmetic: barriers, the ballot, the last
// products.
static constexpr double kStepLatency = 300;
// One warp in each scheduler gets this part of the rate of the arithmetic units: its operations
// depend on each other.
static constexpr double kLoneRate = 0.75;
// Of staged weights, for each stage but the first: the wait for its scores, which start behind the
// weights before. Fitted to the kernels of keys and values of docs/notes/backward.md.
static constexpr double kStageWait = 100;
// Values of pairs leave through shared memory, which the copies before have to have read. And of
// scores in parts beside such values, what a part takes from the release of a slot until it is
// there. Fitted to the kernels that store weights of docs/notes/backward.md.
static constexpr double kPairStore = 500, kPairPart = 1600;
// Groups get in each other's way where several bounds are close: the step is the p-norm of its
// bounds. Groups that take turns do so less.
static constexpr double kNormInTurns = 10, kNormInAnyOrder = 8;
// From the release of a slot to the first bytes of its next tile.
static constexpr double kCopyLatency = 300;
// Of an operand that scores multiply, and states a tile later, slots are free by this much of a
// step later; with two slots for two groups hardly any time is left. Fitted to kernels of gradients
// with two and three stages (docs/notes/backward.md).
static constexpr double kHeldLonger = 0.32, kLeastFree = 0.1;
// Elements that code reads from memory itself arrive this much after they are asked for.
static constexpr double kReadLatency = 600;
// With a mask the groups of a block see different parts of the stream, and one whose turn it is may
// have nothing to do: alternating then costs 2 % at 128 columns and 10 % at 64, measured.
static constexpr double kMaskedTurns = 1.06;
// A tile of rows costs this beside its steps: the first loads, and for a new block the start of its
// barriers and registers.
static constexpr double kTileStart = 500, kBlockStart = 1500;
// Two groups that exchange weights wait for each other once a step: barriers, the vote on
// references.
static constexpr double kExchange = 700;
// And two blocks for each other's sums of scores, for each column of a tile.
static constexpr double kPartialColumn = 18;
// Of a tile that comes row by row: whoever copies finds out where it lies. Beside the same tiles by
// boxes, measured with lengths from data at D128 (not recorded): 240 for 64 columns in two groups,
// 180 for 80, 130 for 64 in three.
static constexpr double kRowsFound = 200;
// The same where elements of a tensor say it for each page of so many rows: 900 to 1100 for 64
// columns in three groups and 80 to 112 in two, 600 to 800 for 128, at D128 with pages of 16 and of
// 256 rows (not recorded). Other rows that a table names, at D32 and D64, are best predicted by the
// number above.
static constexpr double kPagesFound = 900;
static constexpr int64_t kPageRows = 16;
// From the release of a ring's slot until the next part is there, but for its bytes; and what a
// group waits for with each part. Fitted to the schedules of docs/notes/warpgroup-kernels.md.
static constexpr double kRingLatency = 800, kPartStart = 40;
// What a block stores goes through L2 at half of the rate at which it loads.
static constexpr double kStoreRate = 0.5;
// Threads that store what they hold, 4 bytes at a time, write parts of sectors.
static constexpr double kSmallStoreRate = 0.5;

// Operations for a term of a sum over near rows that scalar code computes.
static constexpr double kNearRow = 8;

// Of f32 as halves: operations for each score that scale it, split its weight and join the parts.
static constexpr double kHalvesOperations = 6;

// Of an addend that no product joins: the index as a number, and a multiply-add.
static constexpr double kAddendOperations = 2;

const StepBound &StepPrediction::limit() const {
  return *std::max_element(
      bounds.begin(), bounds.end(),
      [](const StepBound &a, const StepBound &b) { return a.clocks < b.clocks; });
}

namespace {

/// The phases of one group in one step, in clocks.
struct GroupPhases {
  double products;   ///< on the tensor cores, its 64 rows
  double shared;     ///< shared memory's part in these
  double both;       ///< the longer one of these, product by product
  double arithmetic; ///< on the special function units and the other lanes, at full rate
};

} // namespace

// Columns that a tile's weights are multiplied with, by all groups that do so.
static double weightColumns(const StreamWork &work, const WarpgroupSchedule &schedule) {
  return static_cast<double>(work.weightColumns * (schedule.seesaw ? schedule.groups : 1));
}

// Products of f16 for one of the plan's.
static int64_t productsOf(const StreamPlan &plan, const Contraction &contraction,
                          tile::Accuracy accuracy) {
  return halvesProducts(isEncoded(contraction.resident),
                        isEncoded(plan.streamed[contraction.streamed]), accuracy);
}

// The same of weights, for each of their columns.
static double weightProducts(const StreamPlan &plan, tile::Accuracy accuracy) {
  int64_t columns = 0, products = 0;
  for (const StreamState &state : plan.states) {
    if (state.streamed == -1)
      continue;
    const OperandTile &values = plan.streamed[state.streamed];
    columns += values.cols;
    products += values.cols *
                halvesProducts(plan.weights[state.weight].inHalves, isEncoded(values), accuracy);
  }
  return columns ? static_cast<double>(products) / static_cast<double>(columns) : 1;
}

// wgmma m64nNk16 reads N columns of 16 elements from shared memory, and its rows too unless they
// are in registers (PTX ISA, wgmma).
static GroupPhases phasesOf(const StreamPlan &plan, const WarpgroupSchedule &schedule,
                            const StreamWork &work, const Rates &rates) {
  double columns = static_cast<double>(schedule.streamTile);
  double scores = 64 * columns;
  GroupPhases phases{};
  double weights = weightColumns(work, schedule);
  double ofScores = 0;
  for (const Contraction &contraction : plan.contractions) {
    auto columnsOf = static_cast<double>(contraction.resident.wholeCols() *
                                         productsOf(plan, contraction, schedule.accuracy));
    ofScores += scores * columnsOf / rates.products;
    phases.shared += 2.0 * columnsOf * (64 + columns) / rates.sharedBytes;
  }
  if (joinsAddends(plan, schedule)) {
    auto depth = static_cast<double>(kAddendRows * plan.addends.size());
    ofScores += scores * depth / rates.products;
    phases.shared += 2.0 * depth * columns / rates.sharedBytes;
  }
  double ofWeights = weights * weightProducts(plan, schedule.accuracy);
  phases.products = ofScores + scores * ofWeights / rates.products;
  double rows = multipliesTiles(plan) ? 64.0 * static_cast<double>(plan.states.size()) : 0;
  double sharedWeights = 2.0 * columns * (ofWeights + rows) / rates.sharedBytes;
  phases.both =
      std::max(ofScores, phases.shared) + std::max(phases.products - ofScores, sharedWeights);
  phases.shared += sharedWeights;
  phases.arithmetic = scores * (work.special / rates.special + work.plain / rates.lanes) +
                      kMomentRows * static_cast<double>(plan.needs.moments);
  if (tabulatesDifferences(plan, schedule)) {
    const ScalarCost &each = work.differences;
    double values = 64 + columns;
    phases.arithmetic += values * (each.special / rates.special + each.plain / rates.lanes);
    phases.shared +=
        4 * scores * kTableReads * static_cast<double>(work.differenceCount) / rates.sharedBytes;
  }
  if (hasEncoded(plan))
    phases.arithmetic += (scores * kHalvesOperations + 64 * weights) / rates.lanes;
  return phases;
}

/// The parts that a group of a seesaw multiplies in a step, and what their copies take.
struct RingParts {
  double count = 0, clocks = 0;
};

static RingParts ringParts(const StreamPlan &plan, const WarpgroupSchedule &schedule,
                           const Rates &rates) {
  RingParts all;
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    bool isScores = isScoreOperand(plan, i);
    int64_t rows = isScores ? schedule.streamTile : valueRows(plan, operand, schedule);
    int64_t parts =
        isScores ? partsOf(operand) : schedule.groups * llvm::divideCeil(schedule.streamTile, rows);
    double bytes = 2.0 * static_cast<double>(operand.cols * rows);
    all.count += static_cast<double>(parts);
    all.clocks += static_cast<double>(parts) * (kRingLatency + bytes / rates.cacheBytes);
  }
  return all;
}

static double stageWaits(const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  if (!schedule.stagedWeights)
    return 0;
  auto stages = weightStages(plan.nest(), plan).size();
  return kStageWait * static_cast<double>(stages - 1);
}

// A slot is free for the next tile from when the last group has released it: the groups follow
// each other, the last one almost a step behind the first.
static double refillClocks(const StreamPlan &plan, const WarpgroupSchedule &schedule,
                           const Rates &rates) {
  if (schedule.seesaw) // the slots that products do not hold
    return ringParts(plan, schedule, rates).clocks /
           static_cast<double>(schedule.stages - schedule.pendingParts());
  double longest = 0, groups = static_cast<double>(schedule.groups);
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    double bytes = static_cast<double>(tile::elementType(operand.element).bytes * operand.cols *
                                       schedule.streamTile);
    double clocks = kCopyLatency + bytes / rates.cacheBytes;
    bool inParts = isScoreOperand(plan, i) && partsOf(operand) > 1;
    if (inParts && !plan.pairs.empty()) {
      auto operands = static_cast<double>(sharesRing(plan) ? plan.streamed.size() : 1);
      double slots = operands * static_cast<double>(schedule.depthStages) - 1;
      longest =
          std::max(longest, operands * static_cast<double>(partsOf(operand)) * kPairPart / slots);
      continue;
    }
    // Of an operand in parts one is in use, by all groups at about the same time.
    double free = inParts ? static_cast<double>(schedule.depthStages - 1)
                          : static_cast<double>(schedule.stages) - (2 - 1 / groups);
    if (!inParts && isScoreOperand(plan, i) && isStateOperand(plan, i) && !schedule.stagedWeights)
      free = std::max(free - kHeldLonger, kLeastFree);
    longest =
        std::max(longest, clocks * static_cast<double>(inParts ? partsOf(operand) : 1) / free);
  }
  return longest;
}

// The phases that groups wait for each other in.
static double jammed(std::initializer_list<double> bounds, double norm) {
  double largest = std::max(bounds), sum = 0;
  for (double bound : bounds)
    sum += std::pow(bound / largest, norm);
  return largest * std::pow(sum, 1 / norm);
}

// What boxes bring for each byte that a tile needs: they are as wide as a panel.
static double panelShare(int64_t columns, int64_t bytes) {
  if (bytes == 0)
    return 1;
  return static_cast<double>(llvm::alignTo(columns * bytes, tile::kPanelBytes)) /
         static_cast<double>(columns * bytes);
}

StepPrediction predictStep(const StreamPlan &plan, const StreamWork &work,
                           const WarpgroupSchedule &schedule, const GpuModel &machine) {
  return predictStep(plan, work, {}, schedule, machine, {schedule.groups});
}

// True if elements of a tensor along the stream say where the rows of the operand lie.
static bool readsPlaces(attn::ReadOp read, StringAttr stream) {
  llvm::SetVector<Operation *> reached;
  auto reach = [&](ValueRange values) {
    for (Value value : values)
      if (Operation *op = value.getDefiningOp(); op && isa<attn::MapOp, attn::ReadOp>(op))
        reached.insert(op);
  };
  reach(read.getIndices());
  for (size_t i = 0; i < reached.size(); ++i) {
    if (auto table = dyn_cast<attn::ReadOp>(reached[i]); table && table.getType().hasDim(stream))
      return true;
    reach(reached[i]->getOperands());
  }
  return false;
}

static double clocksToFind(const StreamPlan &plan) {
  const OperandTile *operand = firstByRows(plan);
  if (!operand)
    return 0;
  attn::ReadOp read = operand->tensorRead();
  std::optional<RowRun> run = runOfRows(read, plan.stream, kPageRows);
  bool hasPages = run && run->rows == kPageRows && readsPlaces(read, plan.stream);
  return hasPages ? kPagesFound : kRowsFound;
}

StepPrediction predictStep(const StreamPlan &plan, const StreamWork &ofNest,
                           const StreamWork &masks, const WarpgroupSchedule &schedule,
                           const GpuModel &machine, StepGroups which) {
  StreamWork work =
      tabulatesDifferences(plan, schedule) ? ofNest.withTables() : ofNest.withoutTables();
  if (!joinsAddends(plan, schedule)) // each score adds its own
    work.plain += kAddendOperations * static_cast<double>(plan.addends.size());
  const Rates &rates = *machine.warpgroups;
  GroupPhases group = phasesOf(plan, schedule, work, rates);
  // Of all blocks of a multiprocessor.
  double blocks = static_cast<double>(schedule.minBlocks());
  double groups = blocks * static_cast<double>(which.computing);
  double scores = static_cast<double>(64 * which.computing * schedule.streamTile);
  double masking = 64 * static_cast<double>(schedule.streamTile) *
                   (masks.special / rates.special + masks.plain / rates.lanes);
  double arithmetic =
      groups * group.arithmetic + blocks * static_cast<double>(which.masking) * masking;
  StepPrediction step;
  step.flops =
      2 * scores * (static_cast<double>(work.scoreColumns) + weightColumns(work, schedule));
  step.special = scores * work.special;
  step.plain = work.plain;
  step.copiedBytes = static_cast<double>(work.streamBytes * schedule.streamStep());
  if (schedule.seesaw) // each group copies its columns
    step.copiedBytes += static_cast<double>(2 * work.weightColumns * schedule.streamStep());
  bool copiesReads = schedule.copyInputs && !plan.inputs.empty();
  double read = scores * static_cast<double>(work.scoreBytes);
  // What stays is there for many row tiles.
  int64_t arriving = schedule.residentInputs ? work.ownScoreBytes : work.scoreBytes;
  step.readBytes = copiesReads ? scores * static_cast<double>(arriving) *
                                     panelShare(schedule.streamTile, arriving)
                               : read;

  // A product blocks its group until it is issued, so a group does its own arithmetic after its
  // products, while others have theirs.
  double turn = group.both + kProductStart;
  if (schedule.seesaw)
    turn += kPartStart * ringParts(plan, schedule, rates).count;
  double alone = (group.arithmetic + (which.masking ? masking : 0)) / kLoneRate;
  // What is stored is made of scores while the next ones are computed, unless groups wait with each
  // part of these for the others.
  bool inParts = depthTiles(plan) > 1;
  double productsAndAlone = turn + alone;
  if (!plan.pairs.empty())
    productsAndAlone = kPairStore + (inParts ? groups * turn + alone : std::max(turn, alone));
  step.chain = productsAndAlone + kStepLatency + stageWaits(plan, schedule) +
               (step.readBytes > 0 && !copiesReads ? kReadLatency : 0);
  step.bounds = {
      {"tensor cores", groups * (group.products + kProductStart)},
      {"shared memory",
       groups * group.shared + blocks *
                                   (step.copiedBytes + (copiesReads ? step.readBytes + read : 0)) /
                                   rates.sharedBytes},
      {"exponentials and arithmetic", arithmetic},
      {"the chain of one group", step.chain},
      {"refill of a stage", refillClocks(plan, schedule, rates)},
      {"copies from L2",
       blocks * (step.copiedBytes + (copiesReads ? step.readBytes : 0)) / rates.cacheBytes},
      // Cells that share a tensor read it from L2, if it arrives as tiles.
      {"memory", blocks * (copiesReads ? scores * static_cast<double>(work.ownScoreBytes) : read) /
                     rates.memoryBytes},
  };
  step.clocks =
      std::max(jammed({groups * turn, arithmetic, step.chain, refillClocks(plan, schedule, rates)},
                      schedule.pingPong ? kNormInTurns : kNormInAnyOrder),
               step.limit().clocks) +
      (schedule.seesaw ? kExchange : 0) +
      (schedule.cluster ? kPartialColumn * static_cast<double>(schedule.streamTile) : 0) +
      clocksToFind(plan);
  step.tensorShare = groups * group.products / step.clocks;
  return step;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// Long and short sequences with as many rows in all as fill the machine several times.
static constexpr ReferenceExtents kReferenceExtents[] = {
    {.rows = 4096, .stream = 4096, .cells = 64},
    {.rows = 16384, .stream = 16384, .cells = 16},
};

llvm::ArrayRef<ReferenceExtents> referenceExtents() { return kReferenceExtents; }

static constexpr int64_t kPartsOfFewRows = 16;

static int64_t extentOf(red::NestOp nest, StringAttr dim, int64_t otherwise) {
  attn::DimAttr attribute = attn::programOf(nest).lookupDim(dim);
  return attribute.isStatic() ? attribute.getExtent() : otherwise;
}

CostModel::CostModel(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine,
                     llvm::ArrayRef<ReferenceExtents> references)
    : nest(nest), plan(plan), machine(machine), references(references.begin(), references.end()),
      work(countWork(nest, plan)), masks(countMasks(nest, plan)) {
  // Where rows are few the parts of the stream are as many as fill the machine.
  if (plan.needs.inParts && attn::programOf(nest).lookupDim(plan.row).isStatic())
    for (ReferenceExtents &each : this->references)
      each.cells *= kPartsOfFewRows;
  // Rows are sampled: bounds change slowly from row to row.
  constexpr int64_t kSample = 16;
  for (const ReferenceExtents &reference : this->references) {
    int64_t rows = extentOf(nest, plan.row, reference.rows);
    int64_t stream = extentOf(nest, plan.stream, reference.stream);
    double elements = 0;
    for (StreamRange range : streamRanges(nest, plan, kSample, rows, stream))
      elements += kSample * static_cast<double>(std::max<int64_t>(range.hi - range.lo, 0));
    usefulScores.push_back(elements * static_cast<double>(reference.cells));
  }
  if (const Classes &finest = classes(kSample)) {
    // Of a partial tile that small about half is masked.
    for (const std::vector<TileClass> &tiles : *finest)
      for (TileClass tile : tiles)
        classedScores += tile == TileClass::Full ? 1 : tile == TileClass::Partial ? 0.5 : 0;
    classedScores *= 64 * kSample * static_cast<double>(references[0].cells);
  }
}

const CostModel::Classes &CostModel::classes(int64_t streamTile) {
  auto [place, added] = knownClasses.try_emplace(streamTile);
  if (added) {
    const ReferenceExtents &reference = references[0];
    place->second = tileClasses(nest, plan, 64, streamTile, reference.rows, reference.stream);
  }
  return place->second;
}

const CostModel::Visits &CostModel::visits(int64_t rowTile, size_t reference) {
  auto [place, added] = known.try_emplace({rowTile, reference});
  Visits &visits = place->second;
  if (!added)
    return visits;
  int64_t rows = extentOf(nest, plan.row, references[reference].rows);
  int64_t stream = extentOf(nest, plan.stream, references[reference].stream);
  for (StreamRange range : streamRanges(nest, plan, rowTile, rows, stream)) {
    visits.ranges.push_back(range);
    const StreamRange &first = visits.ranges.front();
    visits.uniform &= range.hi - range.lo == first.hi - first.lo;
  }
  return visits;
}

// The time of the last multiprocessor to finish. Tiles of one length go in rounds. Otherwise blocks
// that start as others end leave half a tile unused at the end; tiles that are dealt out in advance
// may, where the extents want it so, all meet the longest of their round.
double CostModel::lastDone(const WarpgroupSchedule &schedule, double total, double longest,
                           double tiles, bool uniform) const {
  double room = static_cast<double>(machine.warpgroups->multiprocessors * schedule.minBlocks());
  if (uniform || (schedule.persistent && !schedule.dynamicScheduler))
    return std::ceil(tiles / room) * longest;
  return std::max(longest, total / room + total / tiles / 2);
}

// Sums over near rows that are no products: an address, a test, a load and a product for each term.
double CostModel::nearRowsClocks(const WarpgroupSchedule &schedule) const {
  double terms = 0;
  for (const BandProduct &band : plan.bands)
    terms += static_cast<double>(band.cols * band.width);
  for (const BandProduct &band : bandsIn(plan, schedule))
    terms -= static_cast<double>(band.cols * band.width);
  return static_cast<double>(schedule.rowTile()) * terms * kNearRow / machine.warpgroups->lanes;
}

double CostModel::endsClocks(const WarpgroupSchedule &schedule, const StepPrediction &step) const {
  return kTileStart + (schedule.persistent ? 0 : kBlockStart) + step.chain +
         nearRowsClocks(schedule) +
         static_cast<double>(work.resultBytes * schedule.rowTile()) /
             (machine.warpgroups->cacheBytes * kStoreRate *
              (plan.results.empty() || schedule.bulkStores ? 1 : kSmallStoreRate));
}

double CostModel::turnsFactor(const WarpgroupSchedule &schedule) const {
  return schedule.pingPong && red::NestOp(nest).getDomainBlock() ? kMaskedTurns : 1;
}

double CostModel::kernelClocks(const WarpgroupSchedule &schedule, const StepPrediction &step,
                               const Visits &visits, int64_t cells) const {
  double ends = endsClocks(schedule, step), turns = turnsFactor(schedule);
  double total = 0, longest = 0;
  for (auto [lo, hi] : visits.ranges) {
    int64_t steps =
        hi <= lo ? 0 : llvm::divideCeil(hi, schedule.streamStep()) - lo / schedule.streamStep();
    double clocks = static_cast<double>(steps) * step.clocks * turns + ends;
    total += clocks * static_cast<double>(cells);
    longest = std::max(longest, clocks);
  }
  double tiles = static_cast<double>(visits.ranges.size()) * static_cast<double>(cells);
  return lastDone(schedule, total, longest, tiles, visits.uniform);
}

// How many of the steps of each row tile so many groups compute and so many of them mask: counts at
// computing * (groups + 1) + masking.
const std::vector<std::vector<int>> &CostModel::stepKinds(const WarpgroupSchedule &schedule,
                                                          const Classes &classes) {
  auto [place, added] = knownKinds.try_emplace({schedule.groups, schedule.streamTile});
  auto groups = static_cast<size_t>(schedule.groups);
  for (size_t strip = 0; added && strip < classes->size(); strip += groups) {
    auto strips = llvm::ArrayRef(*classes).slice(strip);
    strips = strips.take_front(groups);
    std::vector<int> &counts = place->second.emplace_back((groups + 1) * (groups + 1), 0);
    for (size_t tile = 0; tile < strips.front().size(); ++tile) {
      size_t computing = 0, masking = 0;
      for (const std::vector<TileClass> &tiles : strips) {
        computing += tiles[tile] != TileClass::Skipped;
        masking += tiles[tile] == TileClass::Partial;
      }
      ++counts[computing * (groups + 1) + masking];
    }
  }
  return place->second;
}

// The clocks of each row tile: its steps cost what the groups make of them that need the tile.
std::vector<double> CostModel::rowTileClocks(const WarpgroupSchedule &schedule,
                                             const Classes &classes) {
  double ends = endsClocks(schedule, step(schedule)), turns = turnsFactor(schedule);
  int64_t kinds = schedule.groups + 1;
  std::vector<double> ofStep;
  for (int64_t kind = 0; kind < kinds * kinds; ++kind) {
    StepGroups which{kind / kinds, kind % kinds};
    ofStep.push_back(which.computing
                         ? predictStep(plan, work, masks, schedule, machine, which).clocks * turns
                         : 0);
  }
  std::vector<double> clocks;
  for (const std::vector<int> &counts : stepKinds(schedule, classes)) {
    double sum = ends;
    for (auto [count, each] : llvm::zip(counts, ofStep))
      sum += count * each;
    clocks.push_back(sum);
  }
  return clocks;
}

// As kernelShare, where tiles of the stream are skipped or masked one by one.
double CostModel::classedShare(const WarpgroupSchedule &schedule, const Classes &classes) {
  auto cells = static_cast<double>(references[0].cells);
  std::vector<double> clocks = rowTileClocks(schedule, classes);
  double total = 0, longest = 0, shortest = clocks.front();
  for (double each : clocks) {
    total += each * cells;
    longest = std::max(longest, each);
    shortest = std::min(shortest, each);
  }
  double time = lastDone(schedule, total, longest, static_cast<double>(clocks.size()) * cells,
                         shortest == longest);
  double products = classedScores * static_cast<double>(work.scoreColumns + work.weightColumns);
  return products / (machine.warpgroups->products *
                     static_cast<double>(machine.warpgroups->multiprocessors) * time);
}

const CostModel::Cut &CostModel::cut(const WarpgroupSchedule &schedule) {
  std::tuple key(schedule.headDimTile, schedule.depth, schedule.blocks());
  auto found = cuts.find(key);
  if (found != cuts.end())
    return found->second;
  Cut made{tiledPlan(plan, schedule.headDimTile, schedule.depth, schedule.blocks()), work};
  if (schedule.headDimTile || schedule.depth)
    made.work = countWork(nest, made.plan);
  return cuts.emplace(key, std::move(made)).first->second;
}

StepPrediction CostModel::step(const WarpgroupSchedule &schedule) {
  const Cut &each = cut(schedule);
  return predictStep(each.plan, each.work, schedule, machine);
}

double CostModel::kernelShare(const WarpgroupSchedule &schedule) {
  bool isCut = schedule.headDimTile || schedule.depth;
  if (const Classes &known = classes(schedule.streamTile); known && !isCut)
    return classedShare(schedule, known);
  int64_t parts = columnBlocks(cut(schedule).plan, schedule);
  StepPrediction prediction = step(schedule);
  double inverse = 0; // harmonic mean: of the times at equal work
  for (auto [i, reference] : llvm::enumerate(references)) {
    double clocks =
        kernelClocks(schedule, prediction, visits(schedule.rowTile(), i), reference.cells * parts);
    double products = usefulScores[i] * static_cast<double>(work.scoreColumns + work.weightColumns);
    double atPeak = products / (machine.warpgroups->products *
                                static_cast<double>(machine.warpgroups->multiprocessors));
    if (atPeak == 0)
      return 0;
    inverse += clocks / atPeak;
  }
  return static_cast<double>(references.size()) / inverse;
}

} // namespace attnc::schedule
