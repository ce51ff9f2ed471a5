// All of `attnc`.
#ifndef ATTNC_TOOLS_ATTNC_COMMAND_LINE_H
#define ATTNC_TOOLS_ATTNC_COMMAND_LINE_H

namespace attnc::cli {

/// What `attnc` with these arguments does; the exit code. Once in a process: it installs LLVM's
/// handlers.
int runCommandLine(int argc, char **argv);

} // namespace attnc::cli

#endif
