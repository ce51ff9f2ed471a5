// attnc show: a spec of the library, to copy.
#include "compiler/frontend/text/suggest.h"
#include "kernels_spec/library.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/output/launch_json.h"
#include "tools/attnc/output/terminal.h"

#include <fmt/format.h>

namespace attnc::cli {

static std::string wholeText(const LibrarySpec &spec) {
  Diagnostics diagnostics;
  auto whole = wholeSpec(spec.name + ".json", spec.text, libraryBases(), diagnostics);
  if (!whole)
    throw Failure(std::move(diagnostics));
  return readableJson(*whole);
}

static ExitCode show(const std::string &name, bool isWhole) {
  const LibrarySpec *spec = findInLibrary(name);
  if (!spec)
    throw Failure(Usage, fmt::format("there is no spec '{}' in the library", name),
                  didYouMean(name, libraryNames(), "`attnc list` shows the library"));
  print(isWhole ? wholeText(*spec) : std::string(spec->text));
  return Done;
}

Command addShowCommand(CLI::App &tool) {
  auto name = std::make_shared<std::string>();
  auto isWhole = std::make_shared<bool>(false);
  CLI::App *app = tool.add_subcommand("show", "Print a spec of the library, to copy");
  app->add_option("VARIANT", *name, "A name from `attnc list`")->required();
  app->add_flag("--whole", *isWhole, "With what it extends written out");
  app->footer("Example: attnc show causal > mine.json");
  return {app, [name, isWhole] { return show(*name, *isWhole); }};
}

} // namespace attnc::cli
