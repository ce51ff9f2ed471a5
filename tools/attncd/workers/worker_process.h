// A worker as the service sees it.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_WORKER_PROCESS_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_WORKER_PROCESS_H

#include "tools/attncd/workers/compile_pool.h"
#include "tools/attncd/workers/worker_message.h"

#include <atomic>
#include <optional>
#include <sys/types.h>

namespace attnc::service {

/// One process that compiles, one job at a time. It ends with the object. Not thread-safe; the
/// thread that starts it has to live as long as it.
class WorkerProcess {
public:
  /// Starts one, and waits for its greeting. `stop` ends the wait. Error (Environment): why not.
  static Result<std::unique_ptr<WorkerProcess>> start(const CompilePoolOptions &options,
                                                      const std::atomic<bool> &stop);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess &) = delete;
  WorkerProcess &operator=(const WorkerProcess &) = delete;

  /// What became of a job; whatever happens, within its time limit and a grace. Nothing: the
  /// process ended before it began with it, so that another one can do it. `stop` ends it.
  std::optional<CompileAnswer> run(const std::string &request, const std::atomic<bool> &stop);

  /// Whether it waits for a job. After a job that it was killed for, or died of, it does not.
  bool isReady();
  /// Whether it has done its jobs, or keeps more memory than half of a job's limit.
  bool isWorn() const;
  /// Whether it was the service that ended it, for a limit.
  bool wasKilled() const { return killed; }
  /// The version of its NVRTC; empty: it has none.
  const std::string &nvrtc() const { return version; }

private:
  WorkerProcess(const CompilePoolOptions &options, int socket, pid_t process);
  CompileAnswer died(const std::string &stage);
  CompileAnswer kill(CompileFailure failure);
  std::uint64_t residentBytes() const;
  std::string endText();

  const CompilePoolOptions &options;
  MessageSocket socket;
  const pid_t process;
  std::string version;
  std::optional<int> status; ///< of waitpid(2), once it has ended
  int jobs = 0;
  bool killed = false;
};

} // namespace attnc::service

#endif
