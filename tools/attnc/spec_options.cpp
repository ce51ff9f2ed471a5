#include "tools/attnc/spec_options.h"
#include "compiler/driver/compile.h"
#include "compiler/frontend/suggest.h"
#include "tools/attnc/assignments.h"
#include "tools/attnc/failure.h"
#include "tools/attnc/library.h"
#include "tools/attnc/terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace fs = std::filesystem;

namespace attnc::cli {

const char *const specHelp =
    "A spec: a .json file, a .mlir file with an attn.program, - for stdin, or a name from "
    "`attnc list`";
const char *const setHelp = "Override a static extent, a named type or a let, e.g. --set d=64";

namespace {

struct SourceText {
  std::string fileName;
  std::string text;
};

/// Reads at most one byte more than a spec may have: parseSpec then says that it is too long.
std::string readAll(std::FILE *file, const std::string &name) {
  std::string text(maxSpecBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  if (std::ferror(file))
    throw Failure(Environment, fmt::format("{} cannot be read: {}", name, std::strerror(errno)));
  return text;
}

SourceText readFile(const std::string &path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"),
                                                        std::fclose);
  if (!file)
    throw Failure(Environment, fmt::format("{} cannot be read: {}", path, std::strerror(errno)),
                  "check its permissions");
  return {path, readAll(file.get(), path)};
}

Failure noSuchSpec(const std::string &argument) {
  std::string stem = fs::path(argument).stem().string();
  return Failure(
      Usage,
      fmt::format("there is no file '{}', and no spec of that name in the library", argument),
      didYouMean(stem, libraryNames(), "`attnc list` shows the library"));
}

SourceText find(const std::string &argument) {
  if (argument == "-")
    return {"<stdin>", readAll(stdin, "stdin")};
  std::error_code error;
  fs::file_status status = fs::status(argument, error);
  bool isPath = argument.find('/') != std::string::npos;
  if (fs::exists(status) && !(fs::is_directory(status) && !isPath && findInLibrary(argument))) {
    if (fs::is_directory(status))
      throw Failure(Usage, fmt::format("'{}' is a directory", argument),
                    "give the file of a spec, or several: attnc check DIRECTORY/*.json");
    return readFile(argument);
  }
  if (error && status.type() != fs::file_type::not_found)
    throw Failure(Environment, fmt::format("{} cannot be read: {}", argument, error.message()));
  const LibrarySpec *spec = isPath ? nullptr : findInLibrary(argument);
  if (!spec)
    throw noSuchSpec(argument);
  return {spec->name + ".json", std::string(spec->text)};
}

} // namespace

LoadedSpec loadSpec(const std::string &argument, const std::vector<std::string> &set) {
  Overrides overrides{parseAssignments("--set", set)};
  SourceText source = find(argument);
  LoadedSpec loaded;
  loaded.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(*loaded.context);
  Diagnostics diagnostics;
  std::optional<Spec> spec;
  if (llvm::StringRef(source.fileName).ends_with(".mlir")) {
    if (!set.empty())
      throw Failure(Usage, "--set does not apply to a .mlir file",
                    "its extents and types are written in it");
    spec = parseAttnFile(*loaded.context, source.fileName, source.text, diagnostics);
  } else {
    spec = parseSpec(*loaded.context, source.fileName, source.text, overrides, diagnostics);
  }
  if (!spec)
    throw Failure(std::move(diagnostics));
  diagnostics.render(llvm::errs(), colourOnStderr());
  loaded.spec = std::make_unique<Spec>(std::move(*spec));
  loaded.fileName = std::move(source.fileName);
  loaded.text = std::move(source.text);
  if (!loaded.spec->grad.empty())
    note(fmt::format("gradients are not available yet: those of {} are left out",
                     fmt::join(loaded.spec->grad, ", ")));
  return loaded;
}

CLI::Option *addRepeatable(CLI::App &app, const std::string &name, std::vector<std::string> &values,
                           const std::string &help) {
  // One value each time: what follows it may be the spec.
  return app.add_option(name, values, help)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(name == "--target" ? "TARGET" : "NAME=VALUE");
}

} // namespace attnc::cli
