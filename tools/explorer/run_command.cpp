#include "tools/explorer/run_command.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace attnc::explorer {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds stopInterval(50); ///< after which `stop` is looked at again
constexpr std::size_t stderrBytes = 4096;             ///< that an answer quotes at most

/// A descriptor that is closed with it.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number >= 0)
      ::close(std::exchange(number, -1));
  }
  int get() const { return number; }
  bool isOpen() const { return number >= 0; }

private:
  int number;
};

struct Pipe {
  Descriptor reads, writes;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      return false;
    reads = Descriptor(ends[0]);
    writes = Descriptor(ends[1]);
    return true;
  }
};

/// A folder for one command, which has the schedule's file if there is one.
class Folder {
public:
  explicit Folder(const std::string &schedule) {
    std::string name = (fs::temp_directory_path() / "attnc-explorer-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      return;
    path = name;
    if (!schedule.empty())
      std::ofstream(path / scheduleFile) << schedule;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  fs::path path;
};

/// A running command, with our ends of its pipes. It ends with the object.
class Child {
public:
  ~Child() {
    if (process > 0)
      wait(/*kills=*/true);
  }

  bool start(const CommandRequest &request, const CommandLimits &limits, const Folder &folder);
  /// Its status as waitpid gives it.
  int wait(bool kills) {
    if (kills)
      ::kill(-process, SIGKILL);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    process = -1;
    return status;
  }

  Pipe input, output, errors;

private:
  pid_t process = -1;
};

bool Child::start(const CommandRequest &request, const CommandLimits &limits,
                  const Folder &folder) {
  if (!input.open() || !output.open() || !errors.open())
    return false;
  std::vector<std::string> words = {"attnc", commandWord};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input.reads.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output.writes.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, errors.writes.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  ::posix_spawn_file_actions_addchdir_np(&files, folder.path.c_str());
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
  int code =
      ::posix_spawn(&process, "/proc/self/exe", &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  input.reads.close();
  output.writes.close();
  errors.writes.close();
  if (code != 0) {
    errno = code;
    process = -1;
    return false;
  }
  rlimit memory = {limits.memoryBytes, limits.memoryBytes};
  ::prlimit(process, RLIMIT_DATA, &memory, nullptr);
  rlimit noCore = {0, 0};
  ::prlimit(process, RLIMIT_CORE, &noCore, nullptr);
  ::fcntl(input.writes.get(), F_SETFL, O_NONBLOCK);
  return true;
}

enum class Ended { Itself, Seconds, Output, Stopped };

/// Feeds the command and reads what it prints, until it closes its stdout or a limit is reached.
class Conversation {
public:
  Conversation(Child &child, std::string_view input, const CommandLimits &limits)
      : child(child), input(input), limits(limits) {}

  Ended hold(const std::stop_token &stop) {
    Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(limits.seconds));
    while (child.output.reads.isOpen() || child.errors.reads.isOpen()) {
      if (stop.stop_requested())
        return Ended::Stopped;
      if (Clock::now() >= end)
        return Ended::Seconds;
      wait();
      if (output.size() > limits.outputBytes)
        return Ended::Output;
    }
    return Ended::Itself;
  }

  std::string output, errors;

private:
  void wait() {
    std::array<pollfd, 3> polled = {pollfd{child.output.reads.get(), POLLIN, 0},
                                    pollfd{child.errors.reads.get(), POLLIN, 0},
                                    pollfd{child.input.writes.get(), POLLOUT, 0}};
    if (::poll(polled.data(), polled.size(), stopInterval.count()) <= 0)
      return;
    if (polled[0].revents)
      read(child.output.reads, output, limits.outputBytes + 1);
    if (polled[1].revents)
      read(child.errors.reads, errors, stderrBytes);
    if (polled[2].revents)
      write();
  }

  /// What is beyond `most` bytes is read and forgotten.
  static void read(Descriptor &from, std::string &text, std::size_t most) {
    std::array<char, 65536> part{};
    ssize_t count = ::read(from.get(), part.data(), part.size());
    if (count > 0)
      text.append(part.data(), std::min<std::size_t>(count, most - std::min(most, text.size())));
    else if (count == 0 || errno != EINTR)
      from.close();
  }

  void write() {
    ssize_t count = ::write(child.input.writes.get(), input.data(), input.size());
    if (count > 0)
      input.remove_prefix(count);
    if (input.empty() || (count < 0 && errno != EAGAIN && errno != EINTR))
      child.input.writes.close();
  }

  Child &child;
  std::string_view input;
  const CommandLimits &limits;
};

Reply answerOf(int status, const Conversation &said) {
  bool isJson = nlohmann::json::accept(said.output);
  if (WIFEXITED(status) && isJson)
    return {200, said.output};
  std::string how = WIFSIGNALED(status)
                        ? fmt::format("was ended by the signal {}", WTERMSIG(status))
                        : fmt::format("ended with {} and no answer", WEXITSTATUS(status));
  return refuse(
      500, fmt::format("the command {}{}{}", how, said.errors.empty() ? "" : ": ", said.errors),
      "a spec that needs less memory may go through; else please report it");
}

} // namespace

Reply refuse(unsigned status, std::string message, std::string remedy) {
  constexpr int environment = 4; // of the command line's exit codes
  nlohmann::ordered_json json = {
      {"ok", false},
      {"exit", environment},
      {"error", {{"message", std::move(message)}, {"remedy", std::move(remedy)}}}};
  return {status, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

Reply runCommand(const CommandRequest &request, const CommandLimits &limits, std::stop_token stop) {
  Folder folder(request.schedule);
  Child child;
  if (folder.path.empty() || !child.start(request, limits, folder))
    return refuse(500, fmt::format("the command cannot be started: {}", std::strerror(errno)),
                  "check the limits on processes, and the folder for temporary files");
  Conversation conversation(child, request.spec, limits);
  Ended ended = conversation.hold(stop);
  int status = child.wait(/*kills=*/ended != Ended::Itself);
  switch (ended) {
  case Ended::Itself:
    return answerOf(status, conversation);
  case Ended::Seconds:
    return refuse(504, fmt::format("this took longer than {} s", limits.seconds),
                  "use a smaller shape, or the command line, which has no limit");
  case Ended::Output:
    return refuse(500, fmt::format("the answer has more than {} bytes", limits.outputBytes),
                  "use the command line, which has no limit");
  case Ended::Stopped:
    break;
  }
  return refuse(500, "nobody waits for the answer");
}

} // namespace attnc::explorer
