// attnc list: the variant library.
#include "compiler/frontend/frontend.h"
#include "kernels_spec/library.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/output/terminal.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

/// The `doc` of a spec of the library; the file is plain JSON with comments, so that no context and
/// no check of the spec is needed.
std::string docOf(const LibrarySpec &spec) {
  auto json = nlohmann::json::parse(spec.text, nullptr, /*allow_exceptions=*/false,
                                    /*ignore_comments=*/true);
  return json.is_object() ? json.value("doc", "") : "";
}

/// Up to the first full stop that ends a sentence, or semicolon, which starts the reference.
std::string firstSentence(const std::string &doc) {
  size_t end = std::min(doc.find(". "), doc.find("; "));
  return doc.substr(0, end);
}

ExitCode list(bool json) {
  size_t width = 0;
  for (const LibrarySpec &spec : library())
    width = std::max(width, spec.name.size());
  auto all = nlohmann::ordered_json::array();
  for (const LibrarySpec &spec : library()) {
    std::string doc = docOf(spec);
    if (json)
      all.push_back({{"name", spec.name}, {"doc", doc}});
    else
      print(fmt::format("{}{}  {}\n", styled(spec.name, Style::Bold, colourOnStdout()),
                        std::string(width - spec.name.size(), ' '), firstSentence(doc)));
  }
  if (json)
    printJson(all);
  return Done;
}

} // namespace

Command addListCommand(CLI::App &tool) {
  auto json = std::make_shared<bool>(false);
  CLI::App *app = tool.add_subcommand("list", "The variant library, one line each");
  app->add_flag("--json", *json, "As a JSON array");
  app->footer("Example: attnc list\n"
              "A name from the list can stand wherever a SPEC does: attnc check causal");
  return {app, [json] { return list(*json); }};
}

} // namespace attnc::cli
