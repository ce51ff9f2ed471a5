// Processes that check programs and say what came of them, a line each.
#ifndef ATTNC_TESTS_PROGRAMS_WORKER_H
#define ATTNC_TESTS_PROGRAMS_WORKER_H

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/types.h>

namespace attnc::programs {

/// A child process, and what it has written.
class Worker {
public:
  /// `work` runs in the child; it is given what sends a line to the parent.
  explicit Worker(
      const std::function<void(const std::function<void(const std::string &)> &)> &work);
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;
  /// Ends the child if it still runs.
  ~Worker();

  /// To wait on: it can be read when there is something, or the child is gone.
  int descriptor() const { return pipe; }

  /// Reads what there is and gives whole lines to `take`. False: the child is gone.
  bool read(const std::function<void(const std::string &)> &take);

  /// Waits for the child's end: the signal that ended it, or 0.
  int join();

private:
  pid_t child = -1;
  int pipe = -1;
  std::string rest;
};

} // namespace attnc::programs

#endif
