// A command line of attnc in a process of its own, within limits: what a spec does to the compiler,
// or a kernel to its process, costs nobody else.
#ifndef ATTNC_TOOLS_EXPLORER_RUN_COMMAND_H
#define ATTNC_TOOLS_EXPLORER_RUN_COMMAND_H

#include "tools/explorer/command_request.h"

#include <cstdint>
#include <stop_token>

namespace attnc::explorer {

struct CommandLimits {
  double seconds = 20;
  std::uint64_t memoryBytes = std::uint64_t(4) << 30; ///< of data, in one process
  std::uint64_t outputBytes = std::uint64_t(32) << 20;
};

/// What the page is answered: an HTTP status and JSON.
struct Reply {
  unsigned status = 200;
  std::string body;
};

/// {"ok": false, "exit": ..., "error": {"message", "remedy"}}, as the command line says it.
Reply refuse(unsigned status, std::string message, std::string remedy = {});

/// Runs this program again, as `attnc ARGUMENTS`, and answers what it prints: 200, whatever its
/// exit code is; 504 at the limit of seconds; 500 where it crashed or could not be started, with
/// what it said on stderr. Ends it when `stop` is requested: then nobody reads the answer.
/// Thread-safe.
Reply runCommand(const CommandRequest &request, const CommandLimits &limits, std::stop_token stop);

/// The first argument of a process of ours that is to be `attnc` with the others.
inline constexpr const char *commandWord = "attnc-command";

} // namespace attnc::explorer

#endif
