// attnc serve: the explorer, for a browser of this machine.
#include "tools/attnc/commands/command.h"
#include "tools/attnc/output/terminal.h"
#include "tools/explorer/local_server.h"

#include <cstdio>
#include <fmt/format.h>

namespace attnc::cli {

Command addServeCommand(CLI::App &tool) {
  auto options = std::make_shared<explorer::LocalServerOptions>();
  CLI::App *app = tool.add_subcommand(
      "serve", "Serve a page to write specs on, with what the compiler makes of them beside");
  app->add_option("--host", options->host, "The loopback address: 127.0.0.1 or ::1")
      ->capture_default_str();
  app->add_option("--port", options->port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app->add_option("--seconds", options->limits.seconds, "What one command of the page may take")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app->footer("Ctrl-C ends it. Only this machine reaches it; from another one, through ssh -L "
              "8471:127.0.0.1:8471.\n"
              "Example: attnc serve");
  return {app, [options] {
            orFail(explorer::serveLocally(*options, [](const std::string &url) {
              print(url + "\n");
              std::fflush(stdout);
            }));
            return Done;
          }};
}

} // namespace attnc::cli
