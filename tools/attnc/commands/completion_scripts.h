// Scripts with which shells complete the words of the command line.
#ifndef ATTNC_TOOLS_ATTNC_COMMANDS_COMPLETION_SCRIPTS_H
#define ATTNC_TOOLS_ATTNC_COMMANDS_COMPLETION_SCRIPTS_H

#include <string>
#include <vector>

namespace attnc::cli {

/// What may stand somewhere: some words, and the names of files.
struct Choices {
  std::string placeholder; ///< what the help calls it: SPEC, FILE, ...
  std::vector<std::string> words;
  bool files = false;
};

struct OptionWords {
  std::vector<std::string> names; ///< "-o", "--out"
  std::string help;
  bool takesValue = false;
  Choices value;
};

struct CommandWords {
  std::string name, help;
  std::vector<OptionWords> options;
  Choices arguments; ///< of all arguments that are no options
};

/// `toolOptions` may stand in the place of a command. Nothing in the texts is run by the shell.
std::string bashCompletion(const std::vector<CommandWords> &commands,
                           const std::vector<OptionWords> &toolOptions);
std::string zshCompletion(const std::vector<CommandWords> &commands,
                          const std::vector<OptionWords> &toolOptions);
std::string fishCompletion(const std::vector<CommandWords> &commands,
                           const std::vector<OptionWords> &toolOptions);

} // namespace attnc::cli

#endif
