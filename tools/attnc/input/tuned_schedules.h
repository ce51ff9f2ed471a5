// The tuning databases that a command asks.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_TUNED_SCHEDULES_H
#define ATTNC_TOOLS_ATTNC_INPUT_TUNED_SCHEDULES_H

#include "compiler/schedule/choice/tuning_database.h"
#include "tools/attnc/input/target.h"

namespace attnc::cli {

/// The user's file for the GPU of the target, then attnc's own for it. Without a GPU: all files of
/// the user's, then attnc's own for any device; entries name their target. A damaged file is
/// reported on stderr and left out.
schedule::TuningDatabase tunedSchedules(const Target &target);

/// The user's file for a device; empty if there is no folder for it.
std::string userTuningFile(const DeviceProperties &device);

} // namespace attnc::cli

#endif
