#include "compiler/schedule/schedule_ranking.h"
#include <cmath>

namespace attnc::schedule {

// The axes of the search space. `slack` is not one of them: a smaller one is never faster.
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

RegisterBudget registerBudget(int64_t groups, int64_t needed) {
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

// The schedules of one number of groups and one tile.
static void addSchedules(std::vector<RankedSchedule> &all, red::NestOp nest, const StreamPlan &plan,
                         const Machine &machine, CostModel &model, WarpgroupSchedule schedule,
                         bool draws) {
  RegisterBudget budget = registerBudget(schedule.groups, groupRegisters(nest, plan, schedule));
  schedule.loadRegisters = budget.load;
  schedule.groupRegisters = budget.group;
  // Only nests that read tensors with both dims have a choice there.
  llvm::SmallVector<bool, 2> copyInputs = {true};
  if (!plan.inputs.empty())
    copyInputs.push_back(false);
  struct Blocks {
    bool persistent, draws;
  };
  llvm::SmallVector<Blocks, 3> blocks = {{true, false}, {false, false}};
  if (draws)
    blocks.push_back({true, true});
  for (int64_t stages : kStages)
    for (bool alternate : {true, false})
      for (Blocks each : blocks)
        for (bool copies : copyInputs) {
          schedule.stages = stages;
          schedule.alternate = alternate;
          schedule.persistent = each.persistent;
          schedule.draws = each.draws;
          schedule.copyInputs = copies;
          schedule.bulkStores = !plan.results.empty();
          if (!checkSchedule(nest, plan, schedule, machine).empty())
            schedule.bulkStores = false;
          if (checkSchedule(nest, plan, schedule, machine).empty())
            all.push_back({schedule, model.step(schedule), model.kernelShare(schedule)});
        }
}

// Predictions within 0.5 % are equal.
static auto rankOf(const RankedSchedule &ranked) {
  const WarpgroupSchedule &s = ranked.schedule;
  int64_t predicted = std::llround(-200 * std::log(ranked.share));
  return std::tuple(predicted, -s.streamTile, s.stages, s.groups, !s.alternate, !s.persistent,
                    !s.draws, !s.copyInputs);
}

std::vector<RankedSchedule> rankSchedules(red::NestOp nest, const StreamPlan &plan,
                                          const Machine &machine, bool draws) {
  std::vector<RankedSchedule> all;
  std::string why;
  if (!machine.warpgroups || !canUseWarpgroups(nest, plan, why))
    return all;
  CostModel model(nest, plan, machine);
  WarpgroupSchedule schedule;
  for (int64_t groups : kGroups)
    for (int64_t tile = kStreamTileStep; tile <= kLargestStreamTile; tile += kStreamTileStep) {
      schedule.groups = groups;
      schedule.streamTile = tile;
      addSchedules(all, nest, plan, machine, model, schedule, draws);
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
  std::map<std::pair<int64_t, int64_t>, Taken> shapes;
  for (const RankedSchedule &ranked : ranking) {
    const WarpgroupSchedule &schedule = ranked.schedule;
    Taken &taken = shapes[{schedule.groups, schedule.streamTile}];
    if (picked.size() >= count || taken.all == 2 || (schedule.draws && taken.drawing == 1))
      continue;
    ++taken.all;
    taken.drawing += schedule.draws;
    picked.push_back(ranked);
  }
  return picked;
}

} // namespace attnc::schedule
