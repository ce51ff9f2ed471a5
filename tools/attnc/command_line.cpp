#include "tools/attnc/command_line.h"

#include "compiler/frontend/text/suggest.h"
#include "runtime/cache/warning.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/output/terminal.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <new>
#include <unistd.h>

using namespace attnc;
using namespace attnc::cli;

namespace {

bool wantsJson(int argc, char **argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char *argument) { return std::string_view(argument) == "--json"; });
}

ExitCode report(const Failure &failure, bool json) {
  failure.print(colourOnStderr());
  if (json)
    try {
      printJson(failure.toJson());
    } catch (const Failure &) { // stdout is gone; the failure has been told on stderr
    }
  return failure.code();
}

/// LLVM gives up: it would end with 1, which means that a check failed.
void endInternally(void *, const char *reason, bool) {
  Failure(Internal, fmt::format("LLVM: {}", reason)).print(colourOnStderr());
  std::_Exit(Internal);
}

/// A crash. Only what is safe in a signal handler is done.
void endCrashed(void *) {
  constexpr std::string_view text = "error: attnc crashed\n  ";
  for (std::string_view part : {text, std::string_view(reportLine), std::string_view("\n")})
    if (write(STDERR_FILENO, part.data(), part.size()) < 0)
      break;
  _exit(Internal);
}

/// A first argument that is no command, with the nearest one.
void checkCommandName(int argc, char **argv, const std::vector<Command> &commands) {
  if (argc < 2 || argv[1][0] == '-')
    return;
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.app->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) == names.end())
    throw Failure(
        Usage, fmt::format("there is no command '{}'", argv[1]),
        didYouMean(argv[1], names, fmt::format("the commands are {}", fmt::join(names, ", "))));
}

/// A second assignment behind one option is a common mistake.
std::string remedyOf(const CLI::ParseError &wrong, const std::string &command) {
  std::string_view what = wrong.what();
  bool assignment = wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) &&
                    what.find('=') != std::string_view::npos;
  return fmt::format("{}see attnc {}--help",
                     assignment ? "an option takes one value: repeat it, --input q=q.npy --input "
                                  "k=k.npy, or join values by commas; "
                                : "",
                     command);
}

ExitCode dispatch(CLI::App &tool, const std::vector<Command> &commands, int argc, char **argv) {
  checkCommandName(argc, argv, commands);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError &wrong) {
    if (wrong.get_exit_code() == 0) { // --help, --version
      tool.exit(wrong);
      return Done;
    }
    std::string command;
    for (const Command &one : commands)
      if (one.app->parsed())
        command = one.app->get_name() + " ";
    throw Failure(Usage, wrong.what(), remedyOf(wrong, command));
  }
  for (const Command &command : commands)
    if (command.app->parsed())
      return command.run();
  print(tool.help());
  return Usage;
}

} // namespace

int attnc::cli::runCommandLine(int argc, char **argv) {
  llvm::install_fatal_error_handler(endInternally);
  llvm::sys::AddSignalHandler(endCrashed, nullptr);
  bool json = wantsJson(argc, argv);
  cache::setWarning([](const Error &error) {
    note(styled("warning:", Style::Yellow, colourOnStderr()) + " " + error.text());
  });
  try {
    CLI::App tool("attnc compiles attention variants, written as mathematics, to fused kernels",
                  "attnc");
    tool.set_version_flag("--version", std::string("attnc ") + ATTNC_VERSION);
    tool.footer("Example: attnc check causal --target cpu\n"
                "Exit codes: 0 done, 1 a check failed or could decide nothing, 2 wrong usage,\n"
                "            3 the spec has errors, 4 the environment lacks something,\n"
                "            5 an internal error");
    std::vector<Command> commands = {
        addCompileCommand(tool), addRunCommand(tool),        addCheckCommand(tool),
        addExplainCommand(tool), addTuneCommand(tool),       addListCommand(tool),
        addShowCommand(tool),    addNewCommand(tool),        addCacheCommand(tool),
        addDoctorCommand(tool),  addCompletionCommand(tool), addServeCommand(tool),
        addWatchCommand(tool)};
    return dispatch(tool, commands, argc, argv);
  } catch (const Failure &failure) {
    return report(failure, json);
  } catch (const std::bad_alloc &) {
    return report(Failure(Environment, "out of memory", "use a smaller --shape"), json);
  } catch (const std::exception &unexpected) {
    return report(Failure(Internal, fmt::format("unhandled exception: {}", unexpected.what())),
                  json);
  }
}
