// The one nest of a spec of the library, with its plan.
#ifndef ATTNC_TESTS_UNIT_SCHEDULE_LIBRARY_NEST_H
#define ATTNC_TESTS_UNIT_SCHEDULE_LIBRARY_NEST_H

#include "compiler/schedule/model/schedule_ranking.h"
#include "tests/unit/transforms/fused_program.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// The JSON of a spec of the library whose inner dims have the extent `width`.
nlohmann::json librarySpec(const std::string &name, int64_t width);

/// A fused spec whose last nest has a plan; those before it compute what it reads.
struct LibraryNest {
  LibraryNest(const std::string &name, int64_t width) : LibraryNest(librarySpec(name, width)) {}
  explicit LibraryNest(const nlohmann::json &spec);

  FusedProgram program;
  red::NestOp nest;
  StreamPlan plan;
};

inline const GpuModel &hopper() { return *findGpuModel("sm_90a"); }

/// A schedule with the registers that rankSchedules gives it.
WarpgroupSchedule makeSchedule(LibraryNest &of, int64_t groups, int64_t streamTile, int64_t stages);

} // namespace attnc::schedule

#endif
