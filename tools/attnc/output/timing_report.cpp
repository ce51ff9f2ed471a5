#include "tools/attnc/output/timing_report.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

std::vector<StageTime> stageTimes(const driver::Compilation &compilation, double frontendSeconds) {
  std::vector<StageTime> times = {{"frontend", frontendSeconds}};
  double outside = compilation.llvmSeconds + compilation.nvrtcSeconds;
  double rest = compilation.seconds - outside - compilation.emitSeconds;
  for (const driver::PassRecord &pass : compilation.passes) {
    times.push_back({pass.name, pass.seconds});
    rest -= pass.seconds;
  }
  if (compilation.emitSeconds > 0)
    times.push_back({"emit-cuda", compilation.emitSeconds});
  times.push_back({"reports", std::max(rest, 0.0)});
  if (compilation.llvmSeconds > 0)
    times.push_back({"llvm", compilation.llvmSeconds});
  if (compilation.nvrtcSeconds > 0)
    times.push_back({"nvrtc", compilation.nvrtcSeconds});
  if (compilation.kernelSeconds > 0)
    times.push_back({"kernels", compilation.kernelSeconds});
  double total = frontendSeconds + compilation.seconds;
  times.push_back({"ours", std::max(total - outside, 0.0)});
  times.push_back({"total", total});
  return times;
}

std::string timesText(const std::vector<StageTime> &times) {
  std::string text = "times in ms";
  for (const StageTime &time : times)
    text += fmt::format("\n  {:<24} {:>10.2f}", time.name, 1e3 * time.seconds);
  return text;
}

nlohmann::ordered_json timesJson(const std::vector<StageTime> &times) {
  auto list = nlohmann::ordered_json::array();
  for (const StageTime &time : times)
    list.push_back({{"name", time.name}, {"seconds", time.seconds}});
  return list;
}

} // namespace attnc::cli
