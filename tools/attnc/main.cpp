// attnc: the command line.
#include "tools/attnc/command_line.h"
#include "tools/explorer/run_command.h"

#include <string_view>

int main(int argc, char **argv) {
  // A command of the explorer is a process of this program.
  if (argc > 1 && argv[1] == std::string_view(attnc::explorer::commandWord)) {
    --argc;
    ++argv;
  }
  return attnc::cli::runCommandLine(argc, argv);
}
