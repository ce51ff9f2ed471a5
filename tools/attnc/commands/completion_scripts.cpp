#include "tools/attnc/commands/completion_scripts.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace attnc::cli {

namespace {

std::string joined(const std::vector<std::string> &words, const char *separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> namesOf(const std::vector<OptionWords> &options) {
  std::vector<std::string> names;
  for (const OptionWords &option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// `text` in single quotes; `quote` stands for one inside.
std::string quoted(const std::string &text, const char *quote) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string(quote) : std::string(1, c);
  return result + "'";
}

/// With a backslash before each of `special`.
std::string escaped(const std::string &text, std::string_view special) {
  std::string result;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos)
      result += '\\';
    result += c;
  }
  return result;
}

} // namespace

//===--- bash
//------------------------------------------------------------------------------------===//

static std::string bashReply(const Choices &choices) {
  std::string words = quoted(joined(choices.words), "'\\''");
  return fmt::format("_attnc_reply {} {}", words, choices.files ? "files" : "");
}

static std::string bashCommand(const CommandWords &command) {
  std::string text = fmt::format("    {})\n      case $prev in\n", command.name);
  for (const OptionWords &option : command.options)
    if (option.takesValue)
      text += fmt::format("        {}) {}; return ;;\n", joined(option.names, "|"),
                          bashReply(option.value));
  text += fmt::format("      esac\n      if [[ $cur == -* ]]; then\n        _attnc_reply '{}'\n"
                      "      else\n        {}\n      fi ;;\n",
                      joined(namesOf(command.options)), bashReply(command.arguments));
  return text;
}

std::string bashCompletion(const std::vector<CommandWords> &commands,
                           const std::vector<OptionWords> &toolOptions) {
  std::string text = R"(# Completion of attnc for bash. Put this line into ~/.bashrc:
#   source <(attnc completion bash)

# The words in $1 that begin with $cur, and files if there is a second argument.
_attnc_reply() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
  if [[ -n ${2:-} ]]; then
    compopt -o filenames 2>/dev/null || true
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
  fi
}

_attnc() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' word
  # Bash takes --target=sm_80 for three words.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word != -* ]]; then
      command=$word
      break
    fi
  done
  COMPREPLY=()
  case $command in
)";
  std::vector<std::string> first;
  for (const CommandWords &command : commands)
    first.push_back(command.name);
  for (const std::string &option : namesOf(toolOptions))
    first.push_back(option);
  text += fmt::format("    '') _attnc_reply '{}' ;;\n", joined(first));
  for (const CommandWords &command : commands)
    text += bashCommand(command);
  return text + "  esac\n}\n\ncomplete -F _attnc attnc\n";
}

//===--- zsh
//-------------------------------------------------------------------------------------===//

/// The function that completes words and files; a colon would end an action of _arguments.
static std::string zshFunction(const Choices &choices) {
  std::string name = "_attnc_" + choices.placeholder;
  return fmt::format("{}() {{\n  _alternative 'words:word:({})' 'files:file:_files'\n}}\n\n", name,
                     joined(choices.words));
}

/// What _arguments does for a place: ":SPEC:_attnc_SPEC".
static std::string zshChoices(const Choices &choices) {
  std::string action = choices.files && !choices.words.empty() ? "_attnc_" + choices.placeholder
                       : choices.files ? "_files"
                                       : fmt::format("({})", joined(choices.words));
  return fmt::format(":{}:{}", choices.placeholder, action);
}

static std::string zshOption(const OptionWords &option) {
  std::string what = fmt::format("[{}]{}", escaped(option.help, "[]\\"),
                                 option.takesValue ? zshChoices(option.value) : "");
  std::string text;
  for (const std::string &name : option.names) {
    // A long option may also have its value behind `=`.
    bool equals = option.takesValue && name.starts_with("--");
    text += fmt::format(" \\\n        {}",
                        quoted(fmt::format("*{}{}{}", name, equals ? "=" : "", what), "'\\''"));
  }
  return text;
}

std::string zshCompletion(const std::vector<CommandWords> &commands,
                          const std::vector<OptionWords> &toolOptions) {
  std::string text = "#compdef attnc\n"
                     "# Completion of attnc for zsh. Put this line into ~/.zshrc, after compinit:\n"
                     "#   source <(attnc completion zsh)\n\n";
  std::set<std::string> functions;
  for (const CommandWords &command : commands)
    if (const Choices &choices = command.arguments; choices.files && !choices.words.empty())
      functions.insert(zshFunction(choices));
  text += joined({functions.begin(), functions.end()}, "");
  text += "_attnc() {\n  local state line\n  local -a commands\n  typeset -A opt_args\n"
          "  commands=(\n";
  for (const CommandWords &command : commands)
    text +=
        fmt::format("    {}\n", quoted(command.name + ":" + escaped(command.help, ":\\"), "'\\''"));
  text += "  )\n  _arguments -C";
  for (const OptionWords &option : toolOptions)
    text += zshOption(option);
  text += " \\\n        '1: :->command' '*:: :->rest'\n  case $state in\n"
          "    command) _describe command commands ;;\n    rest) case $words[1] in\n";
  for (const CommandWords &command : commands) {
    text += fmt::format("      {}) _arguments", command.name);
    for (const OptionWords &option : command.options)
      text += zshOption(option);
    if (!command.arguments.placeholder.empty())
      text += fmt::format(" \\\n        {}", quoted("*" + zshChoices(command.arguments), "'\\''"));
    text += " ;;\n";
  }
  return text + "    esac ;;\n  esac\n}\n\n"
                "if [[ $funcstack[1] == _attnc ]]; then\n  _attnc \"$@\"\nelse\n"
                "  compdef _attnc attnc\nfi\n";
}

//===--- fish
//------------------------------------------------------------------------------------===//

static std::string fishChoices(const Choices &choices) {
  std::string text = choices.files ? " -F" : " -f";
  if (!choices.words.empty())
    text += fmt::format(" -a {}", quoted(joined(choices.words), "\\'"));
  return text;
}

static std::string fishOption(const OptionWords &option, const std::string &where) {
  std::string text = "complete -c attnc -n " + quoted(where, "\\'");
  for (const std::string &name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takesValue)
    text += " -r" + fishChoices(option.value);
  return text + " -d " + quoted(escaped(option.help, "\\"), "\\'") + "\n";
}

std::string fishCompletion(const std::vector<CommandWords> &commands,
                           const std::vector<OptionWords> &toolOptions) {
  std::string text =
      "# Completion of attnc for fish. Put this line into ~/.config/fish/config.fish:\n"
      "#   attnc completion fish | source\n\ncomplete -c attnc -f\n";
  for (const OptionWords &option : toolOptions)
    text += fishOption(option, "__fish_use_subcommand");
  for (const CommandWords &command : commands)
    text += fmt::format("complete -c attnc -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(escaped(command.help, "\\"), "\\'"));
  for (const CommandWords &command : commands) {
    std::string where = "__fish_seen_subcommand_from " + command.name;
    if (!command.arguments.placeholder.empty())
      text += fmt::format("complete -c attnc -n '{}'{}\n", where, fishChoices(command.arguments));
    for (const OptionWords &option : command.options)
      text += fishOption(option, where);
  }
  return text;
}

} // namespace attnc::cli
