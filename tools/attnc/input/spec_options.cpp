#include "tools/attnc/input/spec_options.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/gradient.h"
#include "compiler/frontend/text/suggest.h"
#include "compiler/jit/spec_texts.h"
#include "kernels_spec/library.h"
#include "tools/attnc/input/assignments.h"
#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fs = std::filesystem;

namespace attnc::cli {

const char *const specHelp =
    "A spec: a .json file, a .mlir file with an attn.program, - for stdin, or a name from "
    "`attnc list`";
static const char *const setHelp =
    "Override a static extent, a named type or a let, e.g. --set d=64";

namespace {

struct SourceText {
  std::string fileName;
  std::string text;
  bool isFile = false;
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
  return {path, readAll(file.get(), path), /*isFile=*/true};
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

bool isProgramFile(const std::string &path) {
  std::string start(8, '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && isProgram(start);
}

} // namespace

static LoadedSpec withContext(SourceText source) {
  LoadedSpec loaded;
  loaded.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(*loaded.context);
  loaded.fileName = std::move(source.fileName);
  loaded.text = std::move(source.text);
  return loaded;
}

static std::vector<std::string> gradientInputs(const Spec &spec, const std::string &asked) {
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(asked).split(list, ',');
  std::vector<std::string> names;
  for (llvm::StringRef name : list)
    names.push_back(name.trim().str());
  return driver::gradientInputs(spec, names);
}

/// The spec and its gradients as one program, with a note of those that are 0. `derive` is
/// driver::wholeGradients or driver::differentiableGradients.
static Spec withGradients(const Spec &spec, decltype(driver::wholeGradients) derive) {
  std::vector<std::string> constant;
  Spec whole = orFail(derive(spec, &constant), Usage);
  for (const std::string &name : constant)
    note(fmt::format("no output of {} changes with '{}', or only in steps: its gradient is 0",
                     spec.name, name));
  return whole;
}

/// The gradients that are asked for, instead of those of the spec.
static void askGradients(LoadedSpec &loaded, llvm::ArrayRef<std::string> asked) {
  Spec &spec = *loaded.spec;
  for (const std::string &list : asked) {
    spec.grad = gradientInputs(spec, list);
    spec.text.clear(); // a service that compiled the text would not know of them
    if (&list != &asked.back())
      spec = withGradients(spec, driver::differentiableGradients);
  }
  if (!spec.grad.empty())
    loaded.whole = std::make_unique<Spec>(withGradients(spec, driver::wholeGradients));
}

static LoadedSpec openProgramFile(const std::string &path, const SpecChanges &changes) {
  if (!changes.set.empty() || !changes.grad.empty())
    throw Failure(Usage,
                  fmt::format("{} does not apply to {}, which is compiled",
                              changes.set.empty() ? "--grad" : "--set", path),
                  "compile the spec with it");
  LoadedSpec loaded = withContext({path, ""});
  loaded.program = orFail(loadProgram(path), Usage);
  Diagnostics diagnostics;
  std::optional<Spec> spec = readSpec(*loaded.context, *loaded.program, diagnostics);
  if (!spec && !diagnostics.hasErrors())
    throw Failure(Usage, fmt::format("{} does not hold the spec that it was made from", path),
                  "programs that attnc compile writes hold it");
  if (!spec)
    throw Failure(std::move(diagnostics));
  loaded.spec = std::make_unique<Spec>(std::move(*spec));
  askGradients(loaded, {});
  return loaded;
}

LoadedSpec loadSpecOrProgram(const std::string &argument, const SpecChanges &changes) {
  return isProgramFile(argument) ? openProgramFile(argument, changes) : loadSpec(argument, changes);
}

LoadedSpec loadSpec(const std::string &argument, const SpecChanges &changes) {
  if (isProgramFile(argument))
    throw Failure(Usage, fmt::format("{} is a program, and this takes a spec", argument),
                  "attnc run and attnc explain take programs");
  Overrides overrides{parseAssignments("--set", changes.set)};
  SourceText source = find(argument);
  SpecBases bases = source.isFile ? fileBases() : libraryBases();
  LoadedSpec loaded = withContext(std::move(source));
  Diagnostics diagnostics;
  std::optional<Spec> spec;
  if (llvm::StringRef(loaded.fileName).ends_with(".mlir")) {
    if (!changes.set.empty())
      throw Failure(Usage, "--set does not apply to a .mlir file",
                    "its extents and types are written in it");
    spec = parseAttnFile(*loaded.context, loaded.fileName, loaded.text, diagnostics);
  } else {
    spec = parseSpec(*loaded.context, loaded.fileName, loaded.text, overrides, diagnostics, bases);
  }
  if (!spec)
    throw Failure(std::move(diagnostics));
  diagnostics.render(llvm::errs(), colourOnStderr());
  loaded.warnings = std::move(diagnostics);
  loaded.spec = std::make_unique<Spec>(std::move(*spec));
  askGradients(loaded, changes.grad);
  return loaded;
}

void addSpecChanges(CLI::App &app, SpecChanges &changes) {
  addRepeatable(app, "--set", changes.set, setHelp);
  app.add_option("--grad", changes.grad,
                 "Also the gradients of these inputs and params, e.g. --grad q,k,v; all: of every "
                 "input of real numbers; instead of what the spec's `grad` says. Another --grad "
                 "differentiates these gradients, too")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAMES");
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
