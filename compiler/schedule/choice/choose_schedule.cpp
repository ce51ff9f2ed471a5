#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/choice/nest_key.h"
#include "compiler/schedule/choice/same_arithmetic.h"
#include "compiler/schedule/choice/schedule_override.h"
#include "compiler/schedule/model/cost_model.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/stream/stream_visits.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {

void dropVainQuestions(PlannedNest &planned) {
  red::NestOp nest = planned.op();
  if (!planned.stream() || !planned.stream()->hasProducts())
    return;
  const StreamPlan &plan = *planned.stream();
  auto extentOf = [&](StringAttr dim, int64_t otherwise) {
    attn::DimAttr declared = attn::programOf(nest).lookupDim(dim);
    return declared.isStatic() ? declared.getExtent() : otherwise;
  };
  const ReferenceExtents &reference = referenceExtents().front();
  if (liveCondition(nest) && !maySkipTiles(nest, plan, extentOf(plan.row, reference.rows),
                                           extentOf(plan.stream, reference.stream)))
    cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator()).getLiveMutable().clear();
}

Choice chooseSchedule(PlannedNest &nest, const GpuModel &machine, bool withTiles) {
  Choice choice;
  for (const Form *form : forms()) {
    std::string why;
    if (withTiles || !form->hasTiles())
      choice.schedule = form->choose(nest, machine, why);
    if (choice.schedule)
      break;
    choice.passedOver.emplace_back(form->name(), std::move(why));
  }
  return choice;
}

red::Schedule smallerSchedule(PlannedNest &nest, const GpuModel &machine) {
  return formOf(nest.op()).smaller(nest, machine);
}

bool hasTiles(red::NestOp nest) {
  red::Schedule schedule = nest.getScheduleAttr();
  return schedule && schedule.hasTiles();
}

static void notePassedOver(red::NestOp nest, const Choice &choice, const GpuModel &machine) {
  SmallVector<std::pair<std::string, StringRef>> reasons; // forms that lack the same together
  for (const auto &[form, why] : choice.passedOver)
    if (!machine.warpgroups && form == forms().front()->name())
      continue;
    else if (!reasons.empty() && reasons.back().second == why)
      reasons.back().first += ", " + form.str();
    else
      reasons.emplace_back(form.str(), why);
  SmallVector<std::string> texts;
  for (const auto &[forms, why] : reasons)
    texts.push_back(forms + ": " + why.str());
  if (!texts.empty())
    nest->setAttr(kPassedOverAttr,
                  Builder(nest.getContext()).getStrArrayAttr(llvm::to_vector_of<StringRef>(texts)));
}

// What was measured comes before what is predicted, if it still fits.
static void applyTuned(PlannedNest &nest, const GpuModel &machine, const TuningDatabase &tuned) {
  std::string origin;
  const TunedSchedule *found = tuned.find(nestKey(nest.op()), machine.name, origin);
  if (!found)
    return;
  if (Result<red::Schedule> schedule = overriddenSchedule(nest, machine, found->schedule)) {
    nest.op().setScheduleAttr(*schedule);
    origin = "tuning database: " + origin;
  } else {
    origin = "model: what " + origin + " holds is refused: " + schedule.error().message;
  }
  nest.op()->setAttr(kScheduleSourceAttr, Builder(nest.op().getContext()).getStringAttr(origin));
}

Status chooseSchedules(attn::ProgramOp program, StringRef target, const nlohmann::json &overrides,
                       const TuningDatabase *tuned) {
  const GpuModel *machine = findGpuModel(target);
  if (!machine) {
    std::string known;
    for (const GpuModel &m : gpuModels())
      known += (known.empty() ? "" : ", ") + m.name.str();
    return invalidArgument("unknown target '" + target.str() + "'", "known are " + known);
  }
  SmallVector<red::NestOp> nests(program.getBodyBlock()->getOps<red::NestOp>());
  for (red::NestOp nest : nests) {
    PlannedNest planned(nest);
    dropVainQuestions(planned);
    Choice choice = chooseSchedule(planned, *machine);
    nest.setScheduleAttr(choice.schedule);
    notePassedOver(nest, choice, *machine);
    if (tuned)
      applyTuned(planned, *machine, *tuned);
  }
  proposeChains(nests, *machine);
  agreeOnScores(nests, *machine);
  agreeOnComparedElements(nests, *machine);
  if (Status status = applyOverrides(nests, *machine, overrides); !status)
    return status;
  markChains(nests);
  return {};
}

} // namespace attnc::schedule
