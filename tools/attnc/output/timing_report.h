// Where the time of a compilation went.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_TIMING_REPORT_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_TIMING_REPORT_H

#include "compiler/driver/compile.h"

namespace attnc::cli {

struct StageTime {
  std::string name;
  double seconds;
};

/// Wall-clock time of the compilation, with that of the backward program.
double secondsOfAll(const driver::Compilation &compilation);

/// The frontend, each pass of the pipeline, what writes CUDA C++, and IR and the manifest
/// ("reports"), LLVM or NVRTC, in this order; then "ours", all but LLVM and NVRTC, and "total".
/// With gradients, what derives them ("gradients") comes before the passes of the forward program,
/// and the same of the backward program follows these ("backward.fuse-nests"); the last two are of
/// all.
std::vector<StageTime> stageTimes(const driver::Compilation &compilation, double frontendSeconds);

/// As a table in ms, and as a list of {"name", "seconds"}.
std::string timesText(const std::vector<StageTime> &times);
nlohmann::ordered_json timesJson(const std::vector<StageTime> &times);

} // namespace attnc::cli

#endif
