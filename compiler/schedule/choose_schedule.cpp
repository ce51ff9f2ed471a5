#include "compiler/schedule/choose_schedule.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::schedule {

// Registers of a thread that are not fragments: addresses, row vectors, an operand of the product
// that is under way.
static constexpr int64_t kOtherRegisters = 64;

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

static int64_t registersPerThread(const StreamSchedule &schedule, const Machine &machine) {
  int64_t perBlock = machine.registersPerMultiprocessor / schedule.minBlocks;
  return std::min(machine.registersPerThread, perBlock / (32 * schedule.warps));
}

static std::string checkShape(const StreamSchedule &s) {
  if (s.warps < 1 || s.warps > 32 || (s.warps & (s.warps - 1)))
    return llvm::formatv("warps is {0}; it can be 1, 2, 4, 8, 16 or 32", s.warps);
  if (s.rowTile < 1 || s.rowTile % (16 * s.warps))
    return llvm::formatv("row_tile is {0}; with {1} warps it is a multiple of {2}", s.rowTile,
                         s.warps, 16 * s.warps);
  if (s.streamTile < 1 || s.streamTile % 16)
    return llvm::formatv("stream_tile is {0}; it is a multiple of 16", s.streamTile);
  if (s.stages < 2 || s.stages > 8)
    return llvm::formatv("stages is {0}; it is 2 to 8", s.stages);
  if (!(s.slack >= 0 && s.slack <= kMaxSlack))
    return llvm::formatv("slack is {0}; it is 0 to {1}", s.slack, kMaxSlack);
  if (s.minBlocks < 1 || s.minBlocks > 16)
    return llvm::formatv("min_blocks is {0}; it is 1 to 16", s.minBlocks);
  return "";
}

// How much the operands' inner dims and types explain of a tile's size: "64-wide bf16 operands".
static std::string describeOperands(const StreamPlan &plan) {
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
  int64_t bytes = sharedBytes(nest, plan, schedule);
  int64_t limit =
      std::min(machine.sharedPerBlock,
               machine.sharedPerMultiprocessor / schedule.minBlocks - machine.sharedReserved);
  int64_t registers = fragmentRegisters(plan, schedule) + kOtherRegisters;
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

static void setGeneric(red::NestOp nest, int64_t threads) {
  Builder b(nest.getContext());
  nest.setScheduleAttr(
      b.getDictionaryAttr({b.getNamedAttr("form", b.getStringAttr("generic")),
                           b.getNamedAttr("threads", b.getI64IntegerAttr(threads))}));
}

std::string chooseSchedule(red::NestOp nest, const Machine &machine) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (succeeded(plan)) {
    for (const StreamSchedule &candidate : kCandidates) {
      why = checkSchedule(nest, *plan, candidate, machine);
      if (why.empty()) {
        nest.setScheduleAttr(candidate.toAttr(nest.getContext()));
        return "";
      }
    }
  }
  setGeneric(nest, 128);
  return why;
}

bool chooseSmallerSchedule(red::NestOp nest, const Machine &machine) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  DictionaryAttr current = nest.getScheduleAttr();
  if (failed(plan) || !current)
    return false;
  auto position = llvm::find_if(kCandidates, [&](const StreamSchedule &candidate) {
    return candidate.toAttr(nest.getContext()) == current;
  });
  for (; position != std::end(kCandidates); ++position)
    if (position->toAttr(nest.getContext()) != current &&
        checkSchedule(nest, *plan, *position, machine).empty()) {
      nest.setScheduleAttr(position->toAttr(nest.getContext()));
      return true;
    }
  return false;
}

//===----------------------------------------------------------------------===//
// What the user says
//===----------------------------------------------------------------------===//

static Status refuse(const std::string &text) { return invalidArgument("schedule: " + text); }

static StringRef formOf(red::NestOp nest) {
  DictionaryAttr attr = nest.getScheduleAttr();
  auto form = attr ? attr.getAs<StringAttr>("form") : StringAttr();
  return form ? form.getValue() : "generic";
}

static Status overrideGeneric(red::NestOp nest, const nlohmann::json &keys) {
  int64_t threads = 128;
  if (formOf(nest) == "generic")
    if (auto set = nest.getScheduleAttr().getAs<IntegerAttr>("threads"))
      threads = set.getInt();
  for (const auto &[key, value] : keys.items()) {
    if (key == "form")
      continue;
    if (key != "threads")
      return refuse("the generic form has no key '" + key + "'; it has threads");
    threads = value.is_number_integer() ? value.get<int64_t>() : 0;
    if (threads < 32 || threads > 1024 || threads % 32)
      return refuse("threads is a multiple of 32 up to 1024");
  }
  setGeneric(nest, threads);
  return {};
}

static Status overrideStream(red::NestOp nest, const Machine &machine, const nlohmann::json &keys) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan))
    return refuse(kernelName(nest) + " has no stream form: " + why);
  StreamSchedule schedule;
  if (formOf(nest) == "stream")
    schedule = StreamSchedule::from(nest.getScheduleAttr());
  const std::pair<StringRef, int64_t *> integers[] = {{"row_tile", &schedule.rowTile},
                                                      {"stream_tile", &schedule.streamTile},
                                                      {"warps", &schedule.warps},
                                                      {"stages", &schedule.stages},
                                                      {"min_blocks", &schedule.minBlocks}};
  for (const auto &item : keys.items()) {
    const std::string &key = item.key();
    if (key == "form")
      continue;
    if (key == "slack") {
      if (!item.value().is_number())
        return refuse("slack is a number");
      schedule.slack = item.value().get<double>();
      continue;
    }
    auto known = llvm::find_if(integers, [&](auto &k) { return k.first == key; });
    if (known == std::end(integers))
      return refuse(
          "unknown key '" + key +
          "'; the stream form has row_tile, stream_tile, warps, stages, slack, min_blocks");
    if (!item.value().is_number_integer())
      return refuse(key + " is an integer");
    *known->second = item.value().get<int64_t>();
  }
  why = checkSchedule(nest, *plan, schedule, machine);
  if (!why.empty())
    return refuse(why);
  nest.setScheduleAttr(schedule.toAttr(nest.getContext()));
  return {};
}

Status overrideSchedule(red::NestOp nest, const Machine &machine, const nlohmann::json &keys) {
  if (!keys.is_object())
    return refuse("not a JSON object");
  std::string form = formOf(nest).str();
  if (auto named = keys.find("form"); named != keys.end())
    form = named->is_string() ? named->get<std::string>() : "";
  if (form == "generic")
    return overrideGeneric(nest, keys);
  if (form == "stream")
    return overrideStream(nest, machine, keys);
  return refuse("form is \"stream\" or \"generic\"");
}

// An override without a kernel's name: what asks for tiles is meant for the nests that have them.
static Status overrideAll(ArrayRef<red::NestOp> nests, const Machine &machine,
                          const nlohmann::json &keys) {
  bool applied = false;
  for (red::NestOp nest : nests) {
    if (!keys.contains("form") && formOf(nest) != (keys.contains("threads") ? "generic" : "stream"))
      continue;
    applied = true;
    if (Status status = overrideSchedule(nest, machine, keys); !status)
      return status;
  }
  if (!applied)
    return refuse("no nest has the form that the keys are for");
  return {};
}

Status chooseSchedules(attn::ProgramOp program, StringRef target, const nlohmann::json &overrides) {
  const Machine *machine = findMachine(target);
  if (!machine) {
    std::string known;
    for (const Machine &m : machines())
      known += (known.empty() ? "" : ", ") + m.name.str();
    return invalidArgument("unknown target '" + target.str() + "'", "known are " + known);
  }
  SmallVector<red::NestOp> nests(program.getBodyBlock()->getOps<red::NestOp>());
  for (red::NestOp nest : nests)
    (void)chooseSchedule(nest, *machine);
  if (overrides.is_null())
    return {};
  if (!overrides.is_object())
    return refuse("not a JSON object");
  nlohmann::json common = nlohmann::json::object();
  for (const auto &item : overrides.items())
    if (!item.value().is_object())
      common[item.key()] = item.value();
  if (!common.empty())
    if (Status status = overrideAll(nests, *machine, common); !status)
      return status;
  for (const auto &item : overrides.items()) {
    if (!item.value().is_object())
      continue;
    auto nest = llvm::find_if(nests, [&](red::NestOp n) { return kernelName(n) == item.key(); });
    if (nest == nests.end())
      return refuse("there is no kernel '" + item.key() + "'");
    if (Status status = overrideSchedule(*nest, *machine, item.value()); !status)
      return status;
  }
  return {};
}

} // namespace attnc::schedule
