// What explain says of a schedule: who does what, what it takes, what the machine can do with it.
#ifndef ATTNC_COMPILER_DRIVER_SCHEDULE_REPORT_H
#define ATTNC_COMPILER_DRIVER_SCHEDULE_REPORT_H

#include "compiler/transforms/derivation.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attnc::driver {

/// Lines for people, and the same as numbers.
struct ScheduleReport {
  std::string source;                ///< where the schedule is from
  std::vector<std::string> roles;    ///< of the block's warps
  std::vector<std::string> stages;   ///< tiles in shared memory
  std::string occupancy;             ///< blocks of a multiprocessor
  std::vector<std::string> roofline; ///< work of a tile step; bounds and what is predicted
  nlohmann::ordered_json numbers;    ///< null for the generic form
  /// False of tiles none of which is multiplied by another: rows of elements.
  bool hasProducts = true;
  /// Inner dims that no tile has all of, and how they are cut: {"e", "4 parts of 128, ..."}.
  std::map<std::string, std::string> cuts;
};

/// The report of a nest whose schedule is set, for a target of schedule::machines().
ScheduleReport reportSchedule(red::NestOp nest, llvm::StringRef target);

/// Says of the inner dims of a nest, which passes leave to its tiles, where a schedule cuts them.
void sayCuts(const ScheduleReport &scheduled, std::vector<derivation::Step> &steps);

} // namespace attnc::driver

#endif
