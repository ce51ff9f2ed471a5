// Choice of a schedule for each nest: by the cost model, as was measured, or as the user says.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H

#include "attnc/result.h"
#include "compiler/schedule/machine.h"
#include "compiler/schedule/stream_schedule.h"
#include "compiler/schedule/tuning_database.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// The discardable attribute of a nest that says where its schedule is from: the tuning database
/// or the user. Without it the schedule is the compiler's own choice.
inline constexpr llvm::StringLiteral kScheduleSourceAttr = "red.schedule_from";

/// Sets the nest's `schedule`: for a machine with warpgroups the best of rankSchedules, else the
/// portable stream form with the largest tiles that fit, else the rows form, else the generic one.
/// Returns why it has no tiles, or "".
std::string chooseSchedule(red::NestOp nest, const Machine &machine);

/// Sets the next schedule that needs fewer registers, for a kernel that turned out to spill: of the
/// form that the nest has, and after the last one with warpgroups, of the portable form. False if
/// there is none.
bool chooseSmallerSchedule(red::NestOp nest, const Machine &machine);

/// Chooses a schedule for every nest of the program: by chooseSchedule, or the entry of `tuned`
/// (may be null) if there is one that fits. Then applies `overrides` (schedule_override.h).
Status chooseSchedules(attn::ProgramOp program, llvm::StringRef target,
                       const nlohmann::json &overrides, const TuningDatabase *tuned = nullptr);

/// The portable schedules that fit the nest and the machine, in order of preference.
std::vector<StreamSchedule> portableSchedules(red::NestOp nest, const StreamPlan &plan,
                                              const Machine &machine);

/// The form of the nest's schedule: "warpgroups", "stream", "rows" or "generic".
llvm::StringRef scheduleForm(red::NestOp nest);

/// True of the forms "warpgroups" and "stream", whose tiles are for tensor cores; the others compute
/// scalar by scalar.
bool hasTiles(red::NestOp nest);

/// Sets the generic form.
void setGenericSchedule(red::NestOp nest, int64_t threads);

/// Sets the rows form, or where that does not fit the generic one; returns why, or "".
std::string setScalarSchedule(red::NestOp nest);

/// Why the nest cannot run by this schedule on the machine, or "".
std::string checkSchedule(red::NestOp nest, const StreamPlan &plan, const StreamSchedule &schedule,
                          const Machine &machine);

} // namespace attnc::schedule

#endif
