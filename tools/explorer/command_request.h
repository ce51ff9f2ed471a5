// What the page asks for, as a command line.
#ifndef ATTNC_TOOLS_EXPLORER_COMMAND_REQUEST_H
#define ATTNC_TOOLS_EXPLORER_COMMAND_REQUEST_H

#include "attnc/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc::explorer {

/// The longest body of a request.
inline constexpr std::size_t maxRequestBytes = std::size_t(2) << 20;

/// The name of the schedule's file in the folder in which the command runs.
inline constexpr const char *scheduleFile = "schedule.json";

/// `attnc` with these arguments reads the spec from stdin and prints one JSON object.
struct CommandRequest {
  std::vector<std::string> arguments;
  std::string spec;
  std::string schedule; ///< of `scheduleFile`; empty: there is none
};

/// Reads `{"spec": TEXT, "target": ..., "emit": ..., "set": {...}, ...}` for the command `compile`,
/// `explain`, `check` or `run` (docs/explorer.md). Nothing in it names a file, and no value becomes
/// an option. Error (InvalidArgument): the member that is wrong, or a command that there is not.
Result<CommandRequest> readCommandRequest(std::string_view command, std::string_view body);

} // namespace attnc::explorer

#endif
