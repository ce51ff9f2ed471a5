// attnc compile: a spec to IR, CUDA C++, PTX, a cubin or a program file.
#include "compiler/driver/compile.h"
#include "compiler/frontend/suggest.h"
#include "tools/attnc/command.h"
#include "tools/attnc/memory_budget.h"
#include "tools/attnc/output_file.h"
#include "tools/attnc/schedule_file.h"
#include "tools/attnc/spec_options.h"
#include "tools/attnc/target.h"
#include "tools/attnc/terminal.h"
#include "tools/attnc/timing_report.h"
#include "tools/attnc/tuned_schedules.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::Compilation;
using driver::Stage;

struct CompileArguments {
  std::string spec, output, emit = "program", target, schedule, memoryBudget;
  std::vector<std::string> set;
  bool grad = false, verifyPasses = false, timing = false, json = false;
};

/// One of the things that can be written.
struct Emit {
  const char *name;
  Stage stage;
  enum Where { Anywhere, Gpu, Cpu } where;
  bool binary;
};

constexpr Emit emits[] = {
    {"attn", Stage::Attn, Emit::Anywhere, false}, {"red", Stage::Red, Emit::Anywhere, false},
    {"tile", Stage::Tile, Emit::Gpu, false},      {"cuda", Stage::Cuda, Emit::Gpu, false},
    {"ptx", Stage::Cubin, Emit::Gpu, false},      {"cubin", Stage::Cubin, Emit::Gpu, true},
    {"program", Stage::Cubin, Emit::Gpu, true},   {"llvm", Stage::Llvm, Emit::Cpu, false},
};

std::vector<std::string> emitNames() {
  std::vector<std::string> names;
  for (const Emit &emit : emits)
    names.push_back(emit.name);
  return names;
}

const Emit &findEmit(const std::string &name) {
  for (const Emit &emit : emits)
    if (emit.name == name)
      return emit;
  throw Failure(
      Usage, fmt::format("--emit: there is no '{}'", name),
      didYouMean(name, emitNames(), fmt::format("one of {}", fmt::join(emitNames(), ", "))));
}

void checkEmit(const Emit &emit, const Target &target, const CompileArguments &arguments) {
  if (emit.where == Emit::Gpu && target.isCpu())
    throw Failure(Usage, fmt::format("the target cpu has no '{}'", emit.name),
                  "add --target sm_80 or --target sm_90a, or use --emit attn, red or llvm");
  if (emit.where == Emit::Cpu && !target.isCpu())
    throw Failure(Usage, fmt::format("the target {} has no '{}'", target.name, emit.name),
                  "add --target cpu");
  if (!arguments.memoryBudget.empty() && std::string(emit.name) != "program")
    throw Failure(Usage,
                  fmt::format("--memory-budget is kept in a program, not in '{}'", emit.name),
                  "leave it out, or use --emit program; attnc explain compares it with a shape");
  if (emit.binary && arguments.output.empty() && (arguments.json || stdoutIsTerminal()))
    throw Failure(Usage,
                  fmt::format("'{}' is binary and would go to {}", emit.name,
                              arguments.json ? "the JSON" : "the terminal"),
                  fmt::format("add -o FILE{}", emit.binary && std::string(emit.name) == "program"
                                                   ? ", or choose --emit cuda, ptx, red ..."
                                                   : ""));
}

/// A named part of the result: there is one for each nest's kernel. The kernels that copy tensors
/// which are not aligned are part of the program alone.
struct Part {
  std::string name;
  std::string text;
};

std::vector<Part> imagesOf(const Compilation &compilation, ImageKind kind) {
  std::vector<Part> parts;
  for (const driver::NestReport &nest : compilation.nests)
    if (const Image *image = compilation.program.findImage(nest.kernel, kind))
      parts.push_back({image->name, image->bytes});
  return parts;
}

std::vector<Part> partsOf(const Compilation &compilation, const std::string &emit) {
  if (emit == "attn")
    return {{"", compilation.attn}};
  if (emit == "red")
    return {{"", compilation.red}};
  if (emit == "tile")
    return {{"", compilation.tile}};
  if (emit == "llvm")
    return {{"", compilation.llvm}};
  if (emit == "program")
    return {{"", orFail(serializeProgram(compilation.program), Internal)}};
  if (emit == "ptx" || emit == "cubin")
    return imagesOf(compilation, emit == "ptx" ? ImageKind::Ptx : ImageKind::Cubin);
  std::vector<Part> parts;
  for (const driver::NestReport &nest : compilation.nests)
    parts.push_back({nest.kernel, nest.source});
  return parts;
}

/// The file of one part: FILE itself for a single one, else FILE with the part's name before the
/// extension.
std::filesystem::path fileOf(const std::string &output, const Part &part, size_t count) {
  std::filesystem::path path = output;
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

nlohmann::ordered_json kernelsJson(const Compilation &compilation) {
  auto kernels = nlohmann::ordered_json::array();
  for (const driver::NestReport &nest : compilation.nests) {
    nlohmann::ordered_json kernel = {{"name", nest.kernel}, {"form", nest.form}};
    if (nest.resources)
      kernel["resources"] = {{"registers", nest.resources->registers},
                             {"spill_stores", nest.resources->spillStores},
                             {"spill_loads", nest.resources->spillLoads},
                             {"static_shared_bytes", nest.resources->staticSharedBytes}};
    kernels.push_back(kernel);
  }
  return kernels;
}

// Schedules that the compiler chooses do not spill; one that was asked for is not changed.
void noteSpills(const Compilation &compilation) {
  for (const driver::NestReport &nest : compilation.nests)
    if (nest.resources && nest.resources->spillStores > 0)
      note(fmt::format("{} spills registers ({} bytes stored): a schedule with fewer columns or "
                       "more registers is faster",
                       nest.kernel, nest.resources->spillStores));
}

void printSummary(const Compilation &compilation, const Emit &emit, const std::vector<Part> &parts,
                  const std::vector<std::string> &files, const std::vector<StageTime> &times,
                  bool json) {
  if (!json) {
    if (!times.empty())
      note(timesText(times));
    for (size_t i = 0; i < files.size(); ++i)
      note(fmt::format("wrote {} ({} bytes, {} for {}, {:.2f} s)", files[i], parts[i].text.size(),
                       emit.name, compilation.target, compilation.seconds));
    noteSpills(compilation);
    return;
  }
  nlohmann::ordered_json result = {{"ok", true},
                                   {"spec", compilation.name},
                                   {"target", compilation.target},
                                   {"emit", emit.name},
                                   {"seconds", compilation.seconds},
                                   {"nvrtc_seconds", compilation.nvrtcSeconds},
                                   {"repeats", compilation.repeats},
                                   {"kernels", kernelsJson(compilation)}};
  if (!times.empty())
    result["timing"] = timesJson(times);
  if (!files.empty())
    result["files"] = files;
  else
    for (const Part &part : parts)
      result["texts"].push_back({{"name", part.name}, {"text", part.text}});
  printJson(result);
}

ExitCode compileSpec(const CompileArguments &arguments) {
  const Emit &emit = findEmit(arguments.emit);
  Target target = chooseTarget(arguments.target);
  std::optional<int64_t> budget = readMemoryBudget(arguments.memoryBudget);
  checkEmit(emit, target, arguments);
  ScheduleFile schedule = readSchedule(arguments.schedule);
  noteUnused(schedule, target);
  auto start = std::chrono::steady_clock::now();
  LoadedSpec loaded = loadSpec(arguments.spec, arguments.set);
  std::chrono::duration<double> frontend = std::chrono::steady_clock::now() - start;
  if (arguments.grad)
    throw Failure(SpecErrors, "gradients are not available yet", "compile without --grad");
  std::unique_ptr<Nvrtc> nvrtc = emit.stage == Stage::Cubin ? openNvrtc(target) : nullptr;

  schedule::TuningDatabase tuned = tunedSchedules(target);
  driver::CompileOptions options;
  options.tuned = &tuned;
  options.target = target.name;
  options.upTo = emit.stage;
  options.keepTexts = false; // those of the stage are kept
  if (std::string(emit.name) == "program") // which others load, without a compiler
    options.parts = driver::PartsVariant::Built;
  options.memoryBudget = budget;
  options.verifyPasses = arguments.verifyPasses;
  options.nvrtc = nvrtc.get();
  Compilation compilation = [&] {
    Progress progress("compiling " + loaded.spec->name + " for " + target.name);
    return compileScheduled(*loaded.spec, options, schedule);
  }();
  std::vector<Part> parts = partsOf(compilation, emit.name);
  std::vector<std::string> files = write(parts, emit, arguments);
  std::vector<StageTime> times;
  if (arguments.timing)
    times = stageTimes(compilation, frontend.count());
  printSummary(compilation, emit, parts, files, times, arguments.json);
  return Done;
}

} // namespace

Command addCompileCommand(CLI::App &tool) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *app = tool.add_subcommand("compile", "Compile a spec and write one stage of it");
  app->add_option("SPEC", arguments->spec, specHelp)->required();
  app->add_option("-o,--out", arguments->output, "File to write; stdout without it");
  app->add_option(
      "--emit", arguments->emit,
      fmt::format("What to write: {}; program without it", fmt::join(emitNames(), ", ")));
  app->add_option("--target", arguments->target, targetHelp);
  addRepeatable(*app, "--set", arguments->set, setHelp);
  app->add_option("--schedule", arguments->schedule, scheduleHelp);
  addMemoryBudget(*app, arguments->memoryBudget);
  app->add_flag("--grad", arguments->grad, "Also compile gradients (not available yet)");
  app->add_flag("--verify-passes", arguments->verifyPasses,
                "Evaluate the program before and after each pass; stop at the first difference");
  app->add_flag("--timing,--mlir-timing", arguments->timing, "Also how long each pass took");
  app->add_flag("--json", arguments->json, "A report as JSON on stdout");
  app->footer(
      "A program holds the kernels of all its variants, so that it runs without a compiler; "
      "the others hold the first.\n"
      "Example: attnc compile causal --target sm_90a --emit ptx -o causal.ptx");
  return {app, [arguments] { return compileSpec(*arguments); }};
}

} // namespace attnc::cli
