#include "tools/attncd/workers/spawn.h"

#include "tools/attncd/workers/sanitized.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attnc::service {

namespace {

constexpr int workerSocket = 3;

Error notStarted(int code) {
  return environmentError(
      fmt::format("no process can be started that compiles: {}", std::strerror(code)),
      "check the limits on processes and memory of attncd");
}

/// `first`, and what the process has under other names.
std::vector<std::string> environmentWith(const std::vector<std::string> &first) {
  std::vector<std::string> all = first;
  auto nameOf = [](std::string_view variable) { return variable.substr(0, variable.find('=')); };
  for (char **variable = environ; *variable; ++variable)
    if (std::none_of(first.begin(), first.end(),
                     [&](const std::string &given) { return nameOf(given) == nameOf(*variable); }))
      all.push_back(*variable);
  return all;
}

/// posix_spawn(3)'s two lists of what to do in the child.
struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  explicit Actions(int socket) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // Compilers print what they like, the texts of users among it. Sanitizers report there.
    for (int output : {STDOUT_FILENO, STDERR_FILENO})
      if (!isSanitized)
        ::posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, socket, workerSocket);
    ::posix_spawn_file_actions_addclosefrom_np(&files, workerSocket + 1);

    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0); // what a terminal ends is not ended there
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETPGROUP);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  Actions(const Actions &) = delete;
  Actions &operator=(const Actions &) = delete;
};

} // namespace

Result<Spawned> spawnWorker(const std::string &executable,
                            const std::vector<std::string> &environment) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return notStarted(errno);
  std::vector<std::string> variables = environmentWith(environment);
  std::vector<char *> pointers;
  for (std::string &variable : variables)
    pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  std::string name = "attncd", command = "worker";
  char *arguments[] = {name.data(), command.data(), nullptr};
  pid_t process = 0;
  Actions actions(ends[1]);
  int code = ::posix_spawn(&process, executable.c_str(), &actions.files, &actions.attributes,
                           arguments, pointers.data());
  ::close(ends[1]);
  if (code == 0)
    return Spawned{process, ends[0]};
  ::close(ends[0]);
  return notStarted(code);
}

} // namespace attnc::service
