// attnc tune: measures schedules on the GPU and remembers the fastest.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/memory_check.h"
#include "compiler/driver/tune.h"
#include "compiler/explain/facts.h"
#include "compiler/schedule/choice/tuning_update.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/assignments.h"
#include "tools/attnc/input/prepare.h"
#include "tools/attnc/input/shape.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/input/tuned_schedules.h"
#include "tools/attnc/output/terminal.h"
#include "tools/attnc/output/timing_turn.h"

#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::Measured;
using driver::NestCandidates;

struct TuneArguments {
  std::string spec, target, database;
  SpecChanges changes;
  std::vector<std::string> shape, param;
  int64_t top = 8;
  bool json = false;
};

/// Compiles and measures one spec with different schedules on one GPU.
class Bench {
public:
  Bench(const LoadedSpec &loaded, const Target &target, std::map<std::string, int64_t> extents,
        const std::map<std::string, double> &params)
      : spec(*loaded.spec), target(target), images(imagesFor(target)), extents(std::move(extents)),
        params(params) {
    auto made = evaluator::makeInputs(driver::programOf(spec), this->extents, /*seed=*/1);
    if (!made)
      throw Failure(Usage, llvm::toString(made.takeError()));
    inputs = std::move(*made);
    inputs.params = params;
  }

  /// The time of the program under a schedule file's content. It must be right first: at the spec's
  /// reference shape, where the evaluator is quick.
  Result<double> measure(const nlohmann::json &schedule) const {
    driver::CompileOptions options;
    options.target = target.name;
    options.schedule = schedule;
    options.images = images;
    Result<driver::Compilation> compiled = driver::compile(spec, options);
    if (!compiled)
      return compiled.error();
    for (const driver::NestReport &nest : compiled->nests)
      if (nest.resources && (nest.resources->spillStores || nest.resources->spillLoads))
        return compilationError(fmt::format("{} spills", nest.kernel));
    Result<std::unique_ptr<driver::Executor>> executor =
        driver::makeExecutor(*compiled, target.device);
    if (!executor)
      return executor.error();
    if (Status right = check(**executor); !right)
      return right.error();
    return time(**executor);
  }

private:
  Status check(const driver::Executor &executor) const {
    driver::CheckRequest request;
    request.extents = resolveExtents(spec, {}, {});
    request.params = params;
    Result<driver::CheckReport> report = driver::checkProgram(spec, executor, request);
    if (!report)
      return report.error();
    for (const driver::OutputCheck &output : report->outputs)
      if (output.verdict() == driver::Verdict::Failed)
        return internalError("wrong: " + output.why());
    return {};
  }

  Result<double> time(const driver::Executor &executor) const {
    TimingTurn turn;
    driver::RunRequest request = driver::runRequest(executor.manifest(), inputs);
    Result<driver::RunResult> first = executor.run(request);
    if (!first)
      return first.error();
    request.warmup = 3;
    request.repeat =
        static_cast<unsigned>(std::clamp(300 / std::max(first->milliseconds, 1e-3), 5.0, 200.0));
    Result<driver::RunResult> timed = executor.run(request);
    if (!timed)
      return timed.error();
    return timed->milliseconds;
  }

  const Spec &spec;
  const Target &target;
  std::shared_ptr<const ImageCompiler> images;
  std::map<std::string, int64_t> extents;
  const std::map<std::string, double> &params;
  evaluator::EvalInputs inputs;
};

std::string predictedText(const driver::TuningCandidate &candidate) {
  return candidate.share ? fmt::format("{:.1f} %", 100 * *candidate.share) : "-";
}

void printTable(const NestCandidates &nest, const std::vector<Measured> &all) {
  const Measured *best = driver::fastest(all);
  print(fmt::format("{}\n", nest.kernel));
  print(styled(fmt::format("  {:<60} {:>9} {:>12}\n", "schedule", "predicted", "measured"),
               Style::Bold, colourOnStdout()));
  for (const Measured &one : all) {
    std::string time = one.milliseconds ? fmt::format("{:.4f} ms", *one.milliseconds) : "no time";
    print(fmt::format("  {:<60} {:>9} {:>12}{}\n", driver::describeSchedule(one.candidate.schedule),
                      predictedText(one.candidate), time, &one == best ? "  <- stored" : ""));
    if (!one.why.empty())
      print(fmt::format("    {}\n", one.why));
  }
}

nlohmann::ordered_json tableJson(const NestCandidates &nest, const std::vector<Measured> &all) {
  auto rows = nlohmann::ordered_json::array();
  for (const Measured &one : all) {
    nlohmann::ordered_json row = {{"schedule", one.candidate.schedule}};
    if (one.candidate.share)
      row["predicted_share"] = *one.candidate.share;
    if (one.candidate.clocks)
      row["predicted_clocks"] = *one.candidate.clocks;
    if (one.milliseconds)
      row["milliseconds"] = *one.milliseconds;
    else
      row["why"] = one.why;
    rows.push_back(row);
  }
  nlohmann::ordered_json json = {{"kernel", nest.kernel}, {"key", nest.key}, {"candidates", rows}};
  if (const Measured *best = driver::fastest(all))
    json["winner"] = best->candidate.schedule;
  return json;
}

/// What to add to: what is there, or a new file. Error (InvalidArgument): it is of another device.
Result<schedule::TuningFile> fileFor(const DeviceProperties &device, const std::string &path,
                                     std::optional<schedule::TuningFile> old) {
  if (!old)
    return schedule::TuningFile{device.name, device.multiprocessors, {}};
  if (old->device != device.name || old->multiprocessors != device.multiprocessors)
    return invalidArgument(fmt::format("{} is of another device: {} with {} multiprocessors", path,
                                       old->device, old->multiprocessors),
                           "name another file with --database");
  return *std::move(old);
}

schedule::TunedSchedule entryOf(const NestCandidates &nest, const Measured &best,
                                const Target &target, const std::map<std::string, int64_t> &shape) {
  int driver = target.device->properties().driverVersion;
  return {nest.key,
          target.name,
          nest.kernel,
          best.candidate.schedule,
          *best.milliseconds,
          shape,
          fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                         std::chrono::system_clock::now()))),
          fmt::format("{}.{}", driver / 1000, driver % 1000 / 10)};
}

/// Measures one nest's candidates while the others' schedules are `fixed`.
std::vector<Measured> measureNest(const NestCandidates &nest, const nlohmann::json &fixed,
                                  const Bench &bench) {
  ProgressBar bar(nest.candidates.size());
  return driver::measureAll(
      nest.candidates,
      [&](const nlohmann::json &schedule) {
        nlohmann::json all = fixed;
        all[nest.kernel] = schedule;
        return bench.measure(all);
      },
      [&](size_t i) {
        bar.show(i, nest.kernel + ": " + driver::describeSchedule(nest.candidates[i].schedule));
      });
}

/// Before anything large is made.
void checkMemory(const Spec &spec, const Target &target,
                 const std::map<std::string, int64_t> &extents) {
  driver::CompileOptions options;
  options.target = target.name;
  options.upTo = driver::Stage::Tile;
  driver::Compilation compilation = orFail(driver::compile(spec, options), SpecErrors);
  orFail(driver::checkMemory(compilation.program.manifest, extents, target.device.get()));
}

ExitCode tuneSpec(const TuneArguments &arguments) {
  auto shape = parseExtents("--shape", arguments.shape);
  auto params = parseNumbers("--param", arguments.param);
  if (arguments.top < 1)
    throw Failure(Usage, fmt::format("--top is at least 1, not {}", arguments.top));
  Target target = chooseRunnableTarget(arguments.target);
  if (target.isCpu())
    throw Failure(Environment, "attnc tune needs a GPU: it measures kernels",
                  "see `attnc doctor`; `attnc explain` shows what the cost model predicts");
  LoadedSpec loaded = loadSpec(arguments.spec, arguments.changes);
  if (!loaded.spec->grad.empty())
    note("the forward program is tuned, the backward program is not");
  loaded.spec->grad.clear();
  checkParams(*loaded.spec, params);
  auto extents = resolveExtents(*loaded.spec, shape, {});
  if (shape.empty())
    note(fmt::format("measuring at the reference shape, {}; --shape says another",
                     shapeText(extents)));
  const DeviceProperties &device = target.device->properties();
  std::string path = arguments.database.empty() ? userTuningFile(device) : arguments.database;
  if (path.empty())
    throw Failure(Environment, "there is no folder for the tuning database: HOME is not set",
                  "name a file with --database");
  // A damaged one is an error before anything is measured, since writing would lose it.
  orFail(fileFor(device, path, orFail(schedule::loadTuningFile(path))));

  auto nests = orFail(
      driver::tuningCandidates(*loaded.spec, target.name, static_cast<size_t>(arguments.top)));
  checkMemory(*loaded.spec, target, extents);
  Bench bench(loaded, target, extents, params);
  nlohmann::json fixed = nlohmann::json::object();
  auto tables = nlohmann::ordered_json::array();
  std::vector<schedule::TunedSchedule> winners;
  for (const NestCandidates &nest : nests) {
    if (nest.candidates.empty())
      continue;
    std::vector<Measured> all = measureNest(nest, fixed, bench);
    if (arguments.json)
      tables.push_back(tableJson(nest, all));
    else
      printTable(nest, all);
    const Measured *best = driver::fastest(all);
    if (!best)
      continue;
    fixed[nest.kernel] = best->candidate.schedule;
    winners.push_back(entryOf(nest, *best, target, extents));
  }
  const bool found = !winners.empty();
  if (found)
    orFail(schedule::changeTuningFile(path, [&](std::optional<schedule::TuningFile> old) {
      Result<schedule::TuningFile> file = fileFor(device, path, std::move(old));
      for (const schedule::TunedSchedule &winner : winners)
        if (file)
          file->put(winner);
      return file;
    }));
  if (arguments.json)
    printJson({{"ok", found},
               {"device", device.name},
               {"shape", extents},
               {"database", path},
               {"kernels", tables}});
  else if (found)
    note(fmt::format("stored in {}", path));
  if (!found && !arguments.json)
    note("nothing was stored: no schedule has a time");
  return found ? Done : CheckFailed;
}

} // namespace

Command addTuneCommand(CLI::App &tool) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App *app = tool.add_subcommand(
      "tune", "Measure the best schedules by prediction and remember the fastest");
  app->add_option("SPEC", arguments->spec, specHelp)->required();
  app->add_option("--target", arguments->target, targetHelp)->type_name("TARGET");
  addSpecChanges(*app, arguments->changes);
  addRepeatable(*app, "--shape", arguments->shape,
                "Extents of dynamic dims to measure at; else the spec's reference shape");
  addRepeatable(*app, "--param", arguments->param, "Params, e.g. --param scale=0.1");
  app->add_option("--top", arguments->top, "How many schedules to measure; 8 without it");
  app->add_option("--database", arguments->database,
                  "JSON file to store the winners in; else the user's for this GPU")
      ->type_name("FILE");
  app->add_flag("--json", arguments->json, "The table as JSON on stdout");
  app->footer("Example: attnc tune causal --set d=128,e=128 --shape b=4,h=16,i=4096,j=4096\n"
              "Each schedule is first checked against the float64 evaluator at the reference "
              "shape.\n"
              "The commands that compile use what is stored; --schedule comes before it.");
  return {app, [arguments] { return tuneSpec(*arguments); }};
}

} // namespace attnc::cli
