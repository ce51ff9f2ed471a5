#include "tests/programs/worker.h"
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace attnc::programs {

static void writeAll(int pipe, const std::string &text) {
  for (size_t sent = 0; sent < text.size();) {
    ssize_t n = write(pipe, text.data() + sent, text.size() - sent);
    if (n <= 0)
      _exit(1); // nobody listens
    sent += n;
  }
}

Worker::Worker(const std::function<void(const std::function<void(const std::string &)> &)> &work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()))
    throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  child = fork();
  if (child < 0)
    throw std::runtime_error("no process");
  if (child == 0) {
    close(ends[0]);
    work([&](const std::string &line) { writeAll(ends[1], line + "\n"); });
    _exit(0);
  }
  close(ends[1]);
  pipe = ends[0];
}

Worker::~Worker() {
  if (child > 0) {
    kill(child, SIGKILL);
    join();
  }
  close(pipe);
}

bool Worker::read(const std::function<void(const std::string &)> &take) {
  std::array<char, 4096> buffer{};
  ssize_t n = ::read(pipe, buffer.data(), buffer.size());
  if (n <= 0)
    return false;
  rest.append(buffer.data(), n);
  for (size_t end; (end = rest.find('\n')) != std::string::npos;) {
    take(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return true;
}

int Worker::join() {
  int status = 0;
  if (child > 0)
    waitpid(child, &status, 0);
  child = -1;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

} // namespace attnc::programs
