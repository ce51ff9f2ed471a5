// attnc completion: scripts for shells, made from the commands and options that there are.
#include "compiler/frontend/text/suggest.h"
#include "kernels_spec/library.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/commands/completion_scripts.h"
#include "tools/attnc/input/target.h"
#include "tools/attnc/output/emit.h"
#include "tools/attnc/output/terminal.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace attnc::cli {

namespace {

struct Shell {
  const char *name;
  std::string (*script)(const std::vector<CommandWords> &, const std::vector<OptionWords> &);
};

constexpr Shell shells[] = {
    {"bash", bashCompletion}, {"fish", fishCompletion}, {"zsh", zshCompletion}};

std::vector<std::string> shellNames() {
  std::vector<std::string> names;
  for (const Shell &shell : shells)
    names.push_back(shell.name);
  return names;
}

/// What may stand for a word of the help: "SPEC", "TARGET|reference". A word in capitals is one of
/// these or anything; another is itself.
Choices choicesFor(const std::string &placeholder) {
  static const std::map<std::string, std::vector<std::string> (*)()> known = {
      {"SPEC", libraryNames}, {"VARIANT", libraryNames}, {"TARGET", targetNames},
      {"EMIT", emitNames},    {"PASS", passNames},       {"SHELL", shellNames}};
  Choices choices{placeholder, {}, placeholder == "SPEC" || placeholder == "FILE"};
  for (const std::string &word : CLI::detail::split(placeholder, '|')) {
    if (auto found = known.find(word); found != known.end())
      for (const std::string &value : found->second())
        choices.words.push_back(value);
    else if (word == CLI::detail::to_lower(word))
      choices.words.push_back(word);
  }
  return choices;
}

/// Up to the first point, semicolon or example.
std::string shortHelp(const std::string &help) {
  size_t end = std::string::npos;
  for (const char *mark : {"; ", ", e.g. ", ". "})
    end = std::min(end, help.find(mark));
  return help.substr(0, end);
}

OptionWords wordsOf(const CLI::Option &option) {
  OptionWords words;
  for (const std::string &name : option.get_snames())
    words.names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    words.names.push_back("--" + name);
  words.help = shortHelp(option.get_description());
  words.takesValue = option.get_items_expected_max() > 0;
  if (words.takesValue)
    words.value = choicesFor(option.get_type_name());
  return words;
}

CommandWords wordsOf(const CLI::App &command) {
  CommandWords words{command.get_name(), shortHelp(command.get_description()), {}, {}};
  for (const CLI::Option *option : command.get_options())
    if (option->get_positional())
      words.arguments = choicesFor(option->get_name());
    else
      words.options.push_back(wordsOf(*option));
  return words;
}

/// The names of the commands inside another, and what any of them takes.
void addInner(const CLI::App &command, CommandWords &words) {
  for (const CLI::App *inner : command.get_subcommands([](const CLI::App *) { return true; })) {
    CommandWords more = wordsOf(*inner);
    words.arguments.words.push_back(more.name);
    words.arguments.files |= more.arguments.files;
    for (OptionWords &option : more.options)
      if (std::none_of(words.options.begin(), words.options.end(),
                       [&](const OptionWords &known) { return known.names == option.names; }))
        words.options.push_back(std::move(option));
  }
}

ExitCode printScript(const CLI::App &tool, const std::string &name) {
  const Shell *shell = std::find_if(std::begin(shells), std::end(shells),
                                    [&](const Shell &one) { return one.name == name; });
  if (shell == std::end(shells))
    throw Failure(Usage, fmt::format("there is no completion for '{}'", name),
                  didYouMean(name, shellNames(),
                             fmt::format("the shells are {}", fmt::join(shellNames(), ", "))));
  std::vector<CommandWords> commands;
  for (const CLI::App *command : tool.get_subcommands([](const CLI::App *) { return true; })) {
    commands.push_back(wordsOf(*command));
    addInner(*command, commands.back());
  }
  print(shell->script(commands, wordsOf(tool).options));
  return Done;
}

} // namespace

Command addCompletionCommand(CLI::App &tool) {
  auto shell = std::make_shared<std::string>();
  CLI::App *app =
      tool.add_subcommand("completion", "Print a script that completes words in a shell");
  app->add_option("SHELL", *shell, "bash, fish or zsh")->required();
  app->footer("Example: source <(attnc completion bash)\n"
              "That line in ~/.bashrc completes commands, options, specs and targets.");
  return {app, [shell, &tool] { return printScript(tool, *shell); }};
}

} // namespace attnc::cli
