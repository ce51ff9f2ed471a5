// attnc compile: a spec to IR, CUDA C++, PTX, a cubin, a manifest or a program file.
#include "compiler/driver/entries.h"
#include "compiler/driver/images/side_by_side.h"
#include "compiler/driver/pipeline.h"
#include "compiler/frontend/text/suggest.h"
#include "compiler/jit/open_program.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/memory_budget.h"
#include "tools/attnc/input/schedule_file.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/input/target.h"
#include "tools/attnc/input/tuned_schedules.h"
#include "tools/attnc/output/emit.h"
#include "tools/attnc/output/launch_json.h"
#include "tools/attnc/output/output_file.h"
#include "tools/attnc/output/spec_lines.h"
#include "tools/attnc/output/terminal.h"
#include "tools/attnc/output/timing_report.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::Compilation;
using driver::Stage;
namespace fs = std::filesystem;

struct CompileArguments {
  std::string spec, output, emit = "program", target, schedule, memoryBudget;
  SpecChanges changes;
  std::vector<std::string> printAfter;
  std::string reproducer;
  bool launchJson = false, verifyPasses = false, timing = false, json = false, lines = false;
  bool printAfterAll = false;
};

/// `isNamed`: somebody has asked for this target.
void checkTarget(const Emit &emit, const Target &target, bool isNamed) {
  if (emit.where == Emit::Gpu && target.isCpu())
    throw Failure(Usage,
                  fmt::format("{}the target cpu has no '{}'",
                              isNamed ? "" : "no GPU was found, hence cpu, and ", emit.name),
                  "add --target sm_80 or --target sm_90a, for which compiling needs no GPU, or use "
                  "--emit program, attn, red, manifest or llvm");
  if (emit.where == Emit::Cpu && !target.isCpu())
    throw Failure(Usage, fmt::format("the target {} has no '{}'", target.name, emit.name),
                  "add --target cpu");
}

void checkEmit(const Emit &emit, const CompileArguments &arguments) {
  if (!arguments.memoryBudget.empty() && !emit.is("program") && !emit.is("manifest"))
    throw Failure(Usage,
                  fmt::format("--memory-budget is kept in a program, not in '{}'", emit.name),
                  "leave it out, or use --emit program; attnc explain compares it with a shape");
  if (emit.binary && arguments.output.empty() && (arguments.json || stdoutIsTerminal()))
    throw Failure(Usage,
                  fmt::format("'{}' is binary and would go to {}", emit.name,
                              arguments.json ? "the JSON" : "the terminal"),
                  fmt::format("add -o FILE{}", emit.binary && emit.is("program")
                                                   ? ", or choose --emit cuda, ptx, red ..."
                                                   : ""));
  if (arguments.launchJson && !emit.isImage())
    throw Failure(Usage, fmt::format("--launch-json describes PTX or cubins, not '{}'", emit.name),
                  "use --emit ptx or --emit cubin, or leave it out");
  if (arguments.launchJson && arguments.output.empty())
    throw Failure(Usage, "--launch-json names files, and nothing is written to a file",
                  "add -o FILE: the description is then FILE with the ending .launch.json");
}

void checkLines(const Emit &emit, const CompileArguments &arguments) {
  if (!arguments.lines)
    return;
  if (!arguments.json || !arguments.output.empty())
    throw Failure(Usage, "--lines adds to the JSON, and the texts are not in it",
                  "add --json, without -o FILE");
  if (!emit.hasLines())
    throw Failure(Usage, fmt::format("'{}' does not know the lines of the spec", emit.name),
                  "use --emit attn, red, tile, cuda or ptx");
}

/// A named part of the result: there is one for each nest's kernel.
struct Part {
  std::string name;
  std::string text;
  std::vector<unsigned> lines = {}; ///< --lines: where its lines come from
};

/// The kernels of the first variant that serves all sizes, but for those that copy tensors which
/// are not aligned: what a program in one pass consists of.
std::vector<const KernelDecl *> kernelsOf(const Manifest &manifest) {
  auto main = llvm::find_if(manifest.variants, [](auto &variant) { return !variant.when; });
  std::vector<const KernelDecl *> kernels;
  if (main == manifest.variants.end())
    return kernels;
  for (const LaunchDecl &launch : main->launches)
    kernels.push_back(manifest.findKernel(launch.kernel));
  return kernels;
}

/// The images of these kernels; with `all` also those of the other variants, and of the kernels
/// that copy: what a program holds.
std::vector<Part> imagesOf(const Program &program, ImageKind kind, bool all) {
  std::vector<Part> parts;
  if (all) {
    for (const Image &image : program.images)
      if (image.kind == kind)
        parts.push_back({image.name, image.bytes});
    return parts;
  }
  for (const KernelDecl *kernel : kernelsOf(program.manifest))
    if (const Image *image = program.findImage(kernel->name, kind))
      parts.push_back({image->name, image->bytes});
  return parts;
}

/// CUDA C++, one text for each nest.
std::vector<Part> sourcesOf(const Compilation &compilation) {
  std::vector<Part> parts;
  for (const driver::NestReport &nest : compilation.nests)
    if (!nest.source.empty())
      parts.push_back({nest.launched(), nest.source});
  return parts;
}

/// `name` is the entry point's, for what is one text.
std::vector<Part> partsOf(const Compilation &compilation, const Emit &emit, bool all,
                          const std::string &name) {
  if (emit.is("attn"))
    return {{name, compilation.attn}};
  if (emit.is("red"))
    return {{name, compilation.red}};
  if (emit.is("tile"))
    return {{name, compilation.tile}};
  if (emit.is("llvm"))
    return {{name, compilation.llvm}};
  if (emit.is("program"))
    return {{"", orFail(serializeProgram(compilation.program), Internal)}};
  if (emit.is("manifest"))
    return {{name, readableJson(Json::parse(printManifest(compilation.program.manifest)))}};
  if (emit.isImage())
    return imagesOf(compilation.program, emit.is("ptx") ? ImageKind::Ptx : ImageKind::Cubin, all);
  return sourcesOf(compilation);
}

/// Those of the forward program, and of the backward one if there is one.
std::vector<Part> partsOf(const Compilation &compilation, const Emit &emit, bool all) {
  const Compilation *backward = compilation.backward.get();
  if (!backward || emit.is("program"))
    return partsOf(compilation, emit, all, "");
  std::vector<Part> parts = partsOf(compilation, emit, /*all=*/false, "forward");
  for (Part &part : partsOf(*backward, emit, /*all=*/false, driver::backwardEntry))
    parts.push_back(std::move(part));
  return parts;
}

/// The forward program, and the backward one if there is one.
std::vector<const Compilation *> programsOf(const Compilation &compilation) {
  if (compilation.backward)
    return {&compilation, compilation.backward.get()};
  return {&compilation};
}

/// The kernels' PTX, compiled with the lines of their sources, which machine code in use is not.
std::vector<Part> linedPtx(const Compilation &compilation, const Spec &spec) {
  StatementLines statements = statementLines(spec);
  std::shared_ptr<const ImageCompiler> images = ImageCompiler::ofUser();
  std::vector<Part> parts;
  for (const Compilation *program : programsOf(compilation))
    for (const Part &source : sourcesOf(*program)) {
      NvrtcRequest request = driver::requestFor(compilation.target, source.text, source.name);
      request.options.push_back("--generate-line-info");
      std::string ptx = orFail(images->compile(request), Internal).ptx;
      std::vector<unsigned> lines = linesOfPtx(ptx, linesOfCuda(source.text, statements));
      parts.push_back({source.name, std::move(ptx), std::move(lines)});
    }
  return parts;
}

/// The parts, with the lines of the spec that theirs come from.
std::vector<Part> linedParts(const Compilation &compilation, const Emit &emit, const Spec &spec) {
  if (emit.is("ptx"))
    return linedPtx(compilation, spec);
  StatementLines statements = statementLines(spec);
  std::vector<Part> parts = partsOf(compilation, emit, /*all=*/false);
  for (Part &part : parts) {
    if (emit.is("cuda")) {
      part.lines = linesOfCuda(part.text, statements);
      continue;
    }
    LinedText lined = linesOfIr(part.text);
    part.text = std::move(lined.text);
    part.lines = std::move(lined.lines);
  }
  return parts;
}

/// The file of one part: FILE itself for a single one, else FILE with the part's name before the
/// extension.
fs::path fileOf(const std::string &output, const Part &part, size_t count) {
  fs::path path = output;
  if (count == 1)
    return path;
  return path.replace_filename(path.stem().string() + "." + part.name + path.extension().string());
}

/// Writes the parts to files or to stdout; returns the files.
std::vector<std::string> write(const std::vector<Part> &parts, const Emit &emit,
                               const CompileArguments &arguments) {
  std::vector<std::string> files;
  if (!arguments.output.empty()) {
    for (const Part &part : parts) {
      files.push_back(fileOf(arguments.output, part, parts.size()).string());
      writeFile(files.back(), part.text);
    }
    return files;
  }
  if (emit.binary && parts.size() > 1)
    throw Failure(Usage,
                  fmt::format("there are {} kernels: they do not fit in one stream", parts.size()),
                  "add -o FILE: each kernel gets a file of its own");
  if (!arguments.json)
    for (const Part &part : parts) {
      print(part.text);
      if (!emit.binary && !part.text.ends_with('\n'))
        print("\n");
    }
  return files;
}

/// Writes how the images in `files` are launched; returns the file. They lie beside it.
std::string writeLaunchJson(const Compilation &compilation, const std::vector<Part> &images,
                            const std::vector<std::string> &files, const std::string &output) {
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < images.size(); ++i)
    names[images[i].name] = fs::path(files[i]).filename().string();
  std::string path = fs::path(output).replace_extension(".launch.json").string();
  writeFile(path, readableJson(launchJson(compilation.program.manifest, names)));
  return path;
}

void addKernels(const Compilation &compilation, nlohmann::ordered_json &kernels) {
  if (compilation.program.manifest.kernels.empty()) // no stage that has them was reached
    for (const driver::NestReport &nest : compilation.nests)
      kernels.push_back({{"name", nest.kernel}, {"form", nest.form}});
  for (const KernelDecl *decl : kernelsOf(compilation.program.manifest)) {
    nlohmann::ordered_json kernel = {{"name", decl->name}, {"form", decl->form}};
    if (decl->resources)
      kernel["resources"] = {{"registers", decl->resources->registers},
                             {"spill_stores", decl->resources->spillStores},
                             {"spill_loads", decl->resources->spillLoads},
                             {"static_shared_bytes", decl->resources->staticSharedBytes}};
    kernels.push_back(kernel);
  }
}

nlohmann::ordered_json kernelsJson(const Compilation &compilation) {
  auto kernels = nlohmann::ordered_json::array();
  for (const Compilation *program : programsOf(compilation))
    addKernels(*program, kernels);
  return kernels;
}

/// A time or a count of all programs.
template <typename T> T sumOf(const Compilation &compilation, T Compilation::*figure) {
  T sum = 0;
  for (const Compilation *program : programsOf(compilation))
    sum += program->*figure;
  return sum;
}

// Schedules that the compiler chooses do not spill; one that was asked for is not changed.
void noteSpills(const Compilation &compilation) {
  for (const KernelDecl *kernel : kernelsOf(compilation.program.manifest))
    if (kernel->resources && kernel->resources->spillStores > 0)
      note(fmt::format("{} spills registers ({} bytes stored): a schedule with fewer columns or "
                       "more registers is faster",
                       kernel->name, kernel->resources->spillStores));
}

void printSummary(const ReadyProgram &ready, const Diagnostics &warnings, const Emit &emit,
                  const std::vector<Part> &parts, const std::vector<std::string> &files,
                  const std::string &launchFile, const std::vector<StageTime> &times, bool json) {
  const Compilation &compilation = ready.compilation;
  if (!json) {
    if (!times.empty())
      note(timesText(times));
    for (size_t i = 0; i < files.size(); ++i)
      note(fmt::format("wrote {} ({} bytes, {} for {}, {:.2f} s)", files[i], parts[i].text.size(),
                       emit.name, compilation.target, ready.seconds));
    if (!launchFile.empty())
      note(fmt::format("wrote {} (how they are launched)", launchFile));
    for (const Compilation *program : programsOf(compilation))
      noteSpills(*program);
    return;
  }
  nlohmann::ordered_json result = {
      {"ok", true},
      {"spec", compilation.name},
      {"target", compilation.target},
      {"emit", emit.name},
      {"tier", cache::nameOf(ready.source)},
      {"seconds", ready.seconds},
      {"nvrtc_seconds", sumOf(compilation, &Compilation::nvrtcSeconds)},
      {"images_compiled", sumOf(compilation, &Compilation::imagesCompiled)},
      {"images_cached", sumOf(compilation, &Compilation::imagesCached)},
      {"repeats", sumOf(compilation, &Compilation::repeats)},
      {"kernels", kernelsJson(compilation)}};
  if (!warnings.all().empty())
    result["diagnostics"] = warnings.toJson();
  if (!times.empty())
    result["timing"] = timesJson(times);
  if (!files.empty())
    result["files"] = files;
  else
    for (const Part &part : parts) {
      nlohmann::ordered_json text = {{"name", part.name}, {"text", part.text}};
      if (!part.lines.empty())
        text["lines"] = part.lines;
      result["texts"].push_back(std::move(text));
    }
  if (!launchFile.empty())
    result["launch_json"] = launchFile;
  printJson(result);
}

std::vector<std::string> passesToPrint(const CompileArguments &arguments) {
  if (arguments.printAfterAll)
    return {"all"};
  for (const std::string &asked : arguments.printAfter)
    if (!driver::findStep(asked))
      throw Failure(
          Usage, fmt::format("--print-ir-after: there is no pass '{}'", asked),
          didYouMean(asked, passNames(), fmt::format("one of {}", fmt::join(passNames(), ", "))));
  return arguments.printAfter;
}

driver::CompileOptions optionsFor(const CompileArguments &arguments, const Emit &emit,
                                  const Target &target) {
  driver::CompileOptions options;
  options.target = target.name;
  // Of the processor's kernels the manifest says nothing that LLVM finds out.
  options.upTo = emit.is("manifest") && target.isCpu() ? Stage::Red : emit.stage;
  if (arguments.lines && emit.is("ptx"))
    options.upTo = Stage::Cuda; // linedPtx goes on from there
  options.marksLines = arguments.lines;
  options.keepTexts = false; // those of the stage are kept
  options.memoryBudget = readMemoryBudget(arguments.memoryBudget);
  options.verifyPasses = arguments.verifyPasses;
  options.printAfter = passesToPrint(arguments);
  options.reproducer = arguments.reproducer;
  return options;
}

/// Whether the passes have to run, whatever the cache holds.
bool isAboutPasses(const CompileArguments &arguments) {
  return arguments.timing || !passesToPrint(arguments).empty() || !arguments.reproducer.empty();
}

/// Machine code comes from the user's cache, unless it is the passes that are asked for.
ReadyProgram compileFor(const CompileArguments &arguments, const Emit &emit, const Spec &spec,
                        const driver::CompileOptions &options, const ScheduleFile &schedule) {
  if (options.upTo != Stage::Cubin) {
    ReadyProgram ready{compileScheduled(spec, options, schedule)};
    ready.seconds = secondsOfAll(ready.compilation);
    return ready;
  }
  ReadyProgram ready =
      compileReady(spec, options, schedule, /*isStored=*/!isAboutPasses(arguments));
  if (arguments.launchJson || emit.is("program") || emit.is("manifest")) // for others to launch
    ready.compilation.program = orFail(completed(ready.compilation), Internal);
  return ready;
}

ExitCode compileSpec(const CompileArguments &arguments) {
  const Emit &emit = findEmit(arguments.emit);
  Target target = chooseCompiledTarget(arguments.target);
  driver::CompileOptions options = optionsFor(arguments, emit, target);
  checkTarget(emit, target, !arguments.target.empty());
  checkEmit(emit, arguments);
  checkLines(emit, arguments);
  ScheduleFile schedule = readSchedule(arguments.schedule);
  noteUnused(schedule, target);
  auto start = std::chrono::steady_clock::now();
  LoadedSpec loaded = loadSpec(arguments.spec, arguments.changes);
  std::chrono::duration<double> frontend = std::chrono::steady_clock::now() - start;
  if (arguments.launchJson && !loaded.spec->grad.empty())
    throw Failure(Usage, "--launch-json describes one entry point, and gradients make two",
                  "write a program, and load its entry points with the C API");
  if (options.upTo == Stage::Cubin)
    options.images = imagesFor(target);
  schedule::TuningDatabase tuned = tunedSchedules(target);
  options.tuned = &tuned;
  ReadyProgram ready = [&] {
    Progress progress("compiling " + loaded.spec->name + " for " + target.name);
    return compileFor(arguments, emit, *loaded.spec, options, schedule);
  }();
  const Compilation &compilation = ready.compilation;
  std::vector<Part> parts = arguments.lines ? linedParts(compilation, emit, *loaded.spec)
                                            : partsOf(compilation, emit, arguments.launchJson);
  std::vector<std::string> files = write(parts, emit, arguments);
  std::string launchFile;
  if (arguments.launchJson)
    launchFile = writeLaunchJson(compilation, parts, files, arguments.output);
  std::vector<StageTime> times;
  if (arguments.timing)
    times = stageTimes(compilation, frontend.count());
  printSummary(ready, loaded.warnings, emit, parts, files, launchFile, times, arguments.json);
  return Done;
}

} // namespace

Command addCompileCommand(CLI::App &tool) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *app = tool.add_subcommand("compile", "Compile a spec and write one stage of it");
  app->add_option("SPEC", arguments->spec, specHelp)->required();
  app->add_option("-o,--out", arguments->output, "File to write; stdout without it")
      ->type_name("FILE");
  app->add_option(
         "--emit", arguments->emit,
         fmt::format("What to write: {}; program without it", fmt::join(emitNames(), ", ")))
      ->type_name("EMIT");
  app->add_flag("--launch-json", arguments->launchJson,
                "Beside the PTX or cubins of -o NAME.EXT, NAME.launch.json: how to launch them "
                "through the CUDA driver, without attnc");
  app->add_option("--target", arguments->target, targetHelp)->type_name("TARGET");
  addSpecChanges(*app, arguments->changes);
  app->add_option("--schedule", arguments->schedule, scheduleHelp)->type_name("FILE");
  addMemoryBudget(*app, arguments->memoryBudget);
  app->add_flag("--verify-passes", arguments->verifyPasses,
                "Evaluate the program before and after each pass; stop at the first difference");
  app->add_flag("--timing,--mlir-timing", arguments->timing, "Also how long each pass took");
  addRepeatable(*app, "--print-ir-after,--mlir-print-ir-after", arguments->printAfter,
                "Print the IR on stderr after the pass of this name")
      ->type_name("PASS");
  app->add_flag("--print-ir-after-all,--mlir-print-ir-after-all", arguments->printAfterAll,
                "Print the IR on stderr after each pass");
  app->add_option(
         "--reproducer,--mlir-pass-pipeline-crash-reproducer", arguments->reproducer,
         "File for the program and its passes, for attnc-opt to run again, should a pass fail")
      ->type_name("FILE");
  app->add_flag("--json", arguments->json, "A report as JSON on stdout");
  app->add_flag("--lines", arguments->lines,
                "Also, for each line of a text in the JSON, the line of the spec that it comes "
                "from, or 0; PTX is compiled with line information for it");
  app->footer(
      "A program holds the kernels of all its variants, so that it runs without a compiler, and so "
      "do the files that --launch-json describes; the others hold the first.\n"
      "Example: attnc compile causal --target sm_90a --emit ptx -o causal.ptx");
  return {app, [arguments] { return compileSpec(*arguments); }};
}

} // namespace attnc::cli
