// What the HTTP front asks of whoever compiles.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_COMPILER_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_COMPILER_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace attnc::service {

/// Why there is no program. The words are those of the answer's JSON.
struct CompileFailure {
  std::string kind; ///< "invalid_argument", "other_build", "spec", "compilation", "limit", ...
  std::string message, remedy;
  std::string limit; ///< "time", "memory", "kernels" or "output" where one was crossed, else empty
};

/// Bytes that are made when they are first asked for. Thread-safe: others wait meanwhile.
class MadeOnce {
public:
  using Bytes = std::shared_ptr<const std::string>;
  Bytes get(const std::function<Bytes()> &make) {
    std::lock_guard guard(mutex);
    if (!bytes)
      bytes = make();
    return bytes;
  }

private:
  std::mutex mutex;
  Bytes bytes;
};

/// A program, or why there is none.
struct CompileAnswer {
  std::string entry; ///< cache::encodeEntry of the program, in the tier of programs
  std::string key;   ///< that of the entry
  std::string from;  ///< "compiler", "disk" or "remote"
  std::optional<CompileFailure> failure;

  /// What is sent: the same bytes to all who wait.
  struct Bodies {
    MadeOnce sealed, program;
  };
  std::shared_ptr<Bodies> bodies = std::make_shared<Bodies>();
};

/// What a pool of workers does and has done since it started.
struct CompilePoolStats {
  int workers = 0;         ///< that there should be
  int alive = 0;           ///< that have greeted and not ended
  std::size_t waiting = 0; ///< jobs in the queue
  std::size_t running = 0;
  std::map<std::string, std::uint64_t> done;   ///< jobs with a program, by CompileAnswer::from
  std::uint64_t joined = 0;                    ///< requests that another one's job answered
  std::map<std::string, std::uint64_t> failed; ///< jobs without one, by kind
  std::uint64_t workersStarted = 0, workersKilled = 0;
  double secondsOfJobs = 0; ///< all together, without their time in the queue
  std::string nvrtc;        ///< of the workers, as they say it; empty: none
};

enum class Submitted { Accepted, Joined, Full, Draining };

/// Thread-safe.
class Compiler {
public:
  virtual ~Compiler() = default;

  /// Those who wait for one job get the same answer, and keep it for as long as they need it.
  using Done = std::function<void(std::shared_ptr<const CompileAnswer>)>;
  /// Compiles what `request` asks for, the JSON text of POST /v1/compile. `done` is called exactly
  /// once, by another thread, unless the result is Full or Draining; it may be called before this
  /// returns, and is quick. Requests with equal texts that wait or run share one job.
  virtual Submitted submit(std::string request, Done done) = 0;
  /// Takes no further jobs, and returns when all that were accepted are answered.
  virtual void drain() = 0;
  virtual CompilePoolStats stats() const = 0;
};

} // namespace attnc::service

#endif
