#include "compiler/schedule/forms/keyed_form.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/portable/lower_portable.h"
#include "compiler/schedule/portable/portable_candidates.h"
#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/stream/computed_operands.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/transforms/split.h"
#include "llvm/Support/FormatVariadic.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::schedule {
static int64_t registersPerThread(const PortableSchedule &schedule, const GpuModel &machine) {
  int64_t perBlock = machine.registersPerMultiprocessor / schedule.minBlocks;
  return std::min(machine.registersPerThread, perBlock / (32 * schedule.warps));
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

std::string checkSchedule(red::NestOp nest, const StreamPlan &plan,
                          const PortableSchedule &schedule, const GpuModel &machine) {
  if (std::string why = schedule.check(); !why.empty())
    return why;
  if (schedule.halves && !allowsHalves(plan))
    return "halves are for operands that are sums of f32 with 16-bit operands of their own";
  TiledPlan cut(plan, schedule.headDimTile, schedule.depth);
  if (std::string why = checkColumnParts(*cut); !why.empty())
    return why;
  if (std::string why = checkColumnWarps(*cut, schedule); !why.empty())
    return why;
  if (std::string why = checkColumnGroups(*cut, schedule); !why.empty())
    return why;
  int64_t arrivals = tileParts(*cut, schedule);
  if (arrivals > 1 && schedule.stages > arrivals)
    return llvm::formatv("stages is {0}; a tile arrives in {1} parts, so it is 2{2}",
                         schedule.stages, arrivals,
                         arrivals > 2 ? llvm::formatv(" to {0}", arrivals).str() : "");
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
  std::string parts;
  if (schedule.headDimTile)
    parts += llvm::formatv(", head_dim_tile {0}", schedule.headDimTile);
  if (schedule.columnWarps)
    parts += llvm::formatv(", column_warps {0}", schedule.columnWarps);
  if (schedule.columnGroups)
    parts += llvm::formatv(", column_groups {0}", schedule.columnGroups);
  std::string text = llvm::formatv("{0} with row_tile {1}, stream_tile {2}{3}, {4} stages{5} {6}",
                                   describeOperands(plan), schedule.rowTile, schedule.streamTile,
                                   parts, schedule.stages, blocks, what);
  PortableSchedule smaller = schedule;
  for (smaller.streamTile = schedule.streamTile / 2; smaller.streamTile >= 16;
       smaller.streamTile /= 2)
    if (smaller.streamTile % 16 == 0 && checkSchedule(nest, plan, smaller, machine).empty())
      return text + llvm::formatv(": stream_tile {0} fits", smaller.streamTile).str();
  for (const PortableSchedule &candidate : usualTiles()) {
    smaller = schedule; // all other keys are what they are
    smaller.rowTile = candidate.rowTile;
    smaller.streamTile = candidate.streamTile;
    smaller.warps = candidate.warps;
    if (smaller.streamTile < schedule.streamTile && smaller.rowTile < schedule.rowTile &&
        checkSchedule(nest, plan, smaller, machine).empty())
      return text + llvm::formatv(": row_tile {0} with stream_tile {1}, {2} warps fits",
                                  smaller.rowTile, smaller.streamTile, smaller.warps)
                        .str();
  }
  return text;
}

bool streamsSplits(red::NestOp nest) {
  return llvm::any_of(attn::dimNames(nest.getStream()),
                      [&](StringAttr dim) { return isPartDim(attn::programOf(nest), dim); });
}

namespace {

class PortableForm : public KeyedForm<PortableSchedule> {
public:
  bool hasTiles() const override { return true; }

  std::vector<Candidate> candidates(PlannedNest &nest, const GpuModel &machine,
                                    std::string &why) const override {
    return fitting(nest, machine, why, SIZE_MAX);
  }

  red::Schedule choose(PlannedNest &nest, const GpuModel &machine,
                       std::string &why) const override {
    if (nest.stream() && !nest.stream()->hasProducts() && streamsSplits(nest.op())) {
      why = "it merges the elements of a few parts";
      return {};
    }
    if (nest.stream() && isTiny(nest.op(), *nest.stream())) {
      why = "its matrices have so few elements that a tile would be padding";
      return {};
    }
    std::vector<Candidate> first = fitting(nest, machine, why, 1);
    return first.empty() ? red::Schedule() : first.front().schedule;
  }

  red::Schedule smaller(PlannedNest &nest, const GpuModel &machine) const override {
    std::vector<PortableSchedule> all = portableCandidates(nest.op(), *nest.stream());
    auto position = llvm::find(all, scheduleOf(nest.op()));
    while (position != all.end() && ++position != all.end())
      if (checkFor(nest, *position, machine).empty())
        return attrOf(nest, *position);
    return {};
  }

  FailureOr<tile::KernelOp> lower(PlannedNest &nest, OpBuilder &builder) const override {
    return lowerPortableNest(nest, builder);
  }

  void report(PlannedNest &nest, const GpuModel &machine, ScheduleReport &into) const override {
    schedule::report(nest, scheduleOf(nest.op()), machine, into);
  }

  StringRef source() const override { return "the first of the portable ones that fits"; }

protected:
  std::string checkFor(PlannedNest &nest, const PortableSchedule &schedule,
                       const GpuModel &machine) const override {
    if (!nest.stream())
      return kernelName(nest.op()) + " has no portable form: " + nest.whyNoStream();
    return checkSchedule(nest.op(), *nest.stream(), schedule, machine);
  }

  PortableSchedule startFor(PlannedNest &nest, const GpuModel &machine) const override {
    std::string why;
    red::Schedule chosen = choose(nest, machine, why);
    return chosen ? *tile::scheduleAs<PortableSchedule>(chosen) : PortableSchedule();
  }

  std::string shortOf(const PortableSchedule &s) const override {
    return fmt::format("row_tile {}, stream_tile {}, {} warps, {} stages", s.rowTile, s.streamTile,
                       s.warps, s.stages);
  }

private:
  // The first `count` that fit; if none does, why the last does not.
  std::vector<Candidate> fitting(PlannedNest &nest, const GpuModel &machine, std::string &why,
                                 size_t count) const {
    std::vector<Candidate> all;
    why = nest.whyNoStream();
    if (!nest.stream())
      return all;
    for (const PortableSchedule &candidate : portableCandidates(nest.op(), *nest.stream()))
      if (why = checkFor(nest, candidate, machine); why.empty()) {
        all.push_back({attrOf(nest, candidate)});
        if (all.size() == count)
          break;
      }
    return all;
  }
};

} // namespace

const Form &portableForm() {
  static const PortableForm form;
  return form;
}

} // namespace attnc::schedule
