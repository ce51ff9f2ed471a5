// Choice of a schedule for each nest: by rule, or as the user says.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H

#include "attnc/result.h"
#include "compiler/schedule/machine.h"
#include "compiler/schedule/stream_schedule.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// Sets the nest's `schedule`: the stream form with the largest tiles that fit the machine, or the
/// generic form. Returns why it is the generic one, or "".
std::string chooseSchedule(red::NestOp nest, const Machine &machine);

/// Sets the next smaller schedule of the stream form that fits, for a kernel that turned out to
/// spill; false if there is none, or if the nest has another form.
bool chooseSmallerSchedule(red::NestOp nest, const Machine &machine);

/// Changes the nest's schedule, which chooseSchedule has set, by the keys of a JSON object:
/// `{"row_tile": 64, "stream_tile": 32, "warps": 4, "stages": 2, "slack": 8, "min_blocks": 1}` for
/// the stream form, `{"form": "generic", "threads": 256}` for the generic one. Keys that it does
/// not name stay. The error (InvalidArgument) names the key, or what does not fit and what would.
Status overrideSchedule(red::NestOp nest, const Machine &machine, const nlohmann::json &keys);

/// Chooses a schedule for every nest of the program, then applies `overrides`: null, or an object
/// whose keys are those of overrideSchedule (for every nest that has a stream form, or for every
/// nest if they name the generic form) or names of kernels, with an object of such keys each.
Status chooseSchedules(attn::ProgramOp program, llvm::StringRef target,
                       const nlohmann::json &overrides);

/// Why the nest cannot run by this schedule on the machine, or "".
std::string checkSchedule(red::NestOp nest, const StreamPlan &plan, const StreamSchedule &schedule,
                          const Machine &machine);

} // namespace attnc::schedule

#endif
