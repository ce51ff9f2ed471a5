#include "compiler/schedule/model/schedule_ranking.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/stream/weight_stages.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace attnc::schedule {

// The axes of the search space. `rescale_threshold` is not one of them: a smaller one is never
// faster.
// Of halves not 4 groups: slower than 2 at D32 (not recorded).
static constexpr int64_t kGroups[] = {1, 2, 3, 4};
static constexpr int64_t kStages[] = {2, 3, 4, 5, 6};
static constexpr int64_t kStreamTileStep = 16, kLargestStreamTile = 256;

// What compiles without spills and what setmaxnreg can hand out of a block's registers: 65536 in
// all, shared out in equal multiples of 8 at first.
struct GroupBudget {
  int64_t groups;
  RegisterBudget budget;
};
static constexpr GroupBudget kBudgets[] = {
    {1, {56, 256}}, {2, {40, 232}}, {2, {24, 240}}, {3, {32, 160}}, {4, {32, 112}},
};

static RegisterBudget usualBudget(int64_t groups, int64_t needed) {
  RegisterBudget best = kBudgets[0].budget;
  for (const GroupBudget &row : kBudgets) {
    if (row.groups != groups)
      continue;
    best = row.budget;
    if (best.group >= needed)
      break;
  }
  return best;
}

// The role that copies does more: it asks of tiles, too (of two groups, with 40 registers it spills
// where ids have 64 bits; of three, with 32 in a part of the stream), or each thread finds rows (of
// three groups it spills with 56 at D128; of two it does not, and 56 has not been measured).
static constexpr GroupBudget kBusyBudgets[] = {{2, {56, 224}}, {3, {56, 152}}, {4, {64, 104}}};
static constexpr GroupBudget kRowsBudgets[] = {{2, {72, 216}}, {3, {80, 144}}, {4, {64, 104}}};

// Beside a group that adds the others have what is left of a block's registers.
static RegisterBudget budgetBesideAdder(const WarpgroupSchedule &schedule) {
  constexpr int64_t kPool = 65536, kFewest = 24, kMost = 256;
  int64_t share = kPool / schedule.threads() / 8 * 8;
  int64_t left = share * (schedule.threads() / 128) - kFewest - schedule.adderRegisters;
  return {kFewest, std::min(kMost, left / schedule.groups / 8 * 8)};
}

RegisterBudget registerBudget(red::NestOp nest, const StreamPlan &plan,
                              const WarpgroupSchedule &schedule) {
  if (schedule.adderRegisters)
    return budgetBesideAdder(schedule);
  RegisterBudget usual = usualBudget(schedule.groups, consumerRegisters(plan, schedule));
  bool byRows = firstByRows(plan);
  if (!liveCondition(nest) && !byRows)
    return usual;
  for (const GroupBudget &row : byRows ? kRowsBudgets : kBusyBudgets)
    if (row.groups == schedule.groups &&
        (schedule.groups == 2 || usual.load < producerRegisters(plan)))
      return row.budget;
  return usual;
}

// Of one group in two blocks, beside each other on a multiprocessor, where there are no rows for
// more groups. With 32 registers whoever copies spills in a part of the stream.
static constexpr RegisterBudget kOfTwoBlocks = {40, 216};
// Smaller tiles are slower than predicted. Measured of 64 landmarks at D128: with 16 columns in two
// blocks 1.8 ms, with 48 in one 1.4 (not recorded).
static constexpr int64_t kTileOfTwoBlocks = 32;

// All that is possible.
static llvm::SmallVector<RegisterBudget, 2>
registerBudgets(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule) {
  int64_t needed = consumerRegisters(plan, schedule);
  llvm::SmallVector<RegisterBudget, 2> budgets = {registerBudget(nest, plan, schedule)};
  attn::DimAttr rows = attn::programOf(nest).lookupDim(plan.row);
  bool isOneGroup = schedule.groups == 1 && rows.isStatic() && rows.getExtent() <= 64;
  if (isOneGroup && schedule.streamTile >= kTileOfTwoBlocks &&
      kOfTwoBlocks.load >= producerRegisters(plan))
    budgets.push_back(kOfTwoBlocks);
  llvm::erase_if(budgets, [&](const RegisterBudget &each) { return needed > each.group; });
  return budgets;
}

// Of nests with operands so wide that tiles have a part of their columns; halves take twice the
// room.
static constexpr int64_t kWideOperand = 256, kWideHalves = 128;
static constexpr int64_t kDepths[] = {64, 128};
static constexpr int64_t kFewStages[] = {2, 3};
// Columns of two groups that fit in registers beside scores; parts of the operands of scores, the
// last where they divide them evenly.
static constexpr int64_t kSeesawColumns = 640;
static constexpr int64_t kSeesawDepths[] = {64, 128, 192};
static constexpr int64_t kMostParts = 16, kLargestWideTile = 128;

static int64_t wideOperand(const StreamPlan &plan) {
  return hasEncoded(plan) ? kWideHalves : kWideOperand;
}

// The schedules of one number of groups and one tile.
static void addSchedules(std::vector<RankedSchedule> &all, red::NestOp nest,
                         const StreamPlan &whole, const GpuModel &machine, CostModel &model,
                         WarpgroupSchedule schedule, bool dynamicScheduler) {
  TiledPlan cut = cutPlan(whole, schedule);
  const StreamPlan &plan = *cut;
  // Only nests that read tensors with both dims have a choice there. What else there is to choose
  // changes nothing about the registers.
  llvm::SmallVector<std::pair<bool, RegisterBudget>, 4> copyInputs;
  for (bool copies : {true, false}) {
    if (!copies && (plan.inputs.empty() || multipliesTiles(plan)))
      continue;
    schedule.copyInputs = copies;
    for (RegisterBudget budget : registerBudgets(nest, plan, schedule))
      copyInputs.push_back({copies, budget});
  }
  if (copyInputs.empty())
    return;
  struct Blocks {
    bool persistent, dynamicScheduler;
  };
  llvm::SmallVector<Blocks, 3> blocks = {{true, false}, {false, false}};
  if (dynamicScheduler)
    blocks.push_back({true, true});
  bool isCut = schedule.headDimTile || schedule.depth;
  for (int64_t stages : isCut ? llvm::ArrayRef(kFewStages) : llvm::ArrayRef(kStages))
    for (bool pingPong : {true, false})
      for (Blocks each : blocks)
        for (auto [copies, budget] : copyInputs) {
          schedule.stages = stages;
          schedule.pingPong = pingPong;
          schedule.persistent = each.persistent;
          schedule.dynamicScheduler = each.dynamicScheduler;
          schedule.copyInputs = copies;
          schedule.producerRegisters = budget.load;
          schedule.consumerRegisters = budget.group;
          schedule.bulkStores = !plan.results.empty() || !plan.pairs.empty();
          bool fitting = fits(nest, plan, schedule, machine);
          if (!fitting && schedule.bulkStores) {
            schedule.bulkStores = false;
            fitting = fits(nest, plan, schedule, machine);
          }
          if (fitting)
            all.push_back({schedule, model.step(schedule), model.kernelShare(schedule)});
        }
}

// Sets the most slots for parts that fit beside two tiles of other operands, and of inputs and
// vectors if these are copied; false if none do.
static bool mostSlots(red::NestOp nest, const StreamPlan &whole, const GpuModel &machine,
                      bool copyInputs, WarpgroupSchedule &schedule) {
  TiledPlan cut = cutPlan(whole, schedule);
  const StreamPlan &plan = *cut;
  WarpgroupSchedule least = schedule;
  least.pingPong = false;
  least.copyInputs = copyInputs;
  least.bulkStores = !plan.pairs.empty();
  RegisterBudget budget = registerBudget(nest, plan, least);
  least.producerRegisters = budget.load;
  least.consumerRegisters = budget.group;
  least.stages = 2;
  for (least.depthStages = kMostParts; least.depthStages >= 2; --least.depthStages)
    if (fits(nest, plan, least, machine)) {
      schedule.depthStages = least.depthStages;
      return true;
    }
  return false;
}

// True if rows of the operands of scores leave no room for whole tiles of the stream: beside tiles
// of results those of all scores count.
static bool isDeep(const StreamPlan &plan) {
  int64_t depth = 0;
  for (const Contraction &contraction : plan.contractions)
    depth += contraction.resident.wholeCols();
  return (plan.pairs.empty() ? widestDepth(plan) : depth) > kWideOperand;
}

// The same where columns are cut; of the tiles in which operands of scores arrive, as many as fit.
static void addTiledSchedules(std::vector<RankedSchedule> &all, red::NestOp nest,
                              const StreamPlan &plan, const GpuModel &machine, CostModel &model,
                              WarpgroupSchedule schedule, bool dynamicScheduler) {
  int64_t widest = widestColumns(plan), most = wideOperand(plan);
  llvm::SmallVector<int64_t, 2> columns = {0};
  if (widest > most)
    columns.push_back(llvm::alignTo(evenColumns(widest, most), 64));
  llvm::SmallVector<int64_t, 3> depths = {0};
  if (isDeep(plan) && !hasEncoded(plan))
    depths.assign(std::begin(kDepths), std::end(kDepths));
  for (int64_t each : columns)
    for (int64_t depth : depths) {
      schedule.headDimTile = each;
      schedule.depth = depth;
      if (depth == 0) {
        if (each)
          addSchedules(all, nest, plan, machine, model, schedule, dynamicScheduler);
        continue;
      }
      for (bool copies : {true, false})
        if ((copies || !plan.inputs.empty()) && mostSlots(nest, plan, machine, copies, schedule))
          addSchedules(all, nest, plan, machine, model, schedule, dynamicScheduler);
    }
}

// As many slots in a seesaw's rings as fit.
static void addSeesaw(std::vector<RankedSchedule> &all, red::NestOp nest, const StreamPlan &plan,
                      const GpuModel &machine, CostModel &model, WarpgroupSchedule schedule) {
  for (schedule.stages = 8; schedule.stages >= 2; --schedule.stages)
    if (fits(nest, plan, schedule, machine)) {
      all.push_back({schedule, model.step(schedule), model.kernelShare(schedule)});
      return;
    }
}

// Two groups that share rows and exchange weights. Products with weights hide what a lagging
// reference costs more than elsewhere.
static void addSeesaws(std::vector<RankedSchedule> &all, red::NestOp nest, const StreamPlan &plan,
                       const GpuModel &machine, CostModel &model) {
  WarpgroupSchedule schedule;
  schedule.seesaw = true;
  schedule.pingPong = schedule.persistent = false;
  schedule.rescaleThreshold = tile::kMostRescaleThreshold;
  int64_t widest = widestColumns(plan);
  for (int64_t blocks = llvm::divideCeil(widest, kSeesawColumns), more = 0; more < 2;
       ++more, ++blocks)
    for (bool cluster : {false, true})
      for (int64_t each : kSeesawDepths)
        for (int64_t tile : {64, 32})
          for (bool copies : {true, false}) {
            schedule.cluster = cluster;
            // Whoever copies computes with what all its threads share, but for the block's rank.
            schedule.producerRegisters = cluster ? 40 : 24;
            schedule.consumerRegisters = cluster ? 232 : 240;
            int64_t depth = depthShare(widestDepth(plan), schedule.blocks());
            bool isUneven = each == kSeesawDepths[2] && depth % each != 0;
            if (isUneven || (!copies && plan.inputs.empty()) || (cluster && blocks != 2))
              continue;
            schedule.headDimTile =
                llvm::alignTo(llvm::divideCeil(widest, schedule.groups * blocks), 32);
            schedule.depth = depth > each ? each : 0;
            schedule.streamTile = tile;
            schedule.copyInputs = copies;
            addSeesaw(all, nest, plan, machine, model, schedule);
          }
}

// Predictions within 0.5 % are equal.
static auto rankOf(const RankedSchedule &ranked) {
  const WarpgroupSchedule &s = ranked.schedule;
  int64_t predicted = std::llround(-200 * std::log(ranked.share));
  return std::tuple(predicted, -s.streamTile, s.stages, s.groups, !s.pingPong, !s.persistent,
                    !s.dynamicScheduler, !s.copyInputs, -s.depth);
}

std::vector<RankedSchedule> rankSchedules(red::NestOp nest, const StreamPlan &plan,
                                          const GpuModel &machine, bool dynamicScheduler,
                                          llvm::ArrayRef<ReferenceExtents> references,
                                          tile::Accuracy accuracy, int64_t rowTile) {
  std::vector<RankedSchedule> all;
  std::string why;
  if (!machine.warpgroups || !canUseWarpgroups(plan, why))
    return all;
  CostModel model(nest, plan, machine, references);
  int64_t largest = kStreamTileStep;
  for (const ReferenceExtents &reference : references)
    largest = std::max(largest, std::min(reference.stream, kLargestStreamTile));
  WarpgroupSchedule schedule;
  schedule.accuracy = accuracy;
  schedule.adderRegisters = adderRegisters(plan);
  bool isWide = std::max(widestDepth(plan), widestColumns(plan)) > wideOperand(plan) ||
                (!plan.pairs.empty() && isDeep(plan));
  bool hasStages = weightStages(nest, plan).size() > 1;
  if (isWide && !hasEncoded(plan) && !rowTile &&
      widestColumns(plan) > 0) // without values there is nothing to share
    addSeesaws(all, nest, plan, machine, model);
  for (int64_t groups :
       hasEncoded(plan) ? llvm::ArrayRef(kGroups).drop_back() : llvm::ArrayRef(kGroups))
    for (int64_t tile = kStreamTileStep; tile <= largest; tile += kStreamTileStep) {
      schedule.groups = groups;
      schedule.streamTile = tile;
      if (rowTile && schedule.rowTile() != rowTile)
        continue;
      for (bool staged : {false, true})
        if (!staged || hasStages) {
          schedule.stagedWeights = staged;
          addSchedules(all, nest, plan, machine, model, schedule, dynamicScheduler);
        }
      schedule.stagedWeights = false;
      if (isWide && tile <= kLargestWideTile)
        addTiledSchedules(all, nest, plan, machine, model, schedule, dynamicScheduler);
    }
  std::sort(all.begin(), all.end(),
            [](const RankedSchedule &a, const RankedSchedule &b) { return rankOf(a) < rankOf(b); });
  return all;
}

std::vector<RankedSchedule> pickCandidates(const std::vector<RankedSchedule> &ranking,
                                           size_t count) {
  std::vector<RankedSchedule> picked;
  struct Taken {
    int all = 0, drawing = 0;
  };
  std::map<std::tuple<int64_t, int64_t, bool>, Taken> shapes;
  for (const RankedSchedule &ranked : ranking) {
    const WarpgroupSchedule &schedule = ranked.schedule;
    Taken &taken = shapes[{schedule.groups, schedule.streamTile, schedule.seesaw}];
    if (picked.size() >= count || taken.all == 2 ||
        (schedule.dynamicScheduler && taken.drawing == 1))
      continue;
    ++taken.all;
    taken.drawing += schedule.dynamicScheduler;
    picked.push_back(ranked);
  }
  return picked;
}

} // namespace attnc::schedule
