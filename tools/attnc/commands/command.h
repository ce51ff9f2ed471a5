// The commands of the tool, one file each.
#ifndef ATTNC_TOOLS_ATTNC_COMMANDS_COMMAND_H
#define ATTNC_TOOLS_ATTNC_COMMANDS_COMMAND_H

#include "tools/attnc/output/failure.h"
#include <CLI/CLI.hpp>
#include <functional>

namespace attnc::cli {

/// A command line option set with what runs it. `run` is called once, after parsing; it returns
/// Done or CheckFailed and throws Failure for everything else.
struct Command {
  CLI::App *app;
  std::function<ExitCode()> run;
};

Command addCompileCommand(CLI::App &tool);
Command addRunCommand(CLI::App &tool);
Command addCheckCommand(CLI::App &tool);
Command addExplainCommand(CLI::App &tool);
Command addTuneCommand(CLI::App &tool);
Command addListCommand(CLI::App &tool);
Command addShowCommand(CLI::App &tool);
Command addNewCommand(CLI::App &tool);
Command addCacheCommand(CLI::App &tool);
Command addDoctorCommand(CLI::App &tool);
Command addCompletionCommand(CLI::App &tool);
Command addServeCommand(CLI::App &tool);
Command addWatchCommand(CLI::App &tool);

} // namespace attnc::cli

#endif
