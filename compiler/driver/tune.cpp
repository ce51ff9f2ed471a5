#include "compiler/driver/tune.h"
#include "compiler/driver/pipeline.h"
#include "compiler/schedule/choice/nest_key.h"
#include "compiler/schedule/choice/schedule_json.h"
#include "compiler/schedule/forms/form.h"
#include "mlir/IR/BuiltinOps.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::driver {

static NestCandidates candidatesOf(red::NestOp nest, const schedule::GpuModel &machine,
                                   size_t count) {
  NestCandidates result{schedule::kernelName(nest), schedule::nestKey(nest), {}};
  schedule::PlannedNest planned(nest);
  for (const schedule::Form *form : schedule::forms()) {
    for (const schedule::Candidate &one : form->tuneSpace(planned, machine, count))
      result.candidates.push_back({schedule::toJson(one.schedule), one.share, one.clocks});
    if (!result.candidates.empty())
      break;
  }
  return result;
}

Result<std::vector<NestCandidates>> tuningCandidates(const Spec &spec, const std::string &target,
                                                     size_t count) {
  const schedule::GpuModel *machine = schedule::findGpuModel(target);
  if (!machine)
    return invalidArgument("the target " + target + " has no schedules to choose from",
                           "use a GPU's target");
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(const_cast<Spec &>(spec).module.get()->clone()));
  attn::ProgramOp program = *module->getOps<attn::ProgramOp>().begin();
  // As a compilation comes to the choice of schedules: what is stored is found by the nest's text.
  for (const Step &step : steps(firstStepOf(program), "choose-schedules").drop_back()) {
    Operation *on = step.on == Step::On::Module ? module->getOperation() : program.getOperation();
    if (Status status = step.run(on, {.target = target}); !status)
      return status.error();
  }
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
  const schedule::Form *form = schedule::findForm(schedule.value("form", ""));
  return form ? form->describe(schedule) : "";
}

} // namespace attnc::driver
