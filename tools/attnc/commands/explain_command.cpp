// attnc explain: what the compiler made of a spec, and why.
#include "compiler/explain/text.h"
#include "compiler/jit/spec_texts.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/assignments.h"
#include "tools/attnc/input/memory_budget.h"
#include "tools/attnc/input/schedule_file.h"
#include "tools/attnc/input/shape.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/input/target.h"
#include "tools/attnc/input/tuned_schedules.h"
#include "tools/attnc/output/output_file.h"
#include "tools/attnc/output/terminal.h"
#include "tools/attnc/page/html_page.h"

#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::Compilation;

struct ExplainArguments {
  std::string spec, target, schedule, memoryBudget, html;
  SpecChanges changes;
  std::vector<std::string> shape;
  bool ir = false, cuda = false, json = false;
};

/// Extents to count bytes and operations at; empty where the spec has no full reference shape.
std::map<std::string, int64_t> extentsFor(const Spec &spec,
                                          const std::map<std::string, int64_t> &shape) {
  if (!shape.empty())
    return resolveExtents(spec, shape, {});
  try {
    return resolveExtents(spec, {}, {});
  } catch (const Failure &) {
    return {};
  }
}

void printIr(const Compilation &compilation) {
  print(fmt::format("\n// ---- attn: what the spec says ----\n{}\n", compilation.attn));
  for (const driver::PassRecord &pass : compilation.passes)
    print(fmt::format("\n// ---- after {}: {} ({:.1f} ms) ----\n{}\n", pass.name, pass.summary,
                      1e3 * pass.seconds, pass.ir));
}

void printCuda(const Compilation &compilation) {
  for (const driver::NestReport &nest : compilation.nests)
    if (!nest.source.empty())
      print(fmt::format("\n// ---- {}.cu ----\n{}\n", nest.launched(), nest.source));
}

void printAsJson(const Explanation &explanation, const Diagnostics &warnings,
                 const ExplainArguments &arguments) {
  const Compilation &compilation = *explanation.compilation;
  nlohmann::ordered_json json = explainJson(explanation);
  if (!warnings.all().empty())
    json["diagnostics"] = warnings.toJson();
  if (arguments.ir) {
    json["attn"] = compilation.attn;
    for (const driver::PassRecord &pass : compilation.passes)
      json["passes"].push_back({{"name", pass.name},
                                {"summary", pass.summary},
                                {"seconds", pass.seconds},
                                {"ir", pass.ir}});
  }
  if (arguments.cuda)
    for (const driver::NestReport &nest : compilation.nests)
      if (!nest.source.empty())
        json["cuda"][nest.launched()] = nest.source;
  printJson(json);
}

void printAsText(const Explanation &explanation, const ExplainArguments &arguments) {
  print(explainText(explanation, colourOnStdout()));
  if (arguments.ir)
    printIr(*explanation.compilation);
  if (arguments.cuda)
    printCuda(*explanation.compilation);
}

/// What explain said when the program was compiled.
ExitCode explainProgram(const Program &program, const ExplainArguments &arguments) {
  std::pair<const char *, bool> given[] = {{"--target", !arguments.target.empty()},
                                           {"--shape", !arguments.shape.empty()},
                                           {"--schedule", !arguments.schedule.empty()},
                                           {"--memory-budget", !arguments.memoryBudget.empty()},
                                           {"--ir", arguments.ir},
                                           {"--cuda", arguments.cuda},
                                           {"--html", !arguments.html.empty()}};
  for (auto [name, is] : given)
    if (is)
      throw Failure(Usage,
                    fmt::format("{} does not apply to {}, which is compiled", name, arguments.spec),
                    "explain the spec");
  const Source *said = program.findSource(arguments.json ? explanationJson : explanationText);
  if (!said)
    throw Failure(Usage, fmt::format("{} does not hold what explain says", arguments.spec),
                  "programs that attnc compile writes hold it");
  print(said->text);
  if (!said->text.ends_with('\n'))
    print("\n");
  return Done;
}

ExitCode explainSpec(const ExplainArguments &arguments) {
  auto shape = parseExtents("--shape", arguments.shape);
  Target target = chooseCompiledTarget(arguments.target);
  if (arguments.cuda && target.isCpu())
    throw Failure(Usage, "the target cpu has no CUDA", "add --target sm_80 or --target sm_90a");
  ScheduleFile schedule = readSchedule(arguments.schedule);
  noteUnused(schedule, target);
  LoadedSpec loaded = loadSpecOrProgram(arguments.spec, arguments.changes);
  if (loaded.program)
    return explainProgram(*loaded.program, arguments);

  schedule::TuningDatabase tuned = tunedSchedules(target);
  driver::CompileOptions options;
  options.tuned = &tuned;
  options.target = target.name;
  options.extents = extentsFor(*loaded.spec, shape);
  options.memoryBudget = readMemoryBudget(arguments.memoryBudget);
  options.keepIr = arguments.ir || !arguments.html.empty();
  options.images = imagesFor(target);
  auto compile = [&] {
    Progress progress("compiling " + loaded.spec->name + " for " + target.name);
    return compileScheduled(*loaded.spec, options, schedule);
  };
  Compilation compilation;
  try {
    compilation = compile();
  } catch (const Failure &noNvrtc) {
    if (noNvrtc.code() != Environment || target.isCpu())
      throw;
    // There is everything but the report of registers and shared memory.
    options.upTo = driver::Stage::Cuda;
    compilation = compile();
    note(std::string("registers and shared memory are not shown: ") + noNvrtc.what());
  }

  Explanation explanation = explain(compilation, loaded.spec->doc, options.extents);
  if (!arguments.html.empty()) {
    writeFile(arguments.html, explainHtml(explanation, {loaded.fileName, loaded.text}));
    note("wrote " + arguments.html);
  }
  if (arguments.json)
    printAsJson(explanation, loaded.warnings, arguments);
  else if (arguments.html.empty())
    printAsText(explanation, arguments);
  return Done;
}

} // namespace

Command addExplainCommand(CLI::App &tool) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App *app = tool.add_subcommand("explain", "Say what was fused and how, and what was not");
  app->add_option("SPEC", arguments->spec, std::string(specHelp) + "; or a program file")
      ->required();
  app->add_option("--target", arguments->target, targetHelp)->type_name("TARGET");
  addSpecChanges(*app, arguments->changes);
  addRepeatable(*app, "--shape", arguments->shape,
                "Extents to count bytes and operations at; else the spec's reference shape");
  app->add_option("--schedule", arguments->schedule, scheduleHelp)->type_name("FILE");
  addMemoryBudget(*app, arguments->memoryBudget);
  app->add_flag("--ir", arguments->ir, "Also the IR after each pass");
  app->add_flag("--cuda", arguments->cuda, "Also the generated CUDA C++");
  app->add_option("--html", arguments->html,
                  "Write it all, with the IR and the CUDA, as one HTML page to this file instead")
      ->type_name("FILE");
  app->add_flag("--json", arguments->json, "As JSON on stdout");
  app->footer("Example: attnc explain causal --target sm_90a --cuda");
  return {app, [arguments] { return explainSpec(*arguments); }};
}

} // namespace attnc::cli
