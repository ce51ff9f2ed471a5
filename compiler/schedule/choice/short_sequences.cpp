#include "compiler/schedule/choice/short_sequences.h"
#include "compiler/schedule/model/schedule_ranking.h"

using namespace mlir;

namespace attnc::schedule {

// As many cells as keep all multiprocessors busy for several rounds.
static constexpr ReferenceExtents kTiny[] = {{.rows = 64, .stream = 64, .cells = 4096}};
// Of 128 rows tiles of 256 would be half empty. Measured of 1024 cells on an H200: D64 0.023 ms
// beside 0.029, causal 0.024 beside 0.031; D128 0.038 beside 0.041 (not recorded).
static constexpr ReferenceExtents kSmall[] = {{.rows = 128, .stream = 128, .cells = 2048}};
static constexpr ReferenceExtents kShort[] = {
    {.rows = 256, .stream = 256, .cells = 1024},
    {.rows = 512, .stream = 512, .cells = 1024},
};
// Measured of the Evoformer, 1024 cells of 384 rows, D32: 0.126 ms with tiles of 192 rows, 0.165
// with 256, of which a quarter is empty (not recorded).
static constexpr ReferenceExtents kUneven[] = {{.rows = 384, .stream = 384, .cells = 1024}};
static constexpr int64_t kOneRowTile = 64; // of any schedule
static constexpr int64_t kTwoTiles = 128;  // positions of two tiles at most
static constexpr ShortSequences kSequences[] = {
    {"short_64_", kOneRowTile, kTiny},
    {"short_128_", kTwoTiles, kSmall},
    {"uneven_512_", 512, kUneven, 192, 256},
    {"short_512_", 512, kShort},
};
// Of schedules as good as this by prediction, the largest tiles: the model hides what a tile waits
// for behind the tile before, and here many have none.
static constexpr double kAsGood = 0.95;

llvm::ArrayRef<ShortSequences> shortSequences() { return kSequences; }

bool ShortSequences::fits(int64_t rows) const {
  return !rowTile ||
         (rows > rowTile && llvm::alignTo(rows, rowTile) < llvm::alignTo(rows, otherTile));
}

bool isAlwaysShort(red::NestOp nest, const StreamPlan &plan, const ShortSequences &sequences) {
  attn::DimAttr row = attn::programOf(nest).lookupDim(plan.row);
  return (!row.isStatic() || sequences.fits(row.getExtent())) &&
         llvm::all_of(ArrayRef<StringAttr>({plan.row, plan.stream}), [&](StringAttr dim) {
           attn::DimAttr attr = attn::programOf(nest).lookupDim(dim);
           return attr.isStatic() && attr.getExtent() <= sequences.longest;
         });
}

static bool mayBeShort(red::NestOp nest, const StreamPlan &plan, int64_t longest) {
  return llvm::all_of(ArrayRef<StringAttr>({plan.row, plan.stream}), [&](StringAttr dim) {
    attn::DimAttr attr = attn::programOf(nest).lookupDim(dim);
    return !attr.isStatic() || attr.getExtent() <= longest;
  });
}

// While a row tile is computed the rows of the next one arrive. Where tensors with both dims
// arrive, too, and a row tile has several of their tiles, these need the room.
static bool copiesRowsAhead(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine,
                            const ShortSequences &sequences, WarpgroupSchedule &schedule) {
  if (!schedule.persistent || (!plan.inputs.empty() && sequences.longest > kOneRowTile))
    return false;
  schedule.rowStages = 2;
  return fits(nest, plan, schedule, machine);
}

// Row tiles that a mask leaves unequal work are drawn: a block has so few that no order of theirs
// is even. Measured of causal attention, D128, 512 rows, 1024 cells: 0.19 ms beside 0.25.
static bool drawsUnequal(red::NestOp nest, const ShortSequences &sequences) {
  return nest.getDomainBlock() && sequences.longest > kOneRowTile;
}

std::optional<WarpgroupSchedule> shortSchedule(red::NestOp nest, const StreamPlan &plan,
                                               const GpuModel &machine,
                                               const ShortSequences &sequences) {
  bool draws = drawsUnequal(nest, sequences);
  std::vector<RankedSchedule> ranked = rankSchedules(
      nest, plan, machine, draws, sequences.references, tile::Accuracy::F32, sequences.rowTile);
  if (draws)
    llvm::erase_if(ranked, [](const RankedSchedule &r) { return !r.schedule.dynamicScheduler; });
  // Groups that take turns wait for each other, and of two tiles nothing comes back. Measured of
  // 128 rows, D128, 1024 cells on an H200: 0.040 ms, 0.038 without turns (not recorded).
  auto takesTurns = [](const RankedSchedule &r) { return r.schedule.pingPong; };
  if (sequences.longest <= kTwoTiles && !llvm::all_of(ranked, takesTurns))
    llvm::erase_if(ranked, takesTurns);
  std::optional<WarpgroupSchedule> best, ahead;
  double share = 0, aheadShare = 0;
  auto consider = [](const RankedSchedule &each, const WarpgroupSchedule &schedule,
                     std::optional<WarpgroupSchedule> &best, double &share) {
    if (best && (each.share < kAsGood * share || schedule.streamTile <= best->streamTile))
      return;
    share = best ? share : each.share;
    best = schedule;
  };
  for (const RankedSchedule &each : ranked) {
    WarpgroupSchedule schedule = each.schedule;
    consider(each, schedule, best, share);
    if (copiesRowsAhead(nest, plan, machine, sequences, schedule))
      consider(each, schedule, ahead, aheadShare);
  }
  return ahead ? ahead : best;
}

// The schedules for those of kSequences that `wants` holds of, from the last one: some are beside
// those behind them.
static void eachShort(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine,
                      llvm::function_ref<bool(const ShortSequences &)> wants,
                      llvm::function_ref<void(size_t, const WarpgroupSchedule &)> take) {
  std::optional<WarpgroupSchedule> behind;
  for (size_t i = std::size(kSequences); i-- > 0;) {
    const ShortSequences &each = kSequences[i];
    if (!wants(each) || (each.rowTile && (!behind || behind->rowTile() != each.otherTile)))
      continue;
    behind = shortSchedule(nest, plan, machine, each);
    if (behind)
      take(i, *behind);
  }
}

std::optional<WarpgroupSchedule> scheduleIfAlwaysShort(red::NestOp nest, const StreamPlan &plan,
                                                       const GpuModel &machine) {
  std::optional<WarpgroupSchedule> first;
  auto has = [&](const ShortSequences &each) { return isAlwaysShort(nest, plan, each); };
  eachShort(nest, plan, machine, has,
            [&](size_t, const WarpgroupSchedule &schedule) { first = schedule; });
  return first;
}

std::vector<std::optional<WarpgroupSchedule>> othersIfShort(PlannedNest &planned,
                                                            const GpuModel &machine) {
  red::NestOp nest = planned.op();
  std::vector<std::optional<WarpgroupSchedule>> others(std::size(kSequences));
  auto own = tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  if (!own || own->seesaw || !planned.ofHalves())
    return others;
  const StreamPlan &plan = *planned.ofHalves();
  if (isAlwaysShort(nest, plan, shortSequences().back()))
    return others;
  auto mayHave = [&](const ShortSequences &each) { return mayBeShort(nest, plan, each.longest); };
  eachShort(nest, plan, machine, mayHave, [&](size_t i, const WarpgroupSchedule &schedule) {
    if (schedule != *own)
      others[i] = schedule;
  });
  return others;
}

} // namespace attnc::schedule
