#include "tools/attnc/input/schedule_file.h"
#include "compiler/frontend/text/json_source.h"
#include "compiler/schedule/choice/cpu_tiles.h"
#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/terminal.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace attnc::cli {

const char *const scheduleHelp =
    "JSON file with overrides of the schedule; the target cpu takes tiles, of the form cpu";

namespace {

std::string readAll(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Failure(Usage, fmt::format("--schedule: '{}' is not a file", path));
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw Failure(Environment, fmt::format("--schedule: '{}' cannot be read", path),
                  "check its permissions");
  return text;
}

// The keys that the target cpu passes over: it takes those of one form, and how streams are folded.
std::vector<std::string> unusedByCpu(const nlohmann::json &keys) {
  std::vector<std::string> unused;
  bool isForCpu = schedule::isForCpu(keys);
  for (const auto &[key, value] : keys.items())
    if (value.is_object())
      for (const std::string &inner : unusedByCpu(value))
        unused.push_back(key + "." + inner);
    else if (!isForCpu && key != "fold" && key != "splits")
      unused.push_back(key);
  return unused;
}

void noteUnusedByCpu(const nlohmann::json &keys, const std::string &subject) {
  if (std::vector<std::string> unused = unusedByCpu(keys); !unused.empty())
    note(fmt::format("the target cpu does not use {} of {}", fmt::join(unused, ", "), subject));
}

/// An error of compilation; what is said of schedules names the file, or the place in the spec.
Failure scheduleFailure(const Spec &spec, const ScheduleFile &file, const Error &error) {
  // They begin with this word, wherever the schedule is from.
  constexpr std::string_view subject = "schedule: ";
  bool isOfSchedule =
      error.kind == ErrorKind::InvalidArgument && error.message.starts_with(subject);
  if (!isOfSchedule || (file.path.empty() && spec.schedule.empty()))
    return {exitCodeOf(error, SpecErrors), error.message, error.remedy};
  std::string what = error.message.substr(subject.size());
  if (!file.path.empty() && spec.schedule.empty())
    return {Usage, fmt::format("schedule {}: {}", file.path, what), error.remedy};
  if (!file.path.empty())
    return {SpecErrors, fmt::format("schedule {}, with that of the spec: {}", file.path, what),
            error.remedy};
  Diagnostic found = spec.schedulePlace;
  found.message = error.message;
  found.remedy = error.remedy;
  Diagnostics diagnostics;
  diagnostics.add(found);
  return Failure(std::move(diagnostics));
}

} // namespace

ScheduleFile readSchedule(const std::string &path) {
  if (path.empty())
    return {};
  std::string text = readAll(path);
  SourceFile source(path, text);
  Diagnostics diagnostics;
  std::optional<JsonValue> json = parseJson(source, diagnostics);
  if (!json)
    throw Failure(Usage, std::move(diagnostics));
  if (json->kind != JsonValue::Object)
    throw Failure(Usage, fmt::format("schedule {}: it is {}, not an object of keys", path,
                                     kindName(json->kind).str()));
  return {path, json->toJson()};
}

void noteUnused(const ScheduleFile &file, const Target &target) {
  if (!file.path.empty() && target.isCpu())
    noteUnusedByCpu(file.keys, file.path);
}

/// What is said of the processor's code, the same of all kernels.
static std::string notesOnCpu(const driver::Compilation &compilation) {
  const std::vector<KernelDecl> &kernels = compilation.program.manifest.kernels;
  return compilation.target == "cpu" && !kernels.empty() ? kernels.front().notes : "";
}

static std::string notesOnCpu(const ReadyProgram &ready) { return notesOnCpu(ready.compilation); }

/// `compile` takes the spec and the options.
template <typename Compile>
static auto compiledBy(Compile &&compile, const Spec &spec, driver::CompileOptions options,
                       const ScheduleFile &file) {
  options.schedule = file.keys;
  auto compiled = compile(spec, options);
  if (!compiled)
    throw scheduleFailure(spec, file, compiled.error());
  if (std::string notes = notesOnCpu(*compiled); !notes.empty())
    note(fmt::format("{} is compiled {}", spec.name, notes));
  if (options.target == "cpu")
    noteUnusedByCpu(spec.schedule, "the `schedule` of " + spec.name);
  return *std::move(compiled);
}

driver::Compilation compileScheduled(const Spec &spec, driver::CompileOptions options,
                                     const ScheduleFile &file) {
  return compiledBy(driver::compile, spec, std::move(options), file);
}

ReadyProgram compileReady(const Spec &spec, driver::CompileOptions options,
                          const ScheduleFile &file, bool isStored) {
  std::shared_ptr<cache::Store> store = isStored ? cache::Store::ofUser() : nullptr;
  auto compile = [&](const Spec &checked, const driver::CompileOptions &asked) {
    return compileProgram(checked, asked, store.get());
  };
  return compiledBy(compile, spec, std::move(options), file);
}

} // namespace attnc::cli
