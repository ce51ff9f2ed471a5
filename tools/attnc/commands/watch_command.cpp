// attnc watch: a spec is checked whenever its file changes.
#include "compiler/frontend/text/extended_spec.h"
#include "kernels_spec/library.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/input/target.h"
#include "tools/attnc/output/terminal.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <poll.h>
#include <set>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace attnc::cli {

namespace {

struct WatchArguments {
  std::string spec, target, schedule;
  SpecChanges changes;
  bool explains = false;
};

/// Changes of files, also where an editor writes another one and renames it.
class FileWatch {
public:
  explicit FileWatch(const std::set<fs::path> &files) : events(::inotify_init1(IN_CLOEXEC)) {
    for (const fs::path &file : files) {
      fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
      constexpr unsigned changes = IN_CLOSE_WRITE | IN_MOVED_TO;
      int watch = events < 0 ? -1 : ::inotify_add_watch(events, folder.c_str(), changes);
      if (watch < 0)
        throw Failure(Environment, fmt::format("{} cannot be watched: {}", folder.string(),
                                               std::strerror(errno)));
      names[watch].insert(file.filename().string());
    }
  }
  ~FileWatch() { ::close(events); }
  FileWatch(const FileWatch &) = delete;
  FileWatch &operator=(const FileWatch &) = delete;

  /// Returns once a file has changed, and all have then been left alone for a moment: an editor may
  /// write one in parts.
  void wait() {
    constexpr int moment = 30; // milliseconds
    while (!next(-1)) {
    }
    while (next(moment)) {
    }
  }

private:
  /// Whether something has happened to a file, among the events that come within `timeout`.
  bool next(int timeout) {
    pollfd polled = {events, POLLIN, 0};
    if (::poll(&polled, 1, timeout) <= 0)
      return false;
    alignas(inotify_event) std::array<char, 4096> buffer;
    ssize_t size = ::read(events, buffer.data(), buffer.size());
    bool found = false;
    for (ssize_t at = 0; at < size;) {
      const auto *event = reinterpret_cast<const inotify_event *>(buffer.data() + at);
      found |= event->len && names[event->wd].contains(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return found;
  }

  int events;
  std::map<int, std::set<std::string>> names; ///< of a folder, by its watch
};

/// The files that the answer depends on: the spec, those that it extends, the schedule.
std::set<fs::path> filesOf(const WatchArguments &arguments) {
  std::set<fs::path> files = {arguments.spec};
  if (!arguments.schedule.empty())
    files.insert(arguments.schedule);
  std::ifstream file(arguments.spec, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  for (const SpecSource &base : basesOf(arguments.spec, text, fileBases()))
    if (base.isFile)
      files.insert(base.fileName);
  return files;
}

/// Runs `attnc ARGUMENTS`, which prints here, in a process of its own: a spec that brings the
/// compiler down does not end the watch. Its exit code.
int runTool(const std::vector<std::string> &arguments) {
  std::vector<std::string> words = {"attnc"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t process = 0;
  if (int code =
          ::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ))
    throw Failure(Environment, fmt::format("no process can be started: {}", std::strerror(code)));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : Internal;
}

std::vector<std::string> argumentsFor(const char *command, const WatchArguments &arguments) {
  std::vector<std::string> words = {command, arguments.spec};
  auto add = [&](const char *option, const std::string &value) {
    if (!value.empty())
      words.insert(words.end(), {option, value});
  };
  add("--target", arguments.target);
  add("--schedule", arguments.schedule);
  for (const std::string &set : arguments.changes.set)
    add("--set", set);
  for (const std::string &grad : arguments.changes.grad)
    add("--grad", grad);
  return words;
}

/// One look at the spec.
void look(const WatchArguments &arguments) {
  if (stdoutIsTerminal())
    print("\x1b[H\x1b[2J\x1b[3J"); // an empty screen, from its first line
  print(fmt::format("{:%H:%M:%S}  {}\n", fmt::localtime(std::time(nullptr)), arguments.spec));
  std::fflush(stdout);
  auto start = std::chrono::steady_clock::now();
  if (runTool(argumentsFor("check", arguments)) == Done && arguments.explains)
    runTool(argumentsFor("explain", arguments));
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  print(
      styled(fmt::format("{:.2f} s; Ctrl-C ends\n", taken.count()), Style::Dim, colourOnStdout()));
  std::fflush(stdout);
}

ExitCode watch(const WatchArguments &arguments) {
  if (!fs::is_regular_file(arguments.spec))
    throw Failure(Usage, fmt::format("there is no file '{}' to watch", arguments.spec),
                  "attnc new NAME writes one to start from");
  for (;;) {
    FileWatch files(filesOf(arguments)); // before the look, which may take a while
    look(arguments);
    files.wait();
  }
}

} // namespace

Command addWatchCommand(CLI::App &tool) {
  auto arguments = std::make_shared<WatchArguments>();
  CLI::App *app = tool.add_subcommand(
      "watch", "Check a spec whenever its file is saved: its mistakes, or the verdict");
  app->add_option("SPEC", arguments->spec, "A .json file")->required();
  app->add_option("--target", arguments->target, targetHelp)->type_name("TARGET");
  addSpecChanges(*app, arguments->changes);
  app->add_option("--schedule", arguments->schedule, "As for check")->type_name("FILE");
  app->add_flag("--explain", arguments->explains, "Also what attnc explain says");
  app->footer("Example: attnc watch my_attention.json --target cpu");
  return {app, [arguments] { return watch(*arguments); }};
}

} // namespace attnc::cli
