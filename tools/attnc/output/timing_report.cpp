#include "tools/attnc/output/timing_report.h"
#include "compiler/driver/entries.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

double outsideSeconds(const driver::Compilation &program) {
  return program.llvmSeconds + program.nvrtcSeconds;
}

/// The stages of one program.
void addStages(const driver::Compilation &program, const std::string &prefix,
               std::vector<StageTime> &times) {
  auto add = [&](const std::string &name, double seconds) {
    times.push_back({prefix + name, seconds});
  };
  double rest = program.seconds - outsideSeconds(program) - program.emitSeconds;
  for (const driver::PassRecord &pass : program.passes) {
    add(pass.name, pass.seconds);
    rest -= pass.seconds;
  }
  if (program.emitSeconds > 0)
    add("emit-cuda", program.emitSeconds);
  add("reports", std::max(rest, 0.0));
  if (program.llvmSeconds > 0)
    add("llvm", program.llvmSeconds);
  if (program.nvrtcSeconds > 0)
    add("nvrtc", program.nvrtcSeconds);
  if (program.kernelSeconds > 0)
    add("kernels", program.kernelSeconds);
}

} // namespace

double secondsOfAll(const driver::Compilation &compilation) {
  const driver::Compilation *backward = compilation.backward.get();
  return compilation.seconds + compilation.gradientSeconds + (backward ? backward->seconds : 0);
}

std::vector<StageTime> stageTimes(const driver::Compilation &compilation, double frontendSeconds) {
  std::vector<StageTime> times = {{"frontend", frontendSeconds}};
  double outside = outsideSeconds(compilation);
  if (compilation.backward)
    times.push_back({"gradients", compilation.gradientSeconds});
  addStages(compilation, "", times);
  if (const driver::Compilation *backward = compilation.backward.get()) {
    addStages(*backward, driver::textPrefix(driver::backwardEntry), times);
    outside += outsideSeconds(*backward);
  }
  double total = frontendSeconds + secondsOfAll(compilation);
  times.push_back({"ours", std::max(total - outside, 0.0)});
  times.push_back({"total", total});
  return times;
}

std::string timesText(const std::vector<StageTime> &times) {
  std::string text = "times in ms";
  for (const StageTime &time : times)
    text += fmt::format("\n  {:<33} {:>10.2f}", time.name, 1e3 * time.seconds);
  return text;
}

nlohmann::ordered_json timesJson(const std::vector<StageTime> &times) {
  auto list = nlohmann::ordered_json::array();
  for (const StageTime &time : times)
    list.push_back({{"name", time.name}, {"seconds", time.seconds}});
  return list;
}

} // namespace attnc::cli
