#include "api/c/handles.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/json_source.h"
#include "compiler/frontend/suggest.h"
#include "compiler/schedule/machine.h"
#include "compiler/schedule/tuning_database.h"

#include "mlir/IR/MLIRContext.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc::api {

namespace {

/// Options as C++ values.
struct Options {
  std::string target;
  Overrides overrides;
  nlohmann::json schedule;
  bool keepTexts = false, noCache = false, allowMlir = false;
};

Status checkTarget(const std::string &target) {
  std::vector<std::string> known = {"cpu"};
  for (const schedule::Machine &machine : schedule::machines())
    known.push_back(machine.name.str());
  if (std::find(known.begin(), known.end(), target) != known.end())
    return {};
  return invalidArgument(
      target.empty() ? "no target is named" : fmt::format("there is no target '{}'", target),
      didYouMean(target, known, fmt::format("the targets are {}", fmt::join(known, ", "))));
}

Status addOverride(const char *text, Overrides &overrides) {
  std::string assignment = text ? text : "";
  std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == assignment.size())
    return invalidArgument(fmt::format("set: '{}' is not of the form name=value", assignment));
  std::string name = assignment.substr(0, equals);
  if (!overrides.values.emplace(name, assignment.substr(equals + 1)).second)
    return invalidArgument(fmt::format("set gives '{}' twice", name));
  return {};
}

/// What the frontend found, as the command line prints it.
std::string textOf(const Diagnostics &diagnostics) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  diagnostics.render(stream, /*colour=*/false);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

Result<nlohmann::json> parseSchedule(const char *text) {
  if (!text)
    return nlohmann::json();
  SourceFile file("<schedule>", text);
  Diagnostics diagnostics;
  std::optional<JsonValue> json = parseJson(file, diagnostics);
  if (!json)
    return invalidArgument(fmt::format("the schedule is not JSON: {}", textOf(diagnostics)));
  if (json->kind != JsonValue::Object)
    return invalidArgument("the schedule is not a JSON object");
  return json->toJson();
}

Result<Options> readOptions(const attnc_compile_options *given) {
  Result<attnc_compile_options> c = readStruct(given, "attnc_compile_options");
  if (!c)
    return c.error();
  Options options;
  options.target = c->target ? c->target : "";
  if (Status status = checkTarget(options.target); !status)
    return status.error();
  if (c->set_count && !c->set)
    return invalidArgument("set is NULL but set_count is not 0");
  for (std::size_t i = 0; i < c->set_count; ++i)
    if (Status status = addOverride(c->set[i], options.overrides); !status)
      return status.error();
  Result<nlohmann::json> schedule = parseSchedule(c->schedule);
  if (!schedule)
    return schedule.error();
  options.schedule = *std::move(schedule);
  options.keepTexts = c->keep_texts != 0;
  options.noCache = c->no_cache != 0;
  options.allowMlir = c->allow_mlir != 0;
  return options;
}

void dropTexts(driver::Compilation &compilation) {
  for (std::string *text :
       {&compilation.attn, &compilation.red, &compilation.tile, &compilation.llvm})
    text->clear();
  compilation.program.sources.clear();
  for (auto *nests : {&compilation.nests, &compilation.partsNests})
    for (driver::NestReport &nest : *nests) {
      nest.tile.clear();
      nest.source.clear();
    }
}

/// Whether an input or an output has the dim.
bool isOfTensor(const CompiledProgram &compiled, const std::string &dim) {
  for (std::size_t i = 0; const TensorDecl *tensor = compiled.tensor(i); ++i)
    if (std::find(tensor->dims.begin(), tensor->dims.end(), dim) != tensor->dims.end())
      return true;
  return false;
}

/// What C's structs point into.
void fillArrays(CompiledProgram &compiled) {
  compiled.manifestText = printManifest(compiled.manifest());
  for (std::size_t i = 0; const TensorDecl *tensor = compiled.tensor(i); ++i) {
    compiled.dims.emplace_back();
    for (const std::string &dim : tensor->dims)
      compiled.dims.back().push_back(dim.c_str());
  }
  for (const DimDecl &dim : compiled.manifest().dims)
    if (!dim.extent || dim.extent->op == ExprOp::Integer || isOfTensor(compiled, dim.name))
      compiled.ownDims.push_back(&dim);
  for (const KernelDecl &kernel : compiled.manifest().kernels) {
    const driver::NestReport *report = compiled.report(kernel.name);
    compiled.notes.push_back(report ? fmt::format("{}", fmt::join(report->ptxasNotes, "\n")) : "");
  }
}

Result<driver::Compilation> compileSpec(const Spec &spec, const Options &options) {
  driver::CompileOptions compile;
  compile.target = options.target;
  compile.schedule = options.schedule;
  schedule::TuningDatabase tuned;
  schedule::addBuiltinTuning(tuned);
  compile.tuned = &tuned;
  if (options.target == "cpu") {
    compile.upTo = options.keepTexts ? driver::Stage::Llvm : driver::Stage::Cubin;
  } else {
    compile.images = ImageCompiler::ofUser();
    compile.keepTexts = options.keepTexts;
    compile.parts =
        options.keepTexts ? driver::PartsVariant::Built : driver::PartsVariant::OnFirstUse;
  }
  return driver::compile(spec, compile);
}

ErrorPtr compileText(const std::string &name, llvm::StringRef text,
                     const attnc_compile_options *given, attnc_program **program) {
  auto start = std::chrono::steady_clock::now();
  Result<Options> options = readOptions(given);
  if (!options)
    return toC(options.error());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec;
  bool isMlir = llvm::StringRef(name).ends_with(".mlir");
  if (isMlir && !options->allowMlir)
    return toC(invalidArgument(fmt::format("{} is a program in the attn dialect, not a spec", name),
                               "if you trust where it is from, set allow_mlir"));
  if (!isMlir)
    spec = parseSpec(context, name, text, options->overrides, diagnostics);
  else if (options->overrides.values.empty())
    spec = parseAttnFile(context, name, text, diagnostics);
  else
    return toC(invalidArgument("set does not apply to a .mlir file",
                               "its extents and types are written in it"));
  if (!spec)
    return ErrorPtr(new attnc_error{ATTNC_ERROR_SPEC, textOf(diagnostics), ""});
  Result<driver::Compilation> compilation = compileSpec(*spec, *options);
  if (!compilation)
    return toC(compilation.error());

  auto compiled = std::make_shared<CompiledProgram>();
  compiled->compilation = *std::move(compilation);
  compiled->warnings = textOf(diagnostics);
  if (!options->keepTexts)
    dropTexts(compiled->compilation);
  fillArrays(*compiled);
  compiled->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  *program = new attnc_program{std::move(compiled)};
  return nullptr;
}

/// At most one byte more than a spec may have: parseSpec then says that it is too long.
Result<std::string> readFile(const char *path) {
  auto unreadable = [&] {
    return environmentError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)),
                            "check the path and its permissions");
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path, "rb"), std::fclose);
  if (!file)
    return unreadable();
  std::string text(maxSpecBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()))
    return unreadable();
  return text;
}

} // namespace

} // namespace attnc::api

using namespace attnc;
using namespace attnc::api;

attnc_error *attnc_compile_text(const char *name, const char *text, size_t length,
                                const attnc_compile_options *options, attnc_program **program) {
  return atBorder([&]() -> ErrorPtr {
    *program = nullptr;
    if (!text)
      return toC(invalidArgument("the text of the spec is NULL"));
    return compileText(name ? name : "<text>", llvm::StringRef(text, length), options, program);
  });
}

attnc_error *attnc_compile_file(const char *path, const attnc_compile_options *options,
                                attnc_program **program) {
  return atBorder([&]() -> ErrorPtr {
    *program = nullptr;
    if (!path)
      return toC(invalidArgument("the path of the spec is NULL"));
    Result<std::string> text = readFile(path);
    return text ? compileText(path, *text, options, program) : toC(text.error());
  });
}

void attnc_program_destroy(attnc_program *program) { delete program; }
