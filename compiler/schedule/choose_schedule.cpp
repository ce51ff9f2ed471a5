#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/computed_operands.h"
#include "compiler/schedule/domain_slice.h"
#include "compiler/schedule/nest_key.h"
#include "compiler/schedule/rows_plan.h"
#include "compiler/schedule/same_arithmetic.h"
#include "compiler/schedule/schedule_override.h"
#include "compiler/schedule/schedule_ranking.h"
#include "compiler/schedule/stream_inputs.h"
#include "compiler/schedule/stream_parts.h"
#include "compiler/schedule/stream_visits.h"
#include "compiler/transforms/split.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::schedule {

// In order of preference. Rows of a warp reuse each operand that it loads from shared memory; a
// large stream tile makes barriers and row maxima rare; two blocks hide each other's latencies.
static constexpr StreamSchedule kCandidates[] = {
    {.rowTile = 128, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 128, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 16, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 32, .streamTile = 16, .warps = 2, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 1},
};

// The same for operands so wide that their tiles have a part of the columns, and for accumulators
// that only blocks together hold.
static constexpr StreamSchedule kCutCandidates[] = {
    {.rowTile = 128, .streamTile = 64, .warps = 8, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 16, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 32, .streamTile = 32, .warps = 2, .stages = 2, .minBlocks = 1},
    {.rowTile = 32, .streamTile = 16, .warps = 2, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 1},
};
// Columns of accumulators that a block has, at most: fewer ones compute the scores more often.
static constexpr int64_t kMostColumns[] = {256, 128, 64};
// Columns of operands of scores that are long enough for the copies of the next ones.
static constexpr int64_t kLeastDepth = 96, kUsualDepth = 128, kMostDepth = 192;

// The depth that leaves the last part as full as others, or 0 where there is little to cut.
static int64_t chooseDepth(int64_t extent) {
  if (extent <= kMostDepth)
    return 0;
  auto cost = [&](int64_t depth) {
    return std::pair(llvm::alignTo(extent, depth), std::abs(depth - kUsualDepth));
  };
  int64_t best = kUsualDepth;
  for (int64_t depth = kLeastDepth; depth <= kMostDepth; depth += 16)
    if (cost(depth) < cost(best))
      best = depth;
  return best;
}

// Of nests with few rows, or without products: these are as fast as memory, and many small blocks
// read from it at a time.
static constexpr StreamSchedule kSmallCandidates[] = {
    {.rowTile = 16, .streamTile = 64, .warps = 1, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 32, .warps = 1, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 1},
};
static constexpr int64_t kFewRows = 256;
// Warps that a multiprocessor has registers for, whatever they need.
static constexpr int64_t kUsualWarps = 8;

// Of nests with few rows and a long stream whose weights are no products but come from memory,
// which each block reads for its rows and beside them all of the streamed operands: a block has as
// many of the rows as it can. What is left to fill the machine with is parts of the stream.
static std::vector<StreamSchedule> candidatesOfWholeRows(int64_t rows) {
  StreamSchedule tile;
  tile.rowTile = std::clamp<int64_t>(llvm::PowerOf2Ceil(rows), 16, 128);
  tile.warps = tile.rowTile / 16;
  std::vector<StreamSchedule> all;
  for (int64_t blocks : {kUsualWarps / tile.warps, int64_t(1)})
    for (int64_t streamTile : {64, 32, 16}) {
      tile.minBlocks = blocks;
      tile.streamTile = streamTile;
      all.push_back(tile);
    }
  return all;
}

// Of products of halves: 32 rows a warp, each of which splits all of the streamed operand.
static constexpr StreamSchedule kHalvesCandidates[] = {
    {.rowTile = 128, .streamTile = 16, .warps = 4, .stages = 2, .minBlocks = 2, .halves = true},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2, .halves = true},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 1, .halves = true},
};

// Operands of f32 that states stream are all sums that have been rounded to less than halves keep.
static bool allowsHalves(const StreamPlan &plan) {
  bool some = false;
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    if (!operand.element.isF32())
      continue;
    if (isScoreOperand(plan, i) || operand.isComputed() || !isRoundedSum(operand.read))
      return false;
    some = true;
  }
  return some;
}

static std::vector<StreamSchedule> plainCandidates(red::NestOp nest, const StreamPlan &plan) {
  attn::DimAttr row = attn::programOf(nest).lookupDim(plan.row);
  attn::DimAttr stream = attn::programOf(nest).lookupDim(plan.stream);
  bool isFew = row.isStatic() && row.getExtent() <= kFewRows;
  bool readsWeights = plan.hasProducts() && plan.contractions.empty();
  std::vector<StreamSchedule> all;
  if (plan.hasProducts() && !isFew && allowsHalves(plan))
    all.assign(std::begin(kHalvesCandidates), std::end(kHalvesCandidates));
  if (plan.hasProducts() && !isFew)
    llvm::append_range(all, kCandidates);
  else if (readsWeights && !stream.isStatic())
    all = candidatesOfWholeRows(row.getExtent());
  // Weights that come from memory are what such a nest waits for.
  for (StreamSchedule &candidate : all) {
    candidate.copyInputs = readsWeights;
    candidate.copyInputs = !stagedInputs(nest, plan, candidate).empty();
  }
  for (StreamSchedule candidate : kSmallCandidates) {
    if (!plan.hasProducts()) // nothing of it is in shared memory
      candidate.minBlocks = kUsualWarps;
    if (!plan.hasProducts() || isFew)
      all.push_back(candidate);
  }
  return all;
}

static std::vector<StreamSchedule> candidatesFor(red::NestOp nest, const StreamPlan &plan) {
  std::vector<StreamSchedule> all = plainCandidates(nest, plan);
  int64_t columns = widestColumns(plan), depth = chooseDepth(widestDepth(plan));
  for (int64_t most : kMostColumns)
    for (StreamSchedule candidate : kCutCandidates) {
      candidate.columns = columns > most ? evenColumns(columns, most) : 0;
      candidate.depth = depth;
      if (candidate.columns || candidate.depth)
        all.push_back(candidate);
    }
  return all;
}

static int64_t registersPerThread(const StreamSchedule &schedule, const Machine &machine) {
  int64_t perBlock = machine.registersPerMultiprocessor / schedule.minBlocks;
  return std::min(machine.registersPerThread, perBlock / (32 * schedule.warps));
}

// Far beyond what shared memory holds, and far from overflow.
static constexpr int64_t kMostTileRows = 4096;

static std::string checkShape(const StreamSchedule &s) {
  if (s.warps < 1 || s.warps > 32 || (s.warps & (s.warps - 1)))
    return llvm::formatv("warps is {0}; it can be 1, 2, 4, 8, 16 or 32", s.warps);
  if (s.rowTile < 1 || s.rowTile % (16 * s.warps) || s.rowTile > kMostTileRows)
    return llvm::formatv("row_tile is {0}; with {1} warps it is a multiple of {2} up to {3}",
                         s.rowTile, s.warps, 16 * s.warps, kMostTileRows);
  if (s.streamTile < 1 || s.streamTile % 16 || s.streamTile > kMostTileRows)
    return llvm::formatv("stream_tile is {0}; it is a multiple of 16 up to {1}", s.streamTile,
                         kMostTileRows);
  if (s.stages < 2 || s.stages > 8)
    return llvm::formatv("stages is {0}; it is 2 to 8", s.stages);
  for (auto [key, value] : {std::pair("columns", s.columns), std::pair("depth", s.depth)})
    if (value < 0 || value % 16)
      return llvm::formatv("{0} is {1}; it is a multiple of 16, or 0 for all", key, value);
  if (!(s.slack >= 0 && s.slack <= kMaxSlack))
    return llvm::formatv("slack is {0}; it is 0 to {1}", s.slack, kMaxSlack);
  if (s.minBlocks < 1 || s.minBlocks > 16)
    return llvm::formatv("min_blocks is {0}; it is 1 to 16", s.minBlocks);
  return "";
}

// How much the operands' inner dims and types explain of a tile's size: "64-wide bf16 operands".
static std::string describeOperands(const StreamPlan &plan) {
  if (plan.streamed.empty())
    return "a pass without products of matrices";
  int64_t widest = 0;
  Type element;
  for (const OperandTile &operand : plan.streamed)
    if (operand.cols > widest)
      std::tie(widest, element) = std::tie(operand.cols, operand.element);
  std::string text;
  llvm::raw_string_ostream(text) << element << " operands of width " << widest;
  return text;
}

std::string checkSchedule(red::NestOp nest, const StreamPlan &plan, const StreamSchedule &schedule,
                          const Machine &machine) {
  if (std::string why = checkShape(schedule); !why.empty())
    return why;
  if (schedule.halves && !allowsHalves(plan))
    return "halves are for operands that are sums of f32 with 16-bit operands of their own";
  int64_t parts = depthParts(*CutPlan(plan, schedule.columns, schedule.depth));
  if (parts > 1 && schedule.stages > parts)
    return llvm::formatv("stages is {0}; with depth {1}, which makes {2} parts, it is 2 to {2}",
                         schedule.stages, schedule.depth, parts);
  int64_t bytes = sharedBytes(nest, plan, schedule);
  int64_t limit =
      std::min(machine.sharedPerBlock,
               machine.sharedPerMultiprocessor / schedule.minBlocks - machine.sharedReserved);
  int64_t registers = fragmentRegisters(plan, schedule) + otherRegisters(nest, plan, schedule);
  int64_t registerLimit = registersPerThread(schedule, machine);
  std::string what;
  if (bytes > limit)
    what = llvm::formatv("needs {0} KB of shared memory, {1} has {2}", (bytes + 1023) / 1024,
                         machine.name, limit / 1024);
  else if (registers > registerLimit)
    what = llvm::formatv("needs about {0} registers a thread, {1} has {2}", registers, machine.name,
                         registerLimit);
  if (what.empty())
    return "";
  std::string blocks = schedule.minBlocks > 1
                           ? llvm::formatv(", {0} blocks at a time", schedule.minBlocks).str()
                           : "";
  std::string text = llvm::formatv("{0} with row_tile {1}, stream_tile {2}, {3} stages{4} {5}",
                                   describeOperands(plan), schedule.rowTile, schedule.streamTile,
                                   schedule.stages, blocks, what);
  StreamSchedule smaller = schedule;
  for (smaller.streamTile = schedule.streamTile / 2; smaller.streamTile >= 16;
       smaller.streamTile /= 2)
    if (smaller.streamTile % 16 == 0 && checkSchedule(nest, plan, smaller, machine).empty())
      return text + llvm::formatv(": stream_tile {0} fits", smaller.streamTile).str();
  for (const StreamSchedule &candidate : kCandidates)
    if (candidate.streamTile < schedule.streamTile && candidate.rowTile < schedule.rowTile &&
        checkSchedule(nest, plan, candidate, machine).empty())
      return text + llvm::formatv(": row_tile {0} with stream_tile {1}, {2} warps fits",
                                  candidate.rowTile, candidate.streamTile, candidate.warps)
                        .str();
  return text;
}

void setGenericSchedule(red::NestOp nest, int64_t threads) {
  Builder b(nest.getContext());
  nest.setScheduleAttr(
      b.getDictionaryAttr({b.getNamedAttr("form", b.getStringAttr("generic")),
                           b.getNamedAttr("threads", b.getI64IntegerAttr(threads))}));
}

// A stream of parts is short: a thread for each element has less to wait for than a block.
static bool streamsParts(red::NestOp nest) {
  auto parts = attn::programOf(nest)->getAttrOfType<ArrayAttr>(kPartDimsAttr);
  return parts && llvm::any_of(nest.getStream(), [&](Attribute dim) {
           return llvm::is_contained(parts.getValue(), dim);
         });
}

// Sums over dims of known extent, which tiles of other nests may compute as well, one term after
// the other: exp(s - m) is a weight of at most 1 only if all of them get the same bits for s.
static bool mayBeSummedElsewhere(red::NestOp nest) {
  attn::ProgramOp program = attn::programOf(nest);
  return llvm::all_of(nest.getStream().getAsRange<StringAttr>(),
                      [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); }) &&
         llvm::all_of(nest.states(), [](red::FoldOp state) {
           return state.getKind() == red::FoldKind::Add && !state.getExponent();
         });
}

std::string setScalarSchedule(red::NestOp nest) {
  std::string why;
  FailureOr<RowsPlan> plan = planRows(nest, why);
  std::optional<RowsSchedule> rows;
  if (succeeded(plan) && !streamsParts(nest) && !mayBeSummedElsewhere(nest))
    rows = chooseRows(nest, *plan, why);
  if (!rows) {
    setGenericSchedule(nest, 128);
    return why;
  }
  nest.setScheduleAttr(rows->toAttr(nest.getContext()));
  return "";
}

bool hasTiles(red::NestOp nest) {
  StringRef form = scheduleForm(nest);
  return form == "warpgroups" || form == "stream";
}

// The first portable schedule that fits, or why there is none.
static std::string choosePortable(red::NestOp nest, const StreamPlan &plan,
                                  const Machine &machine) {
  std::string why;
  for (const StreamSchedule &candidate : candidatesFor(nest, plan)) {
    why = checkSchedule(nest, plan, candidate, machine);
    if (why.empty()) {
      nest.setScheduleAttr(candidate.toAttr(nest.getContext()));
      break;
    }
  }
  return why;
}

// A mask that leaves something of each tile, as every third key, is a condition for elements only.
static void dropVainQuestions(red::NestOp nest, const StreamPlan &plan) {
  auto extentOf = [&](StringAttr dim, int64_t otherwise) {
    attn::DimAttr declared = attn::programOf(nest).lookupDim(dim);
    return declared.isStatic() ? declared.getExtent() : otherwise;
  };
  const ReferenceExtents &reference = referenceExtents().front();
  if (liveCondition(nest) && !maySkipTiles(nest, plan, extentOf(plan.row, reference.rows),
                                           extentOf(plan.stream, reference.stream)))
    cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator()).getLiveMutable().clear();
}

std::string chooseSchedule(red::NestOp nest, const Machine &machine) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (succeeded(plan)) {
    if (plan->hasProducts())
      dropVainQuestions(nest, *plan);
    if (auto ranking = rankSchedules(nest, *plan, machine); !ranking.empty()) {
      nest.setScheduleAttr(ranking.front().schedule.toAttr(nest.getContext()));
      return "";
    }
    bool mergesElements = !plan->hasProducts() && streamsParts(nest);
    if (!mergesElements && (why = choosePortable(nest, *plan, machine)).empty())
      return "";
  }
  (void)setScalarSchedule(nest);
  return why;
}

std::vector<StreamSchedule> portableSchedules(red::NestOp nest, const StreamPlan &plan,
                                              const Machine &machine) {
  std::vector<StreamSchedule> fitting;
  for (const StreamSchedule &candidate : candidatesFor(nest, plan))
    if (checkSchedule(nest, plan, candidate, machine).empty())
      fitting.push_back(candidate);
  return fitting;
}

static bool chooseSmallerPortable(red::NestOp nest, const StreamPlan &plan,
                                  const Machine &machine) {
  DictionaryAttr current = nest.getScheduleAttr();
  std::vector<StreamSchedule> candidates = candidatesFor(nest, plan);
  auto position = llvm::find_if(candidates, [&](const StreamSchedule &candidate) {
    return candidate.toAttr(nest.getContext()) == current;
  });
  for (; position != candidates.end(); ++position)
    if (position->toAttr(nest.getContext()) != current &&
        checkSchedule(nest, plan, *position, machine).empty()) {
      nest.setScheduleAttr(position->toAttr(nest.getContext()));
      return true;
    }
  return false;
}

// The next of the ranking whose groups have more registers to spare, else the portable form.
static bool chooseSmallerWarpgroups(red::NestOp nest, const StreamPlan &plan,
                                    const Machine &machine) {
  auto spare = [&](const WarpgroupSchedule &schedule) {
    return schedule.groupRegisters - groupRegisters(nest, plan, schedule);
  };
  DictionaryAttr current = nest.getScheduleAttr();
  WarpgroupSchedule now = WarpgroupSchedule::from(current);
  int64_t spareNow = spare(now);
  std::vector<RankedSchedule> ranking = rankSchedules(nest, plan, machine);
  auto position =
      llvm::find_if(ranking, [&](const RankedSchedule &ranked) { return ranked.schedule == now; });
  if (position == ranking.end())
    position = ranking.begin();
  for (; position != ranking.end(); ++position)
    if (spare(position->schedule) > spareNow && position->schedule.copyInputs == now.copyInputs) {
      nest.setScheduleAttr(position->schedule.toAttr(nest.getContext()));
      return true;
    }
  return choosePortable(nest, plan, machine).empty();
}

// Fewer rows have fewer elements of states a thread.
static bool chooseFewerRows(red::NestOp nest) {
  std::string why;
  FailureOr<RowsPlan> plan = planRows(nest, why);
  RowsSchedule schedule = RowsSchedule::from(nest.getScheduleAttr());
  schedule.rows /= 2;
  if (failed(plan) || !checkRows(*plan, schedule).empty())
    return false;
  nest->removeAttr(kScheduleSourceAttr);
  nest.setScheduleAttr(schedule.toAttr(nest.getContext()));
  return true;
}

bool chooseSmallerSchedule(red::NestOp nest, const Machine &machine) {
  std::string why;
  if (scheduleForm(nest) == "rows")
    return chooseFewerRows(nest);
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan) || !nest.getScheduleAttr())
    return false;
  nest->removeAttr(kScheduleSourceAttr);
  return scheduleForm(nest) == "warpgroups" ? chooseSmallerWarpgroups(nest, *plan, machine)
                                            : chooseSmallerPortable(nest, *plan, machine);
}

StringRef scheduleForm(red::NestOp nest) {
  DictionaryAttr attr = nest.getScheduleAttr();
  auto form = attr ? attr.getAs<StringAttr>("form") : StringAttr();
  return form ? form.getValue() : "generic";
}

// What was measured comes before what is predicted, if it still fits.
static void applyTuned(red::NestOp nest, const Machine &machine, const TuningDatabase &tuned) {
  std::string origin;
  const TunedSchedule *found = tuned.find(nestKey(nest), machine.name, origin);
  if (!found)
    return;
  Builder b(nest.getContext());
  DictionaryAttr predicted = nest.getScheduleAttr();
  if (Status status = overrideSchedule(nest, machine, found->schedule); !status) {
    nest.setScheduleAttr(predicted);
    origin = "model: what " + origin + " holds is refused: " + status.error().message;
  } else {
    origin = "tuning database: " + origin;
  }
  nest->setAttr(kScheduleSourceAttr, b.getStringAttr(origin));
}

Status chooseSchedules(attn::ProgramOp program, StringRef target, const nlohmann::json &overrides,
                       const TuningDatabase *tuned) {
  const Machine *machine = findMachine(target);
  if (!machine) {
    std::string known;
    for (const Machine &m : machines())
      known += (known.empty() ? "" : ", ") + m.name.str();
    return invalidArgument("unknown target '" + target.str() + "'", "known are " + known);
  }
  SmallVector<red::NestOp> nests(program.getBodyBlock()->getOps<red::NestOp>());
  for (red::NestOp nest : nests) {
    (void)chooseSchedule(nest, *machine);
    if (tuned)
      applyTuned(nest, *machine, *tuned);
  }
  agreeOnScores(nests);
  return applyOverrides(nests, *machine, overrides);
}

} // namespace attnc::schedule
