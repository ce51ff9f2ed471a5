// attnc run: a spec on tensors from files or at random.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/memory_check.h"
#include "compiler/driver/execution/reference_executor.h"
#include "compiler/explain/facts.h"
#include "compiler/frontend/text/suggest.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/assignments.h"
#include "tools/attnc/input/memory_budget.h"
#include "tools/attnc/input/prepare.h"
#include "tools/attnc/input/schedule_file.h"
#include "tools/attnc/input/shape.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/input/tensor_files.h"
#include "tools/attnc/output/bounds_text.h"
#include "tools/attnc/output/check_text.h"
#include "tools/attnc/output/terminal.h"
#include "tools/attnc/output/timing_turn.h"

#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::HostTensor;

const std::string runTargetHelp =
    std::string(targetHelp) +
    "; or reference, the float64 evaluator, whose real outputs are f64 and not rounded";

struct RunArguments {
  std::string spec, target, schedule, memoryBudget;
  SpecChanges changes;
  std::vector<std::string> shape, param, input, output;
  uint64_t seed = 1;
  bool check = false, time = false, verifyPasses = false, json = false, interpret = false;
  bool checkBounds = false;
};

/// What the finite elements of a tensor look like.
struct Digest {
  double min = INFINITY, max = -INFINITY, mean = 0;
  int64_t finite = 0, elements = 0;
};

Digest digestOf(const HostTensor &tensor) {
  Digest digest;
  digest.elements = tensor.elements();
  double sum = 0;
  for (int64_t i = 0; i < digest.elements; ++i) {
    double x = loadElement(tensor.dtype, tensor.data.data() + i * dtypeSize(tensor.dtype));
    if (!std::isfinite(x))
      continue;
    digest.min = std::min(digest.min, x);
    digest.max = std::max(digest.max, x);
    sum += x;
    ++digest.finite;
  }
  digest.mean = digest.finite ? sum / digest.finite : 0;
  return digest;
}

std::map<std::string, HostTensor> readInputs(const Manifest &manifest,
                                             const std::map<std::string, std::string> &files) {
  std::vector<std::string> names;
  for (const TensorDecl &input : manifest.inputs)
    names.push_back(input.name);
  std::map<std::string, HostTensor> tensors;
  for (const auto &[name, path] : files) {
    if (!llvm::is_contained(names, name))
      throw Failure(
          Usage, fmt::format("--input: the spec has no input '{}'", name),
          didYouMean(name, names, fmt::format("its inputs are {}", fmt::join(names, ", "))));
    tensors[name] = readTensor(name, path, manifest.findTensor(name)->dtype);
  }
  return tensors;
}

void checkOutputNames(const Manifest &manifest, const std::map<std::string, std::string> &files) {
  std::vector<std::string> names;
  for (const TensorDecl &output : manifest.outputs)
    names.push_back(output.name);
  for (const auto &[name, path] : files)
    if (!llvm::is_contained(names, name))
      throw Failure(
          Usage, fmt::format("--output: the spec has no output '{}'", name),
          didYouMean(name, names, fmt::format("its outputs are {}", fmt::join(names, ", "))));
}

/// One run; with --time also the median of enough runs for about half a second.
driver::RunResult runTimed(const driver::Executor &executor, driver::RunRequest request,
                           bool time) {
  std::optional<TimingTurn> turn;
  if (time)
    turn.emplace();
  driver::RunResult first = orFail(executor.run(request));
  if (!time)
    return first;
  request.warmup = 2;
  request.repeat =
      static_cast<unsigned>(std::clamp(500 / std::max(first.milliseconds, 1e-3), 3.0, 200.0));
  return orFail(executor.run(request));
}

nlohmann::ordered_json outputJson(const std::string &name, const HostTensor &tensor) {
  Digest digest = digestOf(tensor);
  return {{"name", name},
          {"dtype", dtypeName(tensor.dtype)},
          {"shape", tensor.shape},
          {"min", digest.min},
          {"max", digest.max},
          {"mean", digest.mean},
          {"finite", digest.finite},
          {"elements", digest.elements}};
}

void printOutput(const TensorDecl &output, const HostTensor &tensor) {
  Digest digest = digestOf(tensor);
  std::string shape;
  for (auto [dim, extent] : llvm::zip_equal(output.dims, tensor.shape))
    shape += fmt::format("{}{}={}", shape.empty() ? "" : ", ", dim, extent);
  print(fmt::format("{:<8} {}[{}]  ", output.name, dtypeName(output.dtype), shape));
  print(digest.finite ? fmt::format("min {:.4g}  max {:.4g}  mean {:.4g}", digest.min, digest.max,
                                    digest.mean)
                      : std::string(digest.elements ? "no finite element" : "empty"));
  if (digest.finite < digest.elements)
    print(fmt::format("  ({} of {} not finite)", digest.elements - digest.finite, digest.elements));
  print("\n");
}

/// A run with everything that it was made from.
struct Ran {
  double readySeconds = 0; ///< from the text of the spec to loaded kernels
  std::map<std::string, int64_t> extents;
  driver::RunResult result;
  std::optional<driver::CheckReport> check;
  std::optional<std::vector<evaluator::OutsideRead>> outside; ///< with --check-bounds

  bool ok() const { return (!check || check->ok()) && (!outside || outside->empty()); }
};

void printRan(const Ran &ran, const Prepared &prepared, bool time) {
  const driver::Compilation &compilation = prepared.compilation;
  print(
      fmt::format("{} on {}: {}\n", compilation.name, compilation.target, shapeText(ran.extents)));
  for (const TensorDecl &output : prepared.executor->manifest().outputs)
    printOutput(output, ran.result.outputs.at(output.name));
  print(fmt::format(
      "{:.3f} ms{}, {} in {:.2f} s\n", ran.result.milliseconds, time ? " (median)" : " (one run)",
      prepared.origin == cache::Source::Made ? "compiled" : "read", prepared.seconds));
  if (!ran.check)
    return;
  size_t width = std::max<size_t>(compilation.name.size(), 4);
  print("\n" + checkHead(width) +
        checkRows(compilation.name, width, compilation.target, *ran.check) + whyNotOk(*ran.check));
  if (std::string sampling = samplingText(*ran.check); !sampling.empty())
    print(sampling + "\n");
}

void printRanJson(const Ran &ran, const Prepared &prepared) {
  nlohmann::ordered_json json = {{"ok", ran.ok()},
                                 {"spec", prepared.compilation.name},
                                 {"target", prepared.compilation.target},
                                 {"shape", ran.extents},
                                 {"milliseconds", ran.result.milliseconds},
                                 {"tier", nameOf(prepared.origin)},
                                 {"compile_seconds", prepared.seconds},
                                 {"ready_seconds", ran.readySeconds}};
  for (const auto &[name, tensor] : ran.result.outputs)
    json["outputs"].push_back(outputJson(name, tensor));
  if (ran.check)
    json["check"] = toJson(*ran.check);
  if (ran.outside)
    json["outside_reads"] = toJson(*ran.outside);
  printJson(json);
}

Target chooseRunTarget(const RunArguments &arguments) {
  if (arguments.interpret)
    return chooseInterpretedTarget(arguments.target);
  if (arguments.target != driver::referenceTarget)
    return chooseRunnableTarget(arguments.target);
  if (arguments.check)
    throw Failure(Usage, "--check would compare the evaluator with itself",
                  "leave it out, or give another target");
  return {driver::referenceTarget, nullptr};
}

Prepared prepareReference(const Spec &spec) {
  Prepared prepared{{}, driver::makeReferenceExecutor(spec)};
  prepared.compilation.name = spec.name;
  prepared.compilation.target = driver::referenceTarget;
  return prepared;
}

/// A program is compiled: what would compile it otherwise comes too late.
void refuseCompiling(const RunArguments &arguments) {
  std::pair<const char *, bool> given[] = {{"--target", !arguments.target.empty()},
                                           {"--schedule", !arguments.schedule.empty()},
                                           {"--memory-budget", !arguments.memoryBudget.empty()},
                                           {"--verify-passes", arguments.verifyPasses},
                                           {"--interpret", arguments.interpret}};
  for (auto [name, is] : given)
    if (is)
      throw Failure(Usage,
                    fmt::format("{} does not apply to {}, which is compiled", name, arguments.spec),
                    "leave it out, or run the spec");
}

ExitCode runSpec(const RunArguments &arguments) {
  auto inputFiles = parseAssignments("--input", arguments.input);
  auto outputFiles = parseAssignments("--output", arguments.output);
  auto shape = parseExtents("--shape", arguments.shape);
  auto params = parseNumbers("--param", arguments.param);
  ScheduleFile schedule = readSchedule(arguments.schedule);
  std::optional<int64_t> budget = readMemoryBudget(arguments.memoryBudget);
  auto start = std::chrono::steady_clock::now();
  LoadedSpec loaded = loadSpecOrProgram(arguments.spec, arguments.changes);
  if (loaded.program)
    refuseCompiling(arguments);
  Target target = loaded.program ? chooseRunnableTarget(loaded.program->manifest.target)
                                 : chooseRunTarget(arguments);
  noteUnused(schedule, target);
  checkParams(*loaded.spec, params);

  Prepared prepared = [&] {
    Progress progress("compiling " + loaded.spec->name + " for " + target.name);
    if (loaded.program)
      return prepare(*std::move(loaded.program), target);
    if (target.name == driver::referenceTarget)
      return prepareReference(loaded.meaning());
    return prepare(*loaded.spec, target, {schedule, arguments.verifyPasses, budget, shape, params});
  }();
  Ran ran;
  ran.readySeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Manifest &manifest = prepared.executor->manifest();
  checkOutputNames(manifest, outputFiles);
  auto given = readInputs(manifest, inputFiles);
  std::vector<GivenShape> shapes;
  for (const auto &[name, tensor] : given)
    shapes.push_back({name, tensor.shape});

  ran.extents = resolveExtents(loaded.meaning(), shape, shapes);
  orFail(driver::checkMemory(manifest, ran.extents, prepared.executor->device()));
  auto inputs =
      evaluator::makeInputs(driver::programOf(loaded.meaning()), ran.extents, arguments.seed);
  if (!inputs)
    throw Failure(Usage, llvm::toString(inputs.takeError()));
  inputs->params = params;
  for (const auto &[name, tensor] : given)
    inputs->tensors[name] = driver::toArray(tensor, manifest.findTensor(name)->dims);

  if (arguments.checkBounds)
    ran.outside = findOutsideReads(loaded.meaning(), *inputs);
  {
    Progress progress("running " + loaded.spec->name + " on " + target.name);
    ran.result =
        runTimed(*prepared.executor, driver::runRequest(manifest, *inputs), arguments.time);
    if (arguments.check)
      ran.check = orFail(driver::checkOutputs(loaded.meaning(), *inputs, ran.result.outputs,
                                              given.empty() ? "random" : "given",
                                              driver::CheckRequest().maxElements,
                                              driver::productUnitOf(manifest)));
  }
  for (const auto &[name, path] : outputFiles)
    writeTensor(name, path, ran.result.outputs.at(name));
  if (ran.outside)
    noteOutsideReads(*ran.outside, /*fails=*/true);
  if (arguments.json)
    printRanJson(ran, prepared);
  else
    printRan(ran, prepared, arguments.time);
  return ran.ok() ? Done : CheckFailed;
}

} // namespace

Command addRunCommand(CLI::App &tool) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App *app = tool.add_subcommand("run", "Compile a spec and run it, or run a program");
  app->add_option("SPEC", arguments->spec, std::string(specHelp) + "; or a program file")
      ->required();
  app->add_option("--target", arguments->target, runTargetHelp)->type_name("TARGET|reference");
  addSpecChanges(*app, arguments->changes);
  addRepeatable(*app, "--shape", arguments->shape,
                "Extents of dynamic dims, e.g. --shape b=2,i=300; else the spec's reference shape");
  addRepeatable(*app, "--param", arguments->param, "Params, e.g. --param scale=0.1");
  addRepeatable(*app, "--input", arguments->input,
                "Inputs from .npy files, e.g. --input q=q.npy; the others are random");
  addRepeatable(*app, "--output", arguments->output,
                "Outputs to .npy files, e.g. --output o=o.npy");
  app->add_option("--seed", arguments->seed, "Seed of random inputs; 1 without it");
  app->add_option("--schedule", arguments->schedule, scheduleHelp)->type_name("FILE");
  addMemoryBudget(*app, arguments->memoryBudget);
  app->add_flag("--check", arguments->check, "Compare every output with the float64 evaluator");
  app->add_flag("--check-bounds", arguments->checkBounds, checkBoundsHelp);
  app->add_flag("--time", arguments->time, "Run it several times and print the median");
  app->add_flag("--verify-passes", arguments->verifyPasses,
                "Evaluate the program before and after each pass; stop at the first difference");
  app->add_flag("--interpret", arguments->interpret, interpretHelp);
  app->add_flag("--json", arguments->json, "The result as JSON on stdout");
  app->footer("Example: attnc run softcap --shape b=1,h=2,i=257,j=513 --check");
  return {app, [arguments] { return runSpec(*arguments); }};
}

} // namespace attnc::cli
