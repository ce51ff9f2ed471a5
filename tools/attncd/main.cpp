// attncd: the kernel cache service.
#include "tools/attnc/command_line.h"
#include "tools/attncd/daemon.h"
#include "tools/attncd/http/tokens.h"
#include "tools/attncd/workers/worker.h"
#include "tools/explorer/run_command.h"

#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/terminal.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace attnc;
using namespace attnc::service;
using cli::ExitCode;
using cli::Failure;
using cli::orFail;

namespace {

struct TokenArguments {
  std::string name, scopes = "read";
};

CLI::App *addTokenCommand(CLI::App &tool, TokenArguments &arguments) {
  CLI::App *command = tool.add_subcommand("token", "Make a token, and the line for --tokens");
  command->add_option("NAME", arguments.name, "Of whom it is for, for logs")->required();
  command->add_option("--scopes", arguments.scopes, "read, write and compile, separated by commas")
      ->capture_default_str();
  command->footer("Example: attncd token ci --scopes read,write,compile\n"
                  "The token is printed once: whoever has it shows it, and the file has its digest "
                  "alone.");
  return command;
}

ExitCode makeToken(const TokenArguments &arguments) {
  if (!isCallerName(arguments.name))
    throw Failure(cli::Usage, fmt::format("'{}' is no name", arguments.name),
                  "a name has 1 to 64 letters, digits, '.', '_' and '-'");
  unsigned scopes = orFail(parseScopes(arguments.scopes));
  std::string token = orFail(service::makeToken());
  cli::print(
      fmt::format("token  {}\nline   {}\n", token, tokenLine(arguments.name, scopes, token)));
  return cli::Done;
}

ExitCode dispatch(int argc, char **argv) {
  CLI::App tool("attncd compiles attention variants for a fleet of machines and keeps their "
                "kernels",
                "attncd");
  tool.set_version_flag("--version", std::string("attncd ") + ATTNC_VERSION);
  tool.footer("Example: attncd --listen tcp:127.0.0.1:8470 --key-file fleet.key --tokens tokens\n"
              "SIGTERM ends it after what it has accepted is answered; SIGHUP reads the tokens "
              "anew.\n"
              "Exit codes: 0 done, 2 wrong usage, 4 the environment lacks something,\n"
              "            5 an internal error");
  OptionTexts texts(tool);
  TokenArguments token;
  CLI::App *tokenCommand = addTokenCommand(tool, token);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError &wrong) {
    if (wrong.get_exit_code() == 0) { // --help, --version
      tool.exit(wrong);
      return cli::Done;
    }
    throw Failure(cli::Usage, wrong.what(),
                  fmt::format("see attncd {}--help", tokenCommand->parsed() ? "token " : ""));
  }
  if (tokenCommand->parsed())
    return makeToken(token);
  orFail(runDaemon(orFail(texts.values())));
  return cli::Done;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker")
    return runWorker();
  if (argc > 1 && std::string_view(argv[1]) == explorer::commandWord)
    return cli::runCommandLine(argc - 1, argv + 1);
  try {
    return dispatch(argc, argv);
  } catch (const Failure &failure) {
    failure.print(cli::colourOnStderr());
    return failure.code();
  } catch (const std::exception &unexpected) {
    Failure(cli::Internal, fmt::format("unhandled exception: {}", unexpected.what()))
        .print(cli::colourOnStderr());
    return cli::Internal;
  }
}
