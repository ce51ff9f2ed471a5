#include "tools/attnc/schedule_file.h"
#include "compiler/frontend/json_source.h"
#include "tools/attnc/failure.h"
#include "tools/attnc/terminal.h"

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

// The target cpu takes the keys of one form only, and how streams are folded.
bool serveCpu(const nlohmann::json &keys) {
  if (!keys.is_object())
    return false;
  if (auto form = keys.find("form"); form != keys.end() && *form == "cpu")
    return true;
  return std::any_of(keys.begin(), keys.end(), [](const auto &value) { return serveCpu(value); });
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
  if (!file.path.empty() && target.isCpu() && !serveCpu(file.keys))
    note(fmt::format("the target cpu has no schedules: {} is not used", file.path));
}

driver::Compilation compileScheduled(const Spec &spec, driver::CompileOptions options,
                                     const ScheduleFile &file) {
  options.schedule = file.keys;
  Result<driver::Compilation> compiled = driver::compile(spec, options);
  // What is said of schedules begins with this word, wherever they are from.
  constexpr std::string_view subject = "schedule: ";
  if (!compiled && !file.path.empty() && compiled.error().kind == ErrorKind::InvalidArgument &&
      compiled.error().message.starts_with(subject)) {
    const Error &error = compiled.error();
    std::string what = error.message.substr(subject.size());
    if (spec.schedule.empty())
      throw Failure(Usage, fmt::format("schedule {}: {}", file.path, what), error.remedy);
    throw Failure(SpecErrors,
                  fmt::format("schedule {}, with that of the spec: {}", file.path, what),
                  error.remedy);
  }
  driver::Compilation compilation = orFail(std::move(compiled), SpecErrors);
  if (options.target == "cpu" && !spec.schedule.empty() && !serveCpu(spec.schedule))
    note(fmt::format("the target cpu has no schedules: the `schedule` of {} is not used",
                     spec.name));
  return compilation;
}

} // namespace attnc::cli
