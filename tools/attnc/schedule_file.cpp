#include "tools/attnc/schedule_file.h"
#include "compiler/frontend/json_source.h"
#include "tools/attnc/failure.h"
#include "tools/attnc/terminal.h"

#include "llvm/ADT/StringExtras.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace attnc::cli {

const char *const scheduleHelp =
    "JSON file with overrides of the schedule; the target cpu has none and passes it over";

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

/// What stands at a syntax error: the character there, or the end of the line or of the file.
std::string unexpectedAt(const Diagnostic &error, const SourceFile &source) {
  llvm::StringRef rest = llvm::StringRef(error.expression).drop_front(error.caretOffset);
  if (rest.empty())
    return error.line > source.text().count('\n') ? "the file ends too early"
                                                  : "a string ends on the line that it begins on";
  if (static_cast<unsigned char>(rest.front()) < ' ')
    return fmt::format("the character {:#04x} cannot stand here", rest.front());
  // All bytes of a character beyond ASCII.
  size_t length = 1;
  while (length < rest.size() && (rest[length] & 0xC0) == 0x80)
    ++length;
  return fmt::format("{} cannot stand here", rest.take_front(length).str());
}

/// The findings of the parser, which serves specs as well, in words for a schedule file.
Diagnostics readable(const Diagnostics &found, const SourceFile &source) {
  Diagnostics result;
  for (Diagnostic error : found.all()) {
    if (llvm::StringRef(error.message).starts_with("not valid JSON")) {
      error.message = "not JSON: " + unexpectedAt(error, source);
      llvm::StringRef rest = llvm::StringRef(error.expression).drop_front(error.caretOffset);
      if (rest.starts_with("'") || (!rest.empty() && llvm::isAlpha(rest.front())))
        error.remedy = "keys and texts are in double quotes";
    } else if (llvm::StringRef(error.message).starts_with("JSON nested")) {
      error.remedy = "a schedule file needs two";
    }
    result.add(std::move(error));
  }
  return result;
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
    throw Failure(Usage, readable(diagnostics, source));
  if (json->kind != JsonValue::Object)
    throw Failure(Usage, fmt::format("schedule {}: it is {}, not an object of keys", path,
                                     kindName(json->kind).str()));
  return {path, json->toJson()};
}

void noteUnused(const ScheduleFile &file, const Target &target) {
  if (!file.path.empty() && target.isCpu())
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
  return orFail(std::move(compiled), SpecErrors);
}

} // namespace attnc::cli
