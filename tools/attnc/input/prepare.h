// A spec compiled and ready to run.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_PREPARE_H
#define ATTNC_TOOLS_ATTNC_INPUT_PREPARE_H

#include "compiler/driver/execution/execute.h"
#include "tools/attnc/input/schedule_file.h"
#include "tools/attnc/input/target.h"

namespace attnc::cli {

/// Where a program came from. Nothing: its own file.
using Origin = std::optional<cache::Source>;
/// "compiler", "disk", "remote", "file"
const char *nameOf(Origin origin);

struct Prepared {
  driver::Compilation compilation;
  std::unique_ptr<driver::Executor> executor;
  Origin origin = cache::Source::Made;
  double seconds = 0; ///< to compile the program, or to read it
};

struct PrepareOptions {
  const ScheduleFile &schedule;
  bool verifyPasses = false;
  std::optional<std::int64_t> memoryBudget = {};
  /// Where passes are verified; what is not given is as in CompileOptions.
  std::map<std::string, std::int64_t> extents = {};
  std::map<std::string, double> params = {};
  /// What the kernels compute is evaluated in emulated f32. No target needs a GPU or NVRTC for it.
  bool emulated = false;
};

/// Compiles `spec` for a target that runs here, and loads it. Failures: as of compileScheduled.
Prepared prepare(const Spec &spec, const Target &target, const PrepareOptions &asked);

/// A program that is compiled already, loaded. Failures: Usage for one that this processor cannot
/// run, and those of loading.
Prepared prepare(Program program, const Target &target);

} // namespace attnc::cli

#endif
