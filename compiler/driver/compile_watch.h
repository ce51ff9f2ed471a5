// Who watches a compilation: how far it is, and what it may take.
#ifndef ATTNC_COMPILER_DRIVER_COMPILE_WATCH_H
#define ATTNC_COMPILER_DRIVER_COMPILE_WATCH_H

#include "attnc/result.h"
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace attnc::driver {

/// What one compilation may take.
struct CompileLimits {
  std::chrono::duration<double> time = std::chrono::hours(24); ///< wall clock
  size_t kernels = std::numeric_limits<size_t>::max(); ///< before equal ones have become one
  size_t threads = 0; ///< of NVRTC at the same time; 0: as many as there are processors
};

/// One compilation's, from its construction on. Thread-safe.
class CompileWatch {
public:
  enum class Limit { Time, Kernels };
  /// Is told of each stage as it begins, by any thread, by one at a time.
  using Progress = std::function<void(const std::string &stage)>;

  explicit CompileWatch(const CompileLimits &limits, Progress progress = nullptr);

  /// A stage begins: "fuse-nests", or "nvrtc" with a kernel. Error (Compilation): the time is over.
  Status enter(std::string_view stage, std::string_view kernel = {});
  /// The program has so many more kernels. Error (Compilation): these are too many.
  Status addKernels(size_t count);

  /// Whether the time is over.
  bool isOver() const { return Clock::now() >= end; }
  /// The error of a stage that has stopped because of that.
  Error stopped(std::string_view stage, std::string_view kernel = {});

  size_t threads() const { return limits.threads; }

  struct Crossed {
    Limit limit;
    Error error; ///< names the limit, its value, and the stage
  };
  /// The first limit that was crossed. Whatever the compilation returns then, this is why.
  std::optional<Crossed> crossed() const;

private:
  using Clock = std::chrono::steady_clock;
  Error cross(Limit limit, std::string message, std::string remedy);

  const CompileLimits limits;
  const Clock::time_point end;
  const Progress progress;
  mutable std::mutex mutex;
  size_t kernels = 0;
  std::optional<Crossed> first;
};

/// As CompileWatch::enter; success where nobody watches.
Status enter(CompileWatch *watch, std::string_view stage, std::string_view kernel = {});

/// "fuse-nests", "nvrtc, kernel causal_o"
std::string stageText(std::string_view stage, std::string_view kernel);

} // namespace attnc::driver

#endif
