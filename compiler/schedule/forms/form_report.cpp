#include "compiler/schedule/forms/form_report.h"
#include "compiler/schedule/choice/nest_key.h"
#include "compiler/schedule/model/schedule_ranking.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/stream/weight_stages.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "dialects/Attn/SpecLocation.h"
#include "runtime/program/byte_count.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::schedule {
namespace {

/// 1.2 M, 15.4 k
std::string countText(double count) {
  if (count >= 1e6)
    return fmt::format("{:.1f} M", count / 1e6);
  return count >= 1e4 ? fmt::format("{:.1f} k", count / 1e3) : fmt::format("{:.0f}", count);
}

class Reporter {
public:
  Reporter(red::NestOp nest, const StreamPlan &plan, const GpuModel &machine)
      : nest(nest), plan(plan), machine(machine), work(countWork(nest, plan).withoutTables()) {}

  void report(const WarpgroupSchedule &s, ScheduleReport &into) {
    int64_t needed = consumerRegisters(plan, s);
    int64_t bytes = sharedBytes(plan, s);
    into.roles = {
        fmt::format("warps 0-3, producer: {}; {} registers a thread", whoCopies(s),
                    s.producerRegisters),
        fmt::format("warps 4-{}, consumers: {} of {} rows; {} registers a thread, about {} needed",
                    4 * s.groups + 3,
                    s.groups == 1 ? "a group" : fmt::format("{} groups", s.groups), 64,
                    s.consumerRegisters, needed)};
    if (s.adderRegisters)
      into.roles.push_back(fmt::format(
          "warps {}-{}, adder: multiplies the weights of all groups by rows, and adds sums over "
          "rows to memory, in any order; {} registers a thread",
          4 * s.groups + 4, 4 * s.groups + 7, s.adderRegisters));
    if (s.seesaw)
      into.roles.push_back(
          fmt::format("both groups have the same rows, {} columns of the states each; they take "
                      "every other tile of the stream and exchange weights",
                      s.headDimTile));
    else if (s.groups > 1)
      into.roles.push_back(s.pingPong ? "groups start their products one after the other"
                                      : "groups start their products as they come");
    if (s.stagedWeights)
      into.roles.push_back(
          fmt::format("weights are made one after the other, in {} stages, each as "
                      "soon as its scores are there",
                      weightStages(nest, plan).size()));
    if (s.pack > 1)
      into.roles.push_back(fmt::format("a row tile has {} rows of each of {} indices of {}",
                                       s.rowIndices(), s.pack, plan.packing->dim.str()));
    if (s.cluster)
      into.roles.push_back(fmt::format(
          "two blocks of a cluster have the same rows: each sums scores over {} of {} columns and "
          "adds the other's sums",
          depthShare(widestDepth(plan), s.blocks()), widestDepth(plan)));
    reportParts(*cutPlan(plan, s), s.depth, into, s.seesaw ? s.groups : 1);
    reportTiles(s, into);
    reportMemory(s.rowTile(), s.streamTile, s.stages, bytes, into);
    into.occupancy =
        fmt::format("{} of {} threads on a multiprocessor; {}",
                    s.minBlocks() == 1 ? "one block" : "two blocks", s.threads(),
                    s.dynamicScheduler ? "each stays and draws row tiles from a counter"
                    : s.residentInputs ? "each stays and takes row tiles that follow each other"
                    : s.persistent     ? "each stays and takes row tiles in turn"
                                       : "a new one for each row tile");
    CostModel model(nest, plan, machine);
    StepPrediction step = model.step(s);
    double share = model.kernelShare(s);
    if (tabulatesDifferences(plan, s))
      work = countWork(nest, plan).withTables();
    reportStep(s.rowTile(), s.streamStep(), step.flops, step.copiedBytes + step.readBytes, into);
    reportPrediction(step, share, into);
    into.numbers["groups"] = s.groups;
    into.numbers["producer_registers"] = s.producerRegisters;
    into.numbers["consumer_registers"] = s.consumerRegisters;
    if (s.adderRegisters)
      into.numbers["adder_registers"] = s.adderRegisters;
    into.numbers["registers_needed"] = needed;
    into.numbers["tuning_key"] = nestKey(nest);
  }

  std::string whoCopies(const WarpgroupSchedule &s) {
    SmallVector<OperandMap> maps = operandMaps(plan, s);
    auto isByRows = [](const OperandMap &map) { return map.byRows; };
    std::string runs;
    for (const OperandMap &map : maps)
      if (map.run)
        runs = fmt::format(", those that follow each other in boxes of {}", map.run);
    if (llvm::all_of(maps, isByRows))
      return "all threads copy rows" + runs;
    if (llvm::any_of(maps, isByRows))
      return "all threads copy rows" + runs + "; one of them the other tiles";
    return s.seesaw ? "one thread for each group copies tiles" : "one thread copies tiles";
  }

  // What blocks and tiles have a part of: "e in 2 parts of 256, a block each: scores are computed 2
  // times".
  void reportParts(const StreamPlan &cut, int64_t depth, ScheduleReport &into, int64_t sharing = 1,
                   const char *sharer = "a group") {
    if (int64_t blocks = llvm::divideCeil(headDimTiles(cut), sharing); blocks > 1)
      into.roles.push_back(fmt::format(
          "{} columns of the states in {} parts of {}, a block each{}", widestColumns(plan), blocks,
          widestColumns(cut) * sharing,
          cut.depthBlocks == 1 ? fmt::format(": the scores are computed {} times", blocks) : ""));
    if (int64_t parts = depthTiles(cut); parts > 1)
      into.roles.push_back(fmt::format(
          "{} is the sum of {} parts of {} products",
          cut.depthBlocks == 1 ? "a score" : "a block's part of a score", parts, depth));
    into.numbers["column_parts"] = headDimTiles(cut);
    reportCuts(cut, fmt::format("{} each", sharing > 1 ? sharer : "a block"), into);
  }

  void reportCuts(const StreamPlan &cut, const std::string &owner, ScheduleReport &into) {
    auto say = [&](llvm::StringRef dim, const OperandTile &operand, const std::string &what) {
      if (int64_t parts = partsOf(operand); parts > 1)
        into.cuts[dim.str()] = fmt::format("{} parts of {}, {}", parts, operand.cols, what);
    };
    for (const Contraction &contraction : cut.contractions)
      for (mlir::StringAttr dim : attn::dimNames(red::FoldOp(contraction.fold).getDims())) {
        say(dim, contraction.resident, "one after the other, of which a score is the sum");
        if (cut.depthBlocks > 1)
          into.cuts[dim.str()] =
              fmt::format("2 parts of {}, a block each, of which a score is the sum",
                          contraction.resident.wholeCols());
      }
    for (const StreamState &state : cut.states)
      for (mlir::StringAttr dim : red::FoldOp(state.fold).getType().getDims())
        if (state.streamed != -1 && llvm::is_contained(nest.getInner(), dim))
          say(dim, cut.streamed[state.streamed], owner);
  }

  void report(const PortableSchedule &s, ScheduleReport &into) {
    into.roles = {fmt::format("{} warps, each copies a share of the tiles and computes {} rows",
                              s.warps, s.warpRows())};
    if (s.columnWarps)
      into.roles.push_back(
          fmt::format("{} warps have the same rows, {} columns of the states each; each computes "
                      "{} of {} scores of a row, and they exchange weights",
                      s.columnWarps, s.headDimTile, s.scoreColumns(), s.streamTile));
    if (s.columnGroups)
      into.roles.push_back(fmt::format("{} warps have the same rows, each with a part of the "
                                       "columns of the states and scores of its own",
                                       s.columnGroups));
    reportParts(tiledPlan(plan, s.headDimTile, s.depth), s.depth, into, s.warpsOfRows(), "a warp");
    reportTiles(s, into);
    reportMemory(s.rowTile, s.streamTile, s.stages, sharedBytes(nest, plan, s), into);
    into.occupancy = fmt::format(
        "registers for {} of {} threads on a multiprocessor; a new one for each row "
        "tile",
        s.minBlocks == 1 ? "a block" : fmt::format("{} blocks", s.minBlocks), 32 * s.warps);
    reportStep(s.rowTile, s.streamTile, into);
  }

private:
  static std::string nameOf(attn::ReadOp read) { return tensorOf(read.getSource()).name; }
  static std::string tileText(attn::ReadOp read, int64_t rows, int64_t cols, int64_t stages) {
    return fmt::format("{}: {} x {}, {}", nameOf(read), rows, cols,
                       stages == 1 ? "one tile" : fmt::format("{} stages", stages));
  }

  void reportTiles(const WarpgroupSchedule &s, ScheduleReport &into) {
    for (const OperandMap &map : operandMaps(plan, s))
      into.stages.push_back(tileText(map.read, map.rows, map.cols, map.stages) +
                            (map.byRows ? ", row by row" : "") +
                            (map.kind == OperandMap::Kind::Band
                                 ? ", near rows: a product with a band of weights behind the stream"
                                 : "") +
                            (map.stays ? ", which stays while " + runText() + " on" : ""));
    for (const ResultMap &map : resultMaps(plan, s))
      into.stages.push_back(fmt::format("{}: {} x {}, one tile on its way out",
                                        tensorOf(map.result).name, map.rows, map.cols));
  }

  // "n goes", "b and n go"
  std::string runText() {
    SmallVector<StringAttr> dims = runDims(nest, plan);
    std::string names =
        llvm::join(llvm::map_range(dims, [](StringAttr dim) { return dim.getValue(); }), " and ");
    return names + (dims.size() == 1 ? " goes" : " go");
  }

  void reportTiles(const PortableSchedule &s, ScheduleReport &into) {
    StreamPlan cut = tiledPlan(plan, s.headDimTile, s.depth);
    llvm::SmallDenseSet<Operation *> seen;
    for (const Contraction &contraction : cut.contractions)
      if (const OperandTile &tile = contraction.resident; seen.insert(tile.source).second)
        into.stages.push_back(operandText(tile, s.rowTile, partsOf(tile)));
    for (auto [i, operand] : llvm::enumerate(cut.streamed))
      into.stages.push_back(
          isCopied(cut, operand, s.columnWarps) && operand.gathered
              ? fmt::format("{}, row by row", tileText(operand.gathered, streamedRows(cut, i, s),
                                                       operand.cols, ringStages(cut, i, s)))
              : operandText(operand, streamedRows(cut, i, s), ringStages(cut, i, s)));
  }

  static std::string operandText(const OperandTile &operand, int64_t rows, int64_t stages) {
    if (!operand.isComputed())
      return tileText(operand.read, rows, operand.cols, stages);
    llvm::StringRef name = attn::specName(operand.source->getLoc());
    std::string element;
    llvm::raw_string_ostream(element) << operand.element;
    return fmt::format("{}: {} x {}, computed into one tile of {}",
                       name.empty() ? "an operand" : name.str(), rows, operand.cols, element);
  }

  void reportMemory(int64_t rowTile, int64_t streamTile, int64_t stages, int64_t bytes,
                    ScheduleReport &into) {
    into.stages.push_back(fmt::format("{} of shared memory, {} has {}", bytesText(bytes),
                                      machine.name.str(), bytesText(machine.sharedPerBlock)));
    into.numbers["row_tile"] = rowTile;
    into.numbers["stream_tile"] = streamTile;
    into.numbers["stages"] = stages;
    into.numbers["shared_bytes"] = bytes;
  }

  void reportStep(int64_t rowTile, int64_t streamTile, ScheduleReport &into) {
    double scores = static_cast<double>(rowTile * streamTile);
    reportStep(rowTile, streamTile,
               2 * scores * static_cast<double>(work.scoreColumns + work.weightColumns),
               static_cast<double>(work.streamBytes * streamTile) +
                   scores * static_cast<double>(work.scoreBytes),
               into);
  }

  // Of what one block computes and reads.
  void reportStep(int64_t rowTile, int64_t streamTile, double flops, double bytes,
                  ScheduleReport &into) {
    double special = static_cast<double>(rowTile * streamTile) * work.special;
    into.roofline.push_back(fmt::format(
        "a step of {} x {} scores: {} FLOP, {} exponentials and the like, {:g} other "
        "operations a score, {} read",
        rowTile, streamTile, countText(flops), countText(special), work.plain, bytesText(bytes)));
    into.numbers["step"] = {
        {"flops", flops}, {"special", special}, {"plain_per_score", work.plain}, {"bytes", bytes}};
  }

  void reportPrediction(const StepPrediction &step, double share, ScheduleReport &into) {
    for (const StepBound &bound : step.bounds) {
      if (bound.clocks > 0)
        into.roofline.push_back(fmt::format("{:>6.0f} clocks: {}", bound.clocks, bound.name.str()));
      into.numbers["bounds"][bound.name.str()] = bound.clocks;
    }
    std::string at;
    for (const ReferenceExtents &reference : referenceExtents())
      at += (at.empty() ? "" : " and ") + std::to_string(reference.rows);
    into.roofline.push_back(
        fmt::format("{:>6.0f} clocks predicted, limited by {}: {:.0f} % of the tensor cores' peak",
                    step.clocks, step.limit().name.str(), 100 * step.tensorShare));
    into.roofline.push_back(fmt::format(
        "{:.0f} % for the whole kernel, over {} rows and stream indices", 100 * share, at));
    into.numbers["predicted"] = {{"clocks", step.clocks},
                                 {"limit", step.limit().name.str()},
                                 {"tensor_share", step.tensorShare},
                                 {"kernel_share", share}};
  }

  red::NestOp nest;
  const StreamPlan &plan;
  const GpuModel &machine;
  StreamWork work;
};

} // namespace

void report(PlannedNest &nest, const WarpgroupSchedule &schedule, const GpuModel &machine,
            ScheduleReport &into) {
  Reporter(nest.op(), *nest.ofHalves(), machine).report(schedule, into);
}

void report(PlannedNest &nest, const PortableSchedule &schedule, const GpuModel &machine,
            ScheduleReport &into) {
  if (!nest.stream()->hasProducts())
    into.how = "rows of elements; no tile is multiplied by another";
  Reporter(nest.op(), *nest.stream(), machine).report(schedule, into);
}

void report(PlannedNest &nest, const RowsSchedule &schedule, ScheduleReport &into) {
  const RowsPlan &plan = *nest.rows();
  std::string rows = plan.row && schedule.rows > 1
                         ? fmt::format("{} rows of {}", schedule.rows, plan.row.getValue().str())
                         : "one row";
  into.roles.push_back(fmt::format("{} threads have {}; scores of {} indices of {} at a time",
                                   schedule.threads, rows, schedule.streamTile,
                                   plan.stream.getValue().str()));
  for (auto [group, threads] : llvm::zip(plan.groups, groupThreads(plan, schedule))) {
    std::string states;
    int64_t together = rowsTogether(group, schedule);
    for (red::FoldOp state : group.states)
      states += (states.empty() ? "" : ", ") + attn::specName(state.getLoc()).str();
    into.roles.push_back(
        fmt::format("threads {}-{} fold {}: {} elements{}", threads.first,
                    threads.first + threads.count - 1, states, group.elements,
                    together == 1 ? " of each row" : fmt::format(" of {} rows each", together)));
  }
}

} // namespace attnc::schedule
