// The schedule of a spec with gradients, for the two programs that it becomes.
#ifndef ATTNC_COMPILER_DRIVER_DIVIDE_SCHEDULE_H
#define ATTNC_COMPILER_DRIVER_DIVIDE_SCHEDULE_H

#include "compiler/driver/gradient.h"

namespace attnc::driver {

/// Gives each of the programs its keys of the schedule, those that the caller has `said` (null for
/// nothing) and those of the spec: all that have no kernel's name, and those of its own kernels.
/// Errors (InvalidArgument): neither program has a kernel that is named, and those of the passes
/// that come before schedules are chosen.
Status divideSchedule(GradientSpecs &specs, const nlohmann::json &said, const std::string &target);

} // namespace attnc::driver

#endif
