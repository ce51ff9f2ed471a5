#pragma once

/// Other processes for a test, with what they do in a function.

#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace attnc::cache {

/// What becomes of a child that has not ended after a minute: it hangs.
inline constexpr unsigned hangsAfterSeconds = 60;

/// Starts a process that ends with the result of `work`.
inline pid_t start(const std::function<bool()> &work) {
  pid_t child = ::fork();
  if (child != 0)
    return child;
  ::alarm(hangsAfterSeconds);
  ::_exit(work() ? 0 : 1);
}

/// The status of waitpid(2), once it has ended.
inline int statusOf(pid_t child) {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

inline bool succeeded(pid_t child) { return statusOf(child) == 0; }

inline bool wasKilled(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

/// Two ends through which processes tell each other that they are there.
class Signal {
public:
  Signal() { EXPECT_EQ(::pipe(ends), 0); }
  ~Signal() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Signal(const Signal &) = delete;
  Signal &operator=(const Signal &) = delete;

  void give() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  void await() const {
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  }

private:
  int ends[2] = {-1, -1};
};

} // namespace attnc::cache
