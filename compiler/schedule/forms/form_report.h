// What explain says of a schedule: who does what, what it takes, what the machine can do with it.
#ifndef ATTNC_COMPILER_SCHEDULE_FORMS_FORM_REPORT_H
#define ATTNC_COMPILER_SCHEDULE_FORMS_FORM_REPORT_H

#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/planned_nest.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attnc::schedule {

/// Lines for people, and the same as numbers.
struct ScheduleReport {
  std::string source;                ///< where the schedule is from
  std::vector<std::string> roles;    ///< of the block's warps
  std::vector<std::string> stages;   ///< tiles in shared memory
  std::vector<std::string> steps;    ///< who does what with a tile, and when (step_text.h)
  std::string occupancy;             ///< blocks of a multiprocessor
  std::vector<std::string> roofline; ///< work of a tile step; bounds and what is predicted
  nlohmann::ordered_json numbers;    ///< null for the generic form
  std::string how; ///< how the form computes the nest, where its name does not say
  /// Inner dims that no tile has all of, and how they are cut: {"e", "4 parts of 128, ..."}.
  std::map<std::string, std::string> cuts;
};

/// Add what there is to say of a nest that has the plan of the form, with such
/// a schedule.
void report(PlannedNest &nest, const tile::WarpgroupSchedule &schedule, const GpuModel &machine,
            ScheduleReport &into);
void report(PlannedNest &nest, const tile::PortableSchedule &schedule, const GpuModel &machine,
            ScheduleReport &into);
void report(PlannedNest &nest, const tile::RowsSchedule &schedule, ScheduleReport &into);

} // namespace attnc::schedule

#endif
