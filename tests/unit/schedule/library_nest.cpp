#include "tests/unit/schedule/library_nest.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "kernels_spec/library.h"
#include <stdexcept>

namespace attnc::schedule {

nlohmann::json librarySpec(const std::string &name, int64_t width) {
  Diagnostics diagnostics;
  nlohmann::json json =
      wholeSpec(name, findInLibrary(name)->text, libraryBases(), diagnostics).value();
  for (auto &[dim, extent] : json["dims"].items())
    extent = width;
  return json;
}

LibraryNest::LibraryNest(const nlohmann::json &spec) : program(spec.dump()) {
  std::vector<red::NestOp> nests = program.nests();
  std::string why;
  mlir::FailureOr<StreamPlan> planned = planStream(nests.back(), why);
  if (mlir::failed(planned))
    throw std::runtime_error("the last nest has no plan: " + why);
  nest = nests.back();
  plan = *PlannedNest(nest).ofHalves();
}

WarpgroupSchedule makeSchedule(LibraryNest &of, int64_t groups, int64_t streamTile,
                               int64_t stages) {
  WarpgroupSchedule schedule;
  schedule.groups = groups;
  schedule.streamTile = streamTile;
  schedule.stages = stages;
  schedule.pingPong = groups > 1;
  RegisterBudget budget = registerBudget(of.nest, of.plan, schedule);
  schedule.producerRegisters = budget.load;
  schedule.consumerRegisters = budget.group;
  return schedule;
}

} // namespace attnc::schedule
