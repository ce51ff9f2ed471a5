// A spec compiled and ready to run.
#ifndef ATTNC_TOOLS_ATTNC_PREPARE_H
#define ATTNC_TOOLS_ATTNC_PREPARE_H

#include "compiler/driver/execute.h"
#include "tools/attnc/schedule_file.h"
#include "tools/attnc/target.h"

namespace attnc::cli {

struct Prepared {
  driver::Compilation compilation;
  std::unique_ptr<driver::Executor> executor;
};

/// Compiles `spec` for a target that runs here, and loads it. Failures: as of compileScheduled.
Prepared prepare(const Spec &spec, const Target &target, const ScheduleFile &schedule = {},
                 bool verifyPasses = false);

} // namespace attnc::cli

#endif
