#include "compiler/driver/compile_watch.h"
#include <fmt/format.h>

namespace attnc::driver {

std::string stageText(std::string_view stage, std::string_view kernel) {
  return kernel.empty() ? std::string(stage) : fmt::format("{}, kernel {}", stage, kernel);
}

CompileWatch::CompileWatch(const CompileLimits &limits, Progress progress)
    : limits(limits), end(Clock::now() + std::chrono::duration_cast<Clock::duration>(limits.time)),
      progress(std::move(progress)) {}

Status CompileWatch::enter(std::string_view stage, std::string_view kernel) {
  if (isOver())
    return stopped(stage, kernel);
  if (progress) {
    std::lock_guard lock(mutex);
    progress(stageText(stage, kernel));
  }
  return {};
}

Status CompileWatch::addKernels(size_t count) {
  size_t all = 0;
  {
    std::lock_guard lock(mutex);
    all = kernels += count;
  }
  if (all <= limits.kernels)
    return {};
  return cross(Limit::Kernels,
               fmt::format("the program has {} kernels, and the limit is {}", all, limits.kernels),
               "divide the spec, or have the limit raised");
}

Error CompileWatch::stopped(std::string_view stage, std::string_view kernel) {
  return cross(Limit::Time,
               fmt::format("the time limit of {:g} s was reached ({})", limits.time.count(),
                           stageText(stage, kernel)),
               "divide the spec, or have the limit raised");
}

Error CompileWatch::cross(Limit limit, std::string message, std::string remedy) {
  std::lock_guard lock(mutex);
  if (!first)
    first = {limit, compilationError(std::move(message), std::move(remedy))};
  return first->error;
}

std::optional<CompileWatch::Crossed> CompileWatch::crossed() const {
  std::lock_guard lock(mutex);
  return first;
}

Status enter(CompileWatch *watch, std::string_view stage, std::string_view kernel) {
  return watch ? watch->enter(stage, kernel) : Status();
}

} // namespace attnc::driver
