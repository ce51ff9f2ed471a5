// attnc new: a spec to start from, with comments.
#include "compiler/frontend/text/lexer.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/output/terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace fs = std::filesystem;

namespace attnc::cli {

// Generated from new_spec.json by cmake/embed.py.
namespace starting {
std::vector<std::pair<std::string_view, std::string_view>> files();
} // namespace starting

namespace {

constexpr std::string_view nameOfTemplate = "my_attention";

struct NewArguments {
  std::string name, output;
};

/// The template under another name.
std::string textFor(const std::string &name) {
  std::string text(starting::files().front().second);
  for (size_t at = 0; (at = text.find(nameOfTemplate, at)) != std::string::npos; at += name.size())
    text.replace(at, nameOfTemplate.size(), name);
  return text;
}

/// Writes a file that is not there yet.
void writeNew(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "wbx");
  if (!file && errno == EEXIST)
    throw Failure(Usage, fmt::format("'{}' is there already, and stays as it is", path),
                  "give another NAME, or another file with -o FILE");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (int reason = errno; (file && std::fclose(file) != 0) || !written)
    throw Failure(Environment, fmt::format("'{}' cannot be written: {}", path, strerror(reason)),
                  "check that the folder exists and may be written");
}

ExitCode writeStart(NewArguments arguments) {
  if (arguments.name.empty())
    arguments.name =
        arguments.output.empty() ? nameOfTemplate : fs::path(arguments.output).stem().string();
  if (!isIdentifier(arguments.name) || arguments.name.size() > maxNameLength)
    throw Failure(
        Usage, fmt::format("'{}' cannot be the name of a spec", arguments.name),
        fmt::format("a name is one word of letters, digits and _, of at most {} bytes; the "
                    "file is named by -o FILE",
                    maxNameLength));
  if (arguments.output.empty())
    arguments.output = arguments.name + ".json";
  writeNew(arguments.output, textFor(arguments.name));
  note(fmt::format("wrote {0}: see what becomes of it with attnc explain {0}, and compare it with "
                   "float64 with attnc check {0}",
                   arguments.output));
  return Done;
}

} // namespace

Command addNewCommand(CLI::App &tool) {
  auto arguments = std::make_shared<NewArguments>();
  CLI::App *app =
      tool.add_subcommand("new", "Write a spec to start from, which compiles and runs as it is");
  app->add_option("NAME", arguments->name,
                  fmt::format("Its name; {} without it, or that of FILE", nameOfTemplate));
  app->add_option("-o,--out", arguments->output, "File to write; NAME.json without it")
      ->type_name("FILE");
  app->footer("A file that is there already is not touched.\n"
              "Example: attnc new decay_attention");
  return {app, [arguments] { return writeStart(*arguments); }};
}

} // namespace attnc::cli
