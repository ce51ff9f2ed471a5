#include "compiler/schedule/choice/few_rows.h"
#include "compiler/schedule/choice/packing.h"
#include "compiler/schedule/model/cost_model.h"
#include "compiler/schedule/model/schedule_ranking.h"

using namespace mlir;

namespace attnc::schedule {

static constexpr int64_t kStreamTiles[] = {64, 32, 96, 128, 192};
// Memory has to wait for nothing else, whatever the model leaves out.
static constexpr double kSpare = 1.25;
static constexpr int64_t kMostStages = 8;

// As many stages as fit: what is on its way while a block computes hides how long it takes.
static bool fillStages(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine,
                       WarpgroupSchedule &schedule) {
  RegisterBudget budget = registerBudget(nest, plan, schedule);
  schedule.producerRegisters = budget.load;
  schedule.consumerRegisters = budget.group;
  for (schedule.stages = kMostStages; schedule.stages >= 2; --schedule.stages)
    if (fits(nest, plan, schedule, machine))
      return true;
  return false;
}

// How many indices see the same stream, or nothing where launches say.
static std::optional<int64_t> knownSharing(red::NestOp nest, const Packing &packing) {
  if (auto number = dyn_cast<IntegerAttr>(sharingIndices(nest, packing)))
    return number.getInt();
  return std::nullopt;
}

std::optional<WarpgroupSchedule> fewRowsSchedule(PlannedNest &planned, const GpuModel &machine) {
  red::NestOp nest = planned.op();
  std::string why;
  if (!machine.warpgroups || !planned.ofHalves() || !planned.ofHalves()->packing ||
      !canUseWarpgroups(*planned.ofHalves(), why))
    return {};
  const StreamPlan &plan = *planned.ofHalves();
  std::optional<int64_t> sharing = knownSharing(nest, *plan.packing);
  attn::DimAttr row = attn::programOf(nest).lookupDim(plan.row);
  if ((sharing && *sharing < 2) || (row.isStatic() && row.getExtent() > kPackedRows))
    return {};
  WarpgroupSchedule schedule;
  schedule.groups = sharing && *sharing <= 4 ? 1 : 2;
  schedule.pack = schedule.rowTile() / kPackedRows;
  schedule.pingPong = false;
  // Such rows wait for memory, and weights that are exact where they are largest err least.
  schedule.rescaleThreshold = 0;
  schedule.persistent = !firstByRows(plan);
  schedule.copyInputs = plan.inputs.empty(); // a tile of them has the rows of one index
  CostModel model(nest, plan, machine);
  std::optional<WarpgroupSchedule> best;
  double bestRatio = 0;
  for (int64_t tile : kStreamTiles) {
    schedule.streamTile = tile;
    if (!fillStages(nest, plan, machine, schedule))
      continue;
    StepPrediction step = model.step(schedule);
    double ratio = step.copiedBytes / machine.warpgroups->memoryBytes / step.clocks;
    if (ratio > bestRatio) {
      best = schedule;
      bestRatio = ratio;
    }
    if (ratio >= kSpare)
      break;
  }
  return best;
}

} // namespace attnc::schedule
