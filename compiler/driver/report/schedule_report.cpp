#include "compiler/driver/report/schedule_report.h"
#include "compiler/schedule/choice/choose_schedule.h"

using namespace mlir;

namespace attnc::driver {

ScheduleReport reportSchedule(red::NestOp nest, StringRef target) {
  ScheduleReport report;
  const schedule::Form &form = schedule::formOf(nest);
  auto source = nest->getAttrOfType<StringAttr>(schedule::kScheduleSourceAttr);
  report.source = source ? source.getValue().str() : form.source().str();
  schedule::PlannedNest planned(nest);
  if (const schedule::GpuModel *machine = schedule::findGpuModel(target))
    form.report(planned, *machine, report);
  return report;
}

void sayCuts(const ScheduleReport &scheduled, std::vector<derivation::Step> &steps) {
  auto whole = llvm::find_if(steps, [](const derivation::Step &step) {
    return step.rule == derivation::Rule::Eliminated;
  });
  if (scheduled.cuts.empty() || whole == steps.end())
    return;
  std::vector<derivation::Step> said;
  std::string dims;
  for (llvm::StringRef dim : llvm::split(llvm::StringRef(whole->details.at("dims")), ", "))
    if (auto cut = scheduled.cuts.find(dim.str()); cut != scheduled.cuts.end()) {
      said.push_back(*whole);
      said.back().details = {{"dims", cut->first}, {"how", "in " + cut->second}};
    } else {
      dims += (dims.empty() ? "" : ", ") + dim.str();
    }
  whole->details["dims"] = dims;
  auto rest = dims.empty() ? steps.erase(whole) : std::next(whole);
  steps.insert(rest, said.begin(), said.end());
}

} // namespace attnc::driver
