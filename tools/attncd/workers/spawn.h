// Starting a worker.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_SPAWN_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_SPAWN_H

#include "attnc/result.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace attnc::service {

struct Spawned {
  pid_t process;
  int socket; ///< our end of the one that the process has as descriptor 3
};

/// Runs `EXECUTABLE worker` in a process group of its own, with this process's environment and,
/// before it, `environment` (NAME=VALUE); without any other descriptor or blocked signal of it.
/// Error (Environment): it cannot be started.
Result<Spawned> spawnWorker(const std::string &executable,
                            const std::vector<std::string> &environment);

} // namespace attnc::service

#endif
