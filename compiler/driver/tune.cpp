#include "compiler/driver/tune.h"
#include "compiler/driver/pipeline.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/nest_key.h"
#include "compiler/schedule/rows_plan.h"
#include "compiler/schedule/schedule_ranking.h"
#include "mlir/IR/BuiltinOps.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::driver {

static nlohmann::json toJson(DictionaryAttr schedule) {
  nlohmann::json keys = nlohmann::json::object();
  for (NamedAttribute item : schedule) {
    std::string key = item.getName().str();
    if (auto flag = dyn_cast<BoolAttr>(item.getValue()))
      keys[key] = flag.getValue();
    else if (auto number = dyn_cast<IntegerAttr>(item.getValue()))
      keys[key] = number.getInt();
    else if (auto real = dyn_cast<FloatAttr>(item.getValue()))
      keys[key] = real.getValueAsDouble();
    else if (auto text = dyn_cast<StringAttr>(item.getValue()))
      keys[key] = text.getValue().str();
  }
  return keys;
}

static NestCandidates candidatesOf(red::NestOp nest, const schedule::Machine &machine,
                                   size_t count) {
  NestCandidates result{schedule::kernelName(nest), schedule::nestKey(nest), {}};
  std::string why;
  FailureOr<schedule::StreamPlan> plan = schedule::planStream(nest, why);
  MLIRContext *context = nest.getContext();
  if (failed(plan)) {
    if (FailureOr<schedule::RowsPlan> rows = schedule::planRows(nest, why); succeeded(rows))
      for (const schedule::RowsSchedule &one : schedule::rowsCandidates(nest, *rows))
        if (result.candidates.size() < count)
          result.candidates.push_back({toJson(one.toAttr(context)), {}, {}});
    return result;
  }
  bool masked = nest.getDomainBlock() != nullptr; // else all row tiles take as long
  for (const schedule::RankedSchedule &ranked :
       schedule::pickCandidates(schedule::rankSchedules(nest, *plan, machine, masked), count))
    result.candidates.push_back(
        {toJson(ranked.schedule.toAttr(context)), ranked.share, ranked.step.clocks});
  if (!result.candidates.empty())
    return result;
  for (const schedule::StreamSchedule &portable : schedule::portableSchedules(nest, *plan, machine))
    if (result.candidates.size() < count)
      result.candidates.push_back({toJson(portable.toAttr(context)), {}, {}});
  return result;
}

Result<std::vector<NestCandidates>> tuningCandidates(const Spec &spec, const std::string &target,
                                                     size_t count) {
  const schedule::Machine *machine = schedule::findMachine(target);
  if (!machine)
    return invalidArgument("the target " + target + " has no schedules to choose from",
                           "use a GPU's target");
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(const_cast<Spec &>(spec).module.get()->clone()));
  attn::ProgramOp program = *module->getOps<attn::ProgramOp>().begin();
  for (const Step &step : targetIndependentSteps())
    step.run(program);
  std::vector<NestCandidates> all;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    all.push_back(candidatesOf(nest, *machine, count));
  return all;
}

std::vector<Measured> measureAll(const std::vector<TuningCandidate> &candidates,
                                 const Measure &measure,
                                 const std::function<void(size_t)> &before) {
  std::vector<Measured> all;
  for (const TuningCandidate &candidate : candidates) {
    before(all.size());
    Result<double> time = measure(candidate.schedule);
    all.push_back({candidate, {}, ""});
    if (time)
      all.back().milliseconds = *time;
    else
      all.back().why = time.error().message;
  }
  return all;
}

const Measured *fastest(const std::vector<Measured> &all) {
  const Measured *best = nullptr;
  for (const Measured &one : all)
    if (one.milliseconds && (!best || *one.milliseconds < *best->milliseconds))
      best = &one;
  return best;
}

std::string describeSchedule(const nlohmann::json &schedule) {
  auto number = [&](const char *key) { return schedule.value(key, int64_t(0)); };
  if (schedule.value("form", "") == "rows")
    return fmt::format("{} rows, stream_tile {}, {} threads", number("rows"), number("stream_tile"),
                       number("threads"));
  if (schedule.value("form", "") != "warpgroups")
    return fmt::format("row_tile {}, stream_tile {}, {} warps, {} stages", number("row_tile"),
                       number("stream_tile"), number("warps"), number("stages"));
  return fmt::format("{} groups, stream_tile {}, {} stages{}{}", number("groups"),
                     number("stream_tile"), number("stages"),
                     schedule.value("alternate", false) ? ", in turns" : "",
                     schedule.value("draws", false)        ? ", draws row tiles"
                     : schedule.value("persistent", false) ? ", persistent"
                                                           : "");
}

} // namespace attnc::driver
