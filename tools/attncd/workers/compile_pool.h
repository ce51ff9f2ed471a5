// Compilation in processes of their own, so that what a spec does to its compiler costs nobody
// else.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_COMPILE_POOL_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_COMPILE_POOL_H

#include "attnc/result.h"
#include "tools/attncd/workers/compiler.h"

#include <memory>
#include <vector>

namespace attnc::service {

/// What one job may take.
struct CompileLimits {
  double seconds = 60;
  std::uint64_t memoryBytes = std::uint64_t(4) << 30;
  int kernels = 512;
  std::uint64_t outputBytes = std::uint64_t(64) << 20;
};

struct CompilePoolOptions {
  int workers = 1;
  int queue = 64; ///< jobs that may wait
  /// Then another one takes its place, without its leaks and with a heap that is whole.
  int jobsPerWorker = 500;
  CompileLimits limits = {};
  /// Of the workers, NAME=VALUE, beside the process's own: ATTNC_CACHE_DIR, ATTNC_CACHE_SIZE, ...
  std::vector<std::string> environment = {};
  /// Run as `EXECUTABLE worker` with a socket as descriptor 3.
  std::string executable = "/proc/self/exe";
};

/// Worker processes and the queue in front of them.
class CompilePool : public Compiler {
public:
  /// Starts the workers. Signals that the calling thread blocks are not blocked in them. Error
  /// (Environment): no worker can be started.
  static Result<std::unique_ptr<CompilePool>> start(const CompilePoolOptions &options);
  /// Ends the workers. Jobs that are not answered fail: they are not lost after drain().
  ~CompilePool() override;

  Submitted submit(std::string request, Done done) override;
  void drain() override;
  CompilePoolStats stats() const override;

private:
  class State;
  explicit CompilePool(std::unique_ptr<State> state);

  const std::unique_ptr<State> state;
};

} // namespace attnc::service

#endif
