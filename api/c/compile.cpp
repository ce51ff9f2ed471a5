#include "api/c/compile.h"
#include "compiler/driver/entries.h"
#include "compiler/frontend/text/json_source.h"
#include "compiler/frontend/text/suggest.h"
#include "compiler/jit/compile_program.h"
#include "compiler/jit/open_program.h"
#include "compiler/schedule/choice/tuning_database.h"
#include "compiler/schedule/model/gpu_model.h"
#include "kernels_spec/library.h"

#include "mlir/IR/MLIRContext.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc::api {

namespace {

Status checkTarget(const std::string &target) {
  std::vector<std::string> known = {"cpu"};
  for (const schedule::GpuModel &machine : schedule::gpuModels())
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

bool isMlir(const std::string &name) { return name.ends_with(".mlir"); }

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
  return nlohmann::json(json->toJson());
}

} // namespace

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

namespace {

/// What nobody has asked to keep. What a program file holds stays.
void dropTexts(driver::Compilation &compilation) {
  for (std::string *text :
       {&compilation.attn, &compilation.red, &compilation.tile, &compilation.llvm})
    text->clear();
  std::erase_if(compilation.program.sources,
                [](const Source &source) { return source.name.ends_with(".cu"); });
  auto drop = [](std::vector<driver::NestReport> &nests) {
    for (driver::NestReport &nest : nests) {
      nest.tile.clear();
      nest.source.clear();
    }
  };
  drop(compilation.nests);
  for (driver::VariantNests &variant : compilation.variants)
    drop(variant.nests);
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
}

Result<ReadyProgram> compileSpec(const Spec &spec, const Options &options) {
  driver::CompileOptions compile;
  compile.target = options.target;
  compile.schedule = options.schedule;
  compile.keepTexts = options.keepTexts;
  schedule::TuningDatabase tuned;
  schedule::addBuiltinTuning(tuned);
  compile.tuned = &tuned;
  bool onCpu = options.target == "cpu";
  if (onCpu && options.keepTexts)
    compile.upTo = driver::Stage::Llvm;
  if (!onCpu)
    compile.images =
        options.noCache ? std::make_shared<const ImageCompiler>() : ImageCompiler::ofUser();
  std::shared_ptr<cache::Store> store = options.noCache ? nullptr : cache::Store::ofUser();
  Result<ReadyProgram> ready = compileProgram(spec, std::move(compile), store.get());
  if (!ready || !options.keepTexts)
    return ready;
  Result<Program> whole = completed(ready->compilation);
  if (!whole)
    return whole.error();
  ready->compilation.program = *std::move(whole);
  return ready;
}

int32_t originOf(cache::Source source) {
  switch (source) {
  case cache::Source::Disk:
    return ATTNC_FROM_DISK;
  case cache::Source::Remote:
    return ATTNC_FROM_REMOTE;
  case cache::Source::Made:
    break;
  }
  return ATTNC_FROM_COMPILER;
}

std::optional<Spec> parse(mlir::MLIRContext &context, const SpecInput &input,
                          const Options &options, Diagnostics &diagnostics) {
  if (isMlir(input.name))
    return parseAttnFile(context, input.name, input.text, diagnostics);
  return parseSpec(context, input.name, input.text, options.overrides, diagnostics, input.bases);
}

} // namespace

std::shared_ptr<CompiledProgram> describe(driver::Compilation compilation, bool keepTexts,
                                          int32_t origin,
                                          std::chrono::steady_clock::time_point start) {
  auto compiled = std::make_shared<CompiledProgram>();
  if (std::optional<driver::Compilation> backward = takeBackward(compilation))
    compiled->entries.emplace_back(driver::backwardEntry,
                                   describe(*std::move(backward), keepTexts, origin, start));
  if (!keepTexts)
    dropTexts(compilation);
  compiled->compilation = std::move(compilation);
  compiled->origin = origin;
  fillArrays(*compiled);
  compiled->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

ErrorPtr compileText(const SpecInput &input, const Options &options,
                     std::shared_ptr<const CompiledProgram> &program) {
  const std::string &name = input.name;
  auto start = std::chrono::steady_clock::now();
  if (isMlir(name) && !options.allowMlir)
    return toC(invalidArgument(fmt::format("{} is a program in the attn dialect, not a spec", name),
                               "if you trust where it is from, set allow_mlir"));
  if (isMlir(name) && !options.overrides.values.empty())
    return toC(invalidArgument("set does not apply to a .mlir file",
                               "its extents and types are written in it"));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec = parse(context, input, options, diagnostics);
  if (!spec)
    return ErrorPtr(new attnc_error{ATTNC_ERROR_SPEC, textOf(diagnostics), ""});
  Result<ReadyProgram> ready = compileSpec(*spec, options);
  if (!ready)
    return toC(ready.error());
  auto compiled =
      describe(std::move(ready->compilation), options.keepTexts, originOf(ready->source), start);
  compiled->warnings = textOf(diagnostics);
  program = std::move(compiled);
  return nullptr;
}

Result<std::string> readSpecFile(const char *path) {
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

} // namespace attnc::api

using namespace attnc;
using namespace attnc::api;

static ErrorPtr compileInto(attnc_program **program, const SpecInput &input,
                            const attnc_compile_options *given) {
  Result<Options> options = readOptions(given);
  if (!options)
    return toC(options.error());
  std::shared_ptr<const CompiledProgram> compiled;
  if (ErrorPtr error = compileText(input, *options, compiled))
    return error;
  *program = new attnc_program{std::move(compiled)};
  return nullptr;
}

attnc_error *attnc_compile_text(const char *name, const char *text, size_t length,
                                const attnc_compile_options *options, attnc_program **program) {
  return atBorder([&]() -> ErrorPtr {
    *program = nullptr;
    if (!text)
      return toC(invalidArgument("the text of the spec is NULL"));
    return compileInto(
        program, {name ? name : "<text>", llvm::StringRef(text, length), libraryBases()}, options);
  });
}

attnc_error *attnc_compile_file(const char *path, const attnc_compile_options *options,
                                attnc_program **program) {
  return atBorder([&]() -> ErrorPtr {
    *program = nullptr;
    if (!path)
      return toC(invalidArgument("the path of the spec is NULL"));
    Result<std::string> text = readSpecFile(path);
    return text ? compileInto(program, {path, *text, fileBases()}, options) : toC(text.error());
  });
}

attnc_error *attnc_whole_spec(const char *path, const char *text, size_t length, char **whole) {
  return atBorder([&]() -> ErrorPtr {
    *whole = nullptr;
    if (!text)
      return toC(invalidArgument("the text of the spec is NULL"));
    Diagnostics diagnostics;
    auto json = wholeSpec(path ? path : "<text>", llvm::StringRef(text, length),
                          path ? fileBases() : libraryBases(), diagnostics);
    if (!json)
      return ErrorPtr(new attnc_error{ATTNC_ERROR_SPEC, textOf(diagnostics), ""});
    *whole = strdup(json->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return *whole ? nullptr : toC(environmentError("out of memory"));
  });
}

void attnc_free_text(char *text) { std::free(text); }

void attnc_program_destroy(attnc_program *program) { delete program; }
