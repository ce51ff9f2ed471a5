// --schedule FILE.json.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_SCHEDULE_FILE_H
#define ATTNC_TOOLS_ATTNC_INPUT_SCHEDULE_FILE_H

#include "compiler/jit/compile_program.h"
#include "tools/attnc/input/target.h"
#include <nlohmann/json.hpp>
#include <string>

namespace attnc::cli {

/// The help of --schedule.
extern const char *const scheduleHelp;

/// A schedule file, or none: then the path is empty and the keys are null.
struct ScheduleFile {
  std::string path;
  nlohmann::json keys;
};

/// Reads a schedule file (comments allowed); none for an empty path. Failures: Usage where there is
/// no such file or it is not a JSON object, with line and column; Environment where it may not be
/// read.
ScheduleFile readSchedule(const std::string &path);

/// Says on stderr which keys of `file` the target cpu does not use.
void noteUnused(const ScheduleFile &file, const Target &target);

/// Compiles with the keys of `file`. A Failure about them names the file (Usage, unless the spec
/// has a schedule of its own that they are joined with), one about the spec's own schedule has its
/// place (SpecErrors); other Failures: SpecErrors, Environment, Internal.
driver::Compilation compileScheduled(const Spec &spec, driver::CompileOptions options,
                                     const ScheduleFile &file);

/// The same to machine code, through the user's cache of programs if `isStored`: `options` as for
/// compileProgram.
ReadyProgram compileReady(const Spec &spec, driver::CompileOptions options,
                          const ScheduleFile &file, bool isStored = true);

} // namespace attnc::cli

#endif
