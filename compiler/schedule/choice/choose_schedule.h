// Choice of a schedule for each nest: by the cost model, as was measured, or as the user says.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_CHOOSE_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_CHOOSE_SCHEDULE_H

#include "attnc/result.h"
#include "compiler/schedule/choice/tuning_database.h"
#include "compiler/schedule/forms/form.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// The discardable attribute of a nest that says where its schedule is from: the tuning database
/// or the user. Without it the schedule is the compiler's own choice.
inline constexpr llvm::StringLiteral kScheduleSourceAttr = "red.schedule_from";

/// The discardable attribute of a nest whose form is not the first that its machine has: why the
/// forms before it were passed over, "warpgroups, portable: why" each.
inline constexpr llvm::StringLiteral kPassedOverAttr = "red.passed_over";

/// A schedule, and why the forms before its own were passed over: their names, with a reason each.
struct Choice {
  red::Schedule schedule;
  std::vector<std::pair<llvm::StringRef, std::string>> passedOver = {};
};

/// The schedule to take for a nest: that of the first of forms() that has one, on request without
/// those with tiles. Changes nothing.
Choice chooseSchedule(PlannedNest &nest, const GpuModel &machine, bool withTiles = true);

/// The next schedule that needs fewer registers than the nest's, for a kernel that turned out to
/// spill, or null.
red::Schedule smallerSchedule(PlannedNest &nest, const GpuModel &machine);

/// Takes the question for live tiles out of a domain whose mask leaves something of each tile, as
/// every third key: it is a condition for elements only. Of nests with a plan for tiles.
void dropVainQuestions(PlannedNest &nest);

/// Sets a schedule of every nest of the program: that of chooseSchedule, or the entry of `tuned`
/// (may be null) if there is one that fits. Then applies `overrides` (schedule_override.h).
Status chooseSchedules(attn::ProgramOp program, llvm::StringRef target,
                       const nlohmann::json &overrides, const TuningDatabase *tuned = nullptr);

/// Whether the nest's schedule has tiles for tensor cores; the others compute scalar by scalar.
bool hasTiles(red::NestOp nest);

} // namespace attnc::schedule

#endif
