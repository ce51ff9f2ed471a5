#include "tools/attnc/input/warm_list.h"
#include "compiler/jit/open_program.h"
#include "tools/attnc/input/memory_budget.h"
#include "tools/attnc/input/schedule_file.h"
#include "tools/attnc/input/spec_options.h"
#include "tools/attnc/output/terminal.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <thread>

namespace attnc::cli {

namespace {

struct Line {
  std::string text, spec, target, schedule, memoryBudget;
  std::vector<std::string> set;
};

/// What became of a line.
struct Outcome {
  std::string source, error; ///< one of them is empty
  double seconds = 0;
};

Line parseLine(const std::string &text, const std::string &place) {
  Line line;
  line.text = text;
  CLI::App app;
  app.set_help_flag();
  app.add_option("SPEC", line.spec)->required();
  app.add_option("--target", line.target)->required();
  addRepeatable(app, "--set", line.set, "");
  app.add_option("--schedule", line.schedule);
  addMemoryBudget(app, line.memoryBudget);
  try {
    app.parse(text);
  } catch (const CLI::ParseError &error) {
    throw Failure(Usage, fmt::format("{}: {}", place, error.what()),
                  "a line is SPEC --target TARGET, with --set, --schedule and --memory-budget as "
                  "of attnc compile");
  }
  return line;
}

std::vector<Line> readList(const std::string &file) {
  std::ifstream stream(file);
  if (!stream)
    throw Failure(Environment, fmt::format("{} cannot be read: {}", file, std::strerror(errno)),
                  "check the path and its permissions");
  std::vector<Line> lines;
  int number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    text.resize(std::min(text.find('#'), text.size()));
    text.erase(text.find_last_not_of(" \t\r") + 1);
    if (!text.empty())
      lines.push_back(parseLine(text, fmt::format("{}:{}", file, number)));
  }
  return lines;
}

ReadyProgram compileLine(const Line &line) {
  Target target = chooseCompiledTarget(line.target);
  ScheduleFile schedule = readSchedule(line.schedule);
  LoadedSpec loaded = loadSpec(line.spec, {line.set});
  schedule::TuningDatabase tuned; // what this machine has measured, others do not ask for
  schedule::addBuiltinTuning(tuned);
  driver::CompileOptions options;
  options.target = target.name;
  options.keepTexts = false;
  options.memoryBudget = readMemoryBudget(line.memoryBudget);
  options.images = imagesFor(target);
  options.tuned = &tuned;
  ReadyProgram ready = compileReady(*loaded.spec, std::move(options), schedule);
  orFail(warmUp(ready.compilation), Internal); // what waits for its first use has images too
  return ready;
}

Outcome warm(const Line &line) {
  try {
    ReadyProgram ready = compileLine(line);
    return {cache::nameOf(ready.source), "", ready.seconds};
  } catch (const Failure &failure) {
    return {"", failure.what()};
  }
}

void report(const std::vector<Line> &lines, const std::vector<Outcome> &outcomes, bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  bool isOk = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Outcome &outcome = outcomes[i];
    isOk &= outcome.error.empty();
    if (!json)
      print(
          outcome.error.empty()
              ? fmt::format("{:<8} {:6.2f} s  {}\n", outcome.source, outcome.seconds, lines[i].text)
              : fmt::format("failed           {}\n  {}\n", lines[i].text, outcome.error));
    else if (outcome.error.empty())
      all.push_back(
          {{"line", lines[i].text}, {"tier", outcome.source}, {"seconds", outcome.seconds}});
    else
      all.push_back({{"line", lines[i].text}, {"error", outcome.error}});
  }
  if (json)
    printJson({{"ok", isOk}, {"programs", all}});
}

} // namespace

ExitCode warmList(const std::string &file, int jobs, bool json) {
  std::vector<Line> lines = readList(file);
  std::vector<Outcome> outcomes(lines.size());
  std::atomic<size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < jobs; ++i)
      threads.emplace_back([&] {
        for (size_t line; (line = next++) < lines.size();)
          outcomes[line] = warm(lines[line]);
      });
  }
  report(lines, outcomes, json);
  bool failed = std::any_of(outcomes.begin(), outcomes.end(),
                            [](const Outcome &outcome) { return !outcome.error.empty(); });
  return failed ? CheckFailed : Done;
}

} // namespace attnc::cli
