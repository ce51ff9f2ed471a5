// attnc show: a spec of the library, to copy.
#include "compiler/frontend/text/suggest.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/library.h"
#include "tools/attnc/output/terminal.h"

#include <fmt/format.h>

namespace attnc::cli {

static ExitCode show(const std::string &name) {
  const LibrarySpec *spec = findInLibrary(name);
  if (!spec)
    throw Failure(Usage, fmt::format("there is no spec '{}' in the library", name),
                  didYouMean(name, libraryNames(), "`attnc list` shows the library"));
  print(spec->text);
  return Done;
}

Command addShowCommand(CLI::App &tool) {
  auto name = std::make_shared<std::string>();
  CLI::App *app = tool.add_subcommand("show", "Print a spec of the library, to copy");
  app->add_option("VARIANT", *name, "A name from `attnc list`")->required();
  app->footer("Example: attnc show causal > mine.json");
  return {app, [name] { return show(*name); }};
}

} // namespace attnc::cli
