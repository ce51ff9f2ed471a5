// What explain says of a schedule: who does what, what it takes, what the machine can do with it.
#ifndef ATTNC_COMPILER_DRIVER_REPORT_SCHEDULE_REPORT_H
#define ATTNC_COMPILER_DRIVER_REPORT_SCHEDULE_REPORT_H

#include "compiler/schedule/forms/form_report.h"
#include "compiler/transforms/derivation/derivation.h"

namespace attnc::driver {

using schedule::ScheduleReport;

/// The report of a nest whose schedule is set, for a target of schedule::gpuModels().
ScheduleReport reportSchedule(red::NestOp nest, llvm::StringRef target);

/// Says of the inner dims of a nest, which passes leave to its tiles, where a schedule cuts them.
void sayCuts(const ScheduleReport &scheduled, std::vector<derivation::Step> &steps);

} // namespace attnc::driver

#endif
