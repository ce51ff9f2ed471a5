#include "tools/attncd/workers/worker.h"

#include "compiler/jit/fatal_error.h"
#include "runtime/cache/warning.h"
#include "tools/attncd/workers/compile_job.h"
#include "tools/attncd/workers/sanitized.h"
#include "tools/attncd/workers/worker_message.h"

#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace attnc::service {

namespace {

constexpr int serviceSocket = 3;
constexpr std::size_t maxJobBytes = std::size_t(64) << 20;
/// Of NVRTC in one job: a machine with many processors has as many jobs beside each other.
constexpr std::size_t mostThreads = 8;
/// Behind the service's own work, and that of others.
constexpr int niceness = 5;

/// Gives up what a compiler does not need. What fails is not needed more for that.
void confine() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // the service has ended, however it did
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::setpriority(PRIO_PROCESS, 0, niceness);
  // What ends the service lets it finish its jobs, also where it is sent to all of its processes.
  for (int signal : {SIGTERM, SIGINT, SIGHUP})
    std::signal(signal, SIG_IGN);
}

/// For what grows faster than the service looks: what is reserved, not what is used.
void limitMemory(std::uint64_t bytes) {
  if (isSanitized)
    return;
  rlimit limit = {};
  ::getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min<rlim_t>(2 * bytes + (std::uint64_t(1) << 30), limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
}

CompileFailure outOfMemory(std::uint64_t limit) {
  return {"limit", fmt::format("the memory limit of {} bytes was reached", limit),
          "divide the spec, or have the limit raised", "memory"};
}

Message messageOf(CompileAnswer answer) {
  Message message{Message::Kind::Answer};
  if (answer.failure)
    message.header["failure"] = {{"kind", answer.failure->kind},
                                 {"message", answer.failure->message},
                                 {"remedy", answer.failure->remedy},
                                 {"limit", answer.failure->limit}};
  message.header["key"] = answer.key;
  message.header["from"] = answer.from;
  message.body = std::move(answer.entry);
  return message;
}

class Worker {
public:
  Worker() : socket(serviceSocket, maxJobBytes) {
    place.store = cache::Store::ofUser();
    place.images = std::make_shared<const ImageCompiler>(place.store);
  }

  bool greet() {
    Message greeting{Message::Kind::Greeting};
    if (Result<const Nvrtc *> nvrtc = place.images->nvrtc())
      greeting.header["nvrtc"] =
          fmt::format("{}.{}", (*nvrtc)->versionMajor(), (*nvrtc)->versionMinor());
    return socket.send(greeting);
  }

  /// One job. False: it was the last one.
  bool work() {
    Message job;
    if (socket.receive(job) != MessageSocket::Received::Message || job.kind != Message::Kind::Job)
      return false;
    return socket.send(messageOf(compile(job))) && !isOver;
  }

private:
  CompileAnswer compile(const Message &job) {
    JobLimits limits;
    limits.compile.time = std::chrono::duration<double>(job.header.value("seconds", 0.0));
    limits.compile.kernels = job.header.value("kernels", std::size_t(0));
    limits.compile.threads = mostThreads;
    limits.outputBytes = job.header.value("output", std::uint64_t(0));
    std::uint64_t memory = job.header.value("memory", std::uint64_t(0));
    limitMemory(memory);
    CompileAnswer answer;
    try {
      answer = compileJob(job.body, limits, place, [this](const std::string &stage) {
        Message message{Message::Kind::Stage};
        message.header["stage"] = stage;
        socket.send(message);
      });
    } catch (const std::bad_alloc &) {
      answer.failure = outOfMemory(memory);
      isOver = true;
    }
    if (llvmGaveUp()) {
      isOver = true;
      if (answer.failure && answer.failure->kind == "environment")
        answer.failure = outOfMemory(memory);
    }
    return answer;
  }

  MessageSocket socket;
  JobPlace place;
  bool isOver = false; ///< what a job has left behind is not to be relied on
};

} // namespace

int runWorker() {
  confine();
  cache::setWarning(nullptr); // the service says it of its own cache, which is the same
  Worker worker;
  if (!worker.greet())
    return EXIT_FAILURE;
  while (worker.work()) {
  }
  // Without destructors: what LLVM has left halfway has none that can run.
  std::_Exit(EXIT_SUCCESS);
}

} // namespace attnc::service
