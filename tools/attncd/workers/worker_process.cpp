#include "tools/attncd/workers/worker_process.h"

#include "runtime/program/byte_count.h"
#include "tools/attncd/workers/spawn.h"

#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace attnc::service {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto lookEvery = std::chrono::milliseconds(50);
/// To load NVRTC, on a machine that has much else to do.
constexpr auto greetingTime = std::chrono::seconds(30);
/// In which a worker that keeps its limit itself answers.
constexpr auto grace = std::chrono::milliseconds(1500);
/// Beside the program: the answer's header and what a frame of zstd adds.
constexpr std::size_t answerSlack = std::size_t(1) << 20;

std::string signalText(int signal) {
  const char *name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

Message jobOf(const std::string &request, const CompileLimits &limits) {
  Message job{Message::Kind::Job};
  job.header = {{"seconds", limits.seconds},
                {"memory", limits.memoryBytes},
                {"kernels", limits.kernels},
                {"output", limits.outputBytes}};
  job.body = request;
  return job;
}

/// Empty where it is not there or no text: a worker may say anything.
std::string textIn(const nlohmann::json &object, const char *member) {
  auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

CompileAnswer answerOf(Message message) {
  CompileAnswer answer;
  answer.key = textIn(message.header, "key");
  answer.from = textIn(message.header, "from");
  answer.entry = std::move(message.body);
  if (auto failure = message.header.find("failure"); failure != message.header.end())
    answer.failure = {textIn(*failure, "kind"), textIn(*failure, "message"),
                      textIn(*failure, "remedy"), textIn(*failure, "limit")};
  return answer;
}

CompileAnswer failed(CompileFailure failure) {
  CompileAnswer answer;
  answer.failure = std::move(failure);
  return answer;
}

const char *const raiseLimit = "divide the spec, or have the limit raised";

} // namespace

//===--- its life ---------------------------------------------------------------------------===//

WorkerProcess::WorkerProcess(const CompilePoolOptions &options, int socket, pid_t process)
    : options(options), socket(socket, options.limits.outputBytes + answerSlack), process(process) {
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const CompilePoolOptions &options,
                                                            const std::atomic<bool> &stop) {
  Result<Spawned> spawned = spawnWorker(options.executable, options.environment);
  if (!spawned)
    return spawned.error();
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(options, spawned->socket, spawned->process));
  Message greeting;
  auto received = MessageSocket::Received::Nothing;
  for (auto end = Clock::now() + greetingTime;
       received == MessageSocket::Received::Nothing && Clock::now() < end && !stop;)
    received = worker->socket.receive(greeting, Clock::now() + lookEvery);
  if (received == MessageSocket::Received::Message && greeting.kind == Message::Kind::Greeting) {
    worker->version = textIn(greeting.header, "nvrtc");
    return worker;
  }
  return environmentError(fmt::format("the process that compiles does not start: {} worker {}",
                                      options.executable, worker->endText()),
                          "run it by hand to see why");
}

WorkerProcess::~WorkerProcess() { (void)endText(); }

/// How it has ended; it is ended if it has not.
std::string WorkerProcess::endText() {
  if (!status) {
    int ended = 0;
    // What has closed its end is about to end by itself, and the reason is worth a moment.
    auto end = Clock::now() + std::chrono::milliseconds(socket.hasNews() ? 500 : 0);
    while (::waitpid(process, &ended, WNOHANG) != process) {
      if (Clock::now() >= end) {
        ::kill(process, SIGKILL);
        while (::waitpid(process, &ended, 0) < 0 && errno == EINTR)
          ;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    status = ended;
  }
  if (WIFSIGNALED(*status))
    return fmt::format("was ended by {} ({})", signalText(WTERMSIG(*status)),
                       ::sigdescr_np(WTERMSIG(*status)));
  return fmt::format("ended with code {}", WEXITSTATUS(*status));
}

bool WorkerProcess::isReady() { return !killed && !status && !socket.hasNews(); }

bool WorkerProcess::isWorn() const {
  return jobs >= options.jobsPerWorker || residentBytes() > options.limits.memoryBytes / 2;
}

/// What it has for itself: without the pages of files, which processes share.
std::uint64_t WorkerProcess::residentBytes() const {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::uint64_t all = 0, resident = 0, shared = 0;
  if (!(file >> all >> resident >> shared) || shared > resident)
    return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

//===--- a job ------------------------------------------------------------------------------===//

CompileAnswer WorkerProcess::died(const std::string &stage) {
  std::string how = endText();
  return failed({"internal", fmt::format("the process that compiled this {} ({})", how, stage),
                 "report this with the spec; other requests are not concerned", ""});
}

CompileAnswer WorkerProcess::kill(CompileFailure failure) {
  killed = true;
  ::kill(process, SIGKILL); // it is waited for with the object's end: who asked does not wait
  return failed(std::move(failure));
}

std::optional<CompileAnswer> WorkerProcess::run(const std::string &request,
                                                const std::atomic<bool> &stop) {
  const CompileLimits &limits = options.limits;
  auto end =
      Clock::now() + grace +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds));
  ++jobs;
  bool sent = socket.send(jobOf(request, limits), end);
  std::string stage;
  for (auto look = Clock::now() + lookEvery; sent;) {
    Message message;
    auto received = socket.receive(message, std::min(look, end));
    if (received == MessageSocket::Received::Closed)
      break;
    if (received == MessageSocket::Received::Message) {
      if (message.kind == Message::Kind::Answer)
        return answerOf(std::move(message));
      stage = textIn(message.header, "stage");
    }
    auto now = Clock::now();
    if (stop)
      return kill({"draining", "the service has ended", "ask again", ""});
    if (now >= end)
      break;
    if (now < look)
      continue;
    look = now + lookEvery;
    if (std::uint64_t bytes = residentBytes(); bytes > limits.memoryBytes)
      return kill(
          {"limit",
           fmt::format("the memory limit of {} was reached: {} ({})",
                       bytesText(double(limits.memoryBytes)), bytesText(double(bytes)), stage),
           raiseLimit, "memory"});
  }
  if (Clock::now() >= end)
    return kill({"limit",
                 fmt::format("the time limit of {:g} s was reached ({})", limits.seconds,
                             stage.empty() ? "before it began" : stage),
                 raiseLimit, "time"});
  if (stage.empty())
    return std::nullopt;
  return died(stage);
}

} // namespace attnc::service
