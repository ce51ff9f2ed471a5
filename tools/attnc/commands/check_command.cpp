// attnc check: specs at their reference shape against the float64 evaluator.
#include "compiler/driver/checks/check.h"
#include "kernels_spec/library.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/memory_budget.h"
#include "tools/attnc/input/prepare.h"
#include "tools/attnc/input/schedule_file.h"
#include "tools/attnc/input/shape.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/output/bounds_text.h"
#include "tools/attnc/output/check_text.h"
#include "tools/attnc/output/terminal.h"

#include <filesystem>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

struct CheckArguments {
  std::vector<std::string> specs, targets;
  SpecChanges changes;
  std::string schedule, memoryBudget;
  uint64_t seed = 1;
  bool verifyPasses = false, interpret = false, emulate = false, json = false;
  bool checkBounds = false;
};

/// The targets that are asked for, or the processor and the GPU if there is one.
std::vector<Target> targetsOf(const CheckArguments &arguments) {
  std::vector<Target> targets;
  if (arguments.emulate) {
    for (const std::string &name : arguments.targets)
      targets.push_back(chooseTarget(name));
    if (targets.empty())
      targets = {{"cpu", nullptr}, chooseInterpretedTarget("")};
    return targets;
  }
  for (const std::string &name : arguments.targets)
    targets.push_back(arguments.interpret ? chooseInterpretedTarget(name)
                                          : chooseRunnableTarget(name));
  if (targets.empty() && arguments.interpret)
    targets.push_back(chooseInterpretedTarget(""));
  if (targets.empty()) {
    targets.push_back({"cpu", nullptr});
    if (Target native = chooseTarget(""); !native.isCpu())
      targets.push_back(std::move(native));
  }
  return targets;
}

/// Prints as it goes; remembers how to end.
class Table {
public:
  Table(const CheckArguments &arguments) : json(arguments.json) {
    for (const std::string &spec : arguments.specs)
      width = std::max(width, nameOf(spec).size());
    if (!json)
      print(checkHead(width));
  }

  static std::string nameOf(const std::string &spec) {
    return std::filesystem::path(spec).stem().string();
  }

  void add(const std::string &spec, const std::string &target, const driver::CheckReport &report) {
    least = std::max(least, report.verdict());
    if (json) {
      nlohmann::ordered_json row = {{"spec", nameOf(spec)}, {"target", target}};
      row.update(toJson(report));
      rows.push_back(std::move(row));
      return;
    }
    print(checkRows(nameOf(spec), width, target, report) + whyNotOk(report));
    if (std::string sampling = samplingText(report); !sampling.empty())
      print("    " + sampling + "\n");
  }

  void add(const std::string &spec, const std::string &target, const Failure &failure) {
    worst = std::max(worst, failure.code());
    if (json) {
      nlohmann::ordered_json row = {{"spec", nameOf(spec)}, {"target", target}};
      row.update(failure.toJson());
      rows.push_back(std::move(row));
    } else {
      print(fmt::format("{:<{}}  {:<8}  {}\n", nameOf(spec), width, target,
                        styled("NOT RUN", Style::Red, colourOnStdout())));
    }
    failure.print(colourOnStderr());
  }

  /// Remarks, not failures: random tables are meant to have some values outside.
  void add(const std::string &spec, const std::vector<evaluator::OutsideRead> &reads) {
    noteOutsideReads(reads, /*fails=*/false);
    outside.push_back({{"spec", nameOf(spec)}, {"reads", toJson(reads)}});
  }

  /// A wrong answer is worse than none, and none worse than one that nothing vouches for.
  ExitCode finish() {
    bool failed = least == driver::Verdict::Failed;
    ExitCode code = failed || (worst == Done && least != driver::Verdict::Ok) ? CheckFailed : worst;
    nlohmann::ordered_json all = {
        {"ok", code == Done}, {"exit", static_cast<int>(code)}, {"checks", rows}};
    if (!outside.empty())
      all["outside_reads"] = outside;
    if (json)
      printJson(all);
    return code;
  }

private:
  bool json;
  size_t width = 4;
  driver::Verdict least = driver::Verdict::Ok;
  ExitCode worst = Done;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  nlohmann::ordered_json outside = nlohmann::ordered_json::array();
};

std::vector<evaluator::OutsideRead> checkBounds(const Spec &spec, uint64_t seed) {
  auto inputs = evaluator::makeInputs(driver::programOf(spec), resolveExtents(spec, {}, {}), seed);
  if (!inputs)
    throw Failure(Usage, llvm::toString(inputs.takeError()));
  return findOutsideReads(spec, *inputs);
}

driver::CheckReport checkOne(const LoadedSpec &loaded, const Target &target,
                             const ScheduleFile &schedule, const CheckArguments &arguments) {
  Progress progress("checking " + loaded.spec->name + " on " + target.name);
  checkParams(*loaded.spec, {});
  Prepared prepared = prepare(*loaded.spec, target,
                              {.schedule = schedule,
                               .verifyPasses = arguments.verifyPasses,
                               .memoryBudget = readMemoryBudget(arguments.memoryBudget),
                               .emulated = arguments.emulate});
  driver::CheckRequest request;
  request.extents = resolveExtents(loaded.meaning(), {}, {});
  request.seeds = {arguments.seed};
  return orFail(driver::checkProgram(loaded.meaning(), *prepared.executor, request));
}

ExitCode checkSpecs(CheckArguments arguments) {
  if (arguments.specs.empty())
    for (const LibrarySpec &spec : library())
      arguments.specs.push_back(spec.name);
  ScheduleFile schedule = readSchedule(arguments.schedule);
  readMemoryBudget(arguments.memoryBudget); // wrong usage, not a finding about a spec
  std::vector<Target> targets = targetsOf(arguments);
  for (const Target &target : targets)
    noteUnused(schedule, target);
  Table table(arguments);
  for (const std::string &spec : arguments.specs) {
    std::string target;
    try {
      LoadedSpec loaded = loadSpec(spec, arguments.changes);
      if (arguments.checkBounds)
        table.add(spec, checkBounds(*loaded.spec, arguments.seed));
      for (const Target &one : targets) {
        target = one.name;
        try {
          // Another line than that of the kernels themselves.
          if (arguments.emulate)
            target = "~" + target;
          table.add(spec, target, checkOne(loaded, one, schedule, arguments));
        } catch (const Failure &failure) {
          table.add(spec, target, failure);
        }
      }
    } catch (const Failure &failure) {
      table.add(spec, "", failure);
    }
  }
  return table.finish();
}

} // namespace

Command addCheckCommand(CLI::App &tool) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App *app = tool.add_subcommand(
      "check", "Run specs at their reference shape and compare with the float64 evaluator");
  app->add_option("SPEC", arguments->specs,
                  std::string(specHelp) + "; without any, the whole library");
  addRepeatable(*app, "--target", arguments->targets,
                "May be given several times; without it the CPU and the GPU if there is one");
  addSpecChanges(*app, arguments->changes);
  app->add_option("--seed", arguments->seed, "Seed of the inputs; 1 without it");
  app->add_option("--schedule", arguments->schedule, scheduleHelp)->type_name("FILE");
  addMemoryBudget(*app, arguments->memoryBudget);
  app->add_flag("--verify-passes", arguments->verifyPasses,
                "Also evaluate the program before and after each pass");
  app->add_flag("--check-bounds", arguments->checkBounds,
                std::string(checkBoundsHelp) + "; random tables have a few values outside");
  CLI::Option *interpret = app->add_flag("--interpret", arguments->interpret, interpretHelp);
  app->add_flag("--emulate", arguments->emulate,
                "Instead of the kernels, evaluate what they compute in emulated f32, operands "
                "rounded as scheduled (targets with a ~): what fails here fails by its arithmetic, "
                "not by a bug")
      ->excludes(interpret);
  app->add_flag("--json", arguments->json, "The table as JSON on stdout");
  app->footer(
      "Example: attnc check causal alibi my_variant.json --target cpu\n"
      "Inputs are random, and random with one planted key that carries the weight.\n"
      "A result is undecided where f32 may lose as much as it is large; that is not ok either.\n"
      "An error is shown beside the tolerance that the evaluator derives for that element.");
  return {app, [arguments] { return checkSpecs(*arguments); }};
}

} // namespace attnc::cli
