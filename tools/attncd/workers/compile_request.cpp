#include "tools/attncd/workers/compile_request.h"

#include "compiler/frontend/text/json_source.h"
#include "compiler/frontend/text/suggest.h"
#include "compiler/schedule/model/gpu_model.h"
#include "kernels_spec/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc::service {

namespace {

constexpr std::size_t maxNameBytes = 4096;
constexpr std::size_t mostShown = 100; // of a name that there is not, in an error

Error wrong(std::string_view member, const std::string &what, std::string remedy = {}) {
  return invalidArgument(fmt::format("{}: {}", member, what), std::move(remedy));
}

Status expect(std::string_view member, const JsonValue &value, JsonValue::Kind kind) {
  if (value.kind == kind)
    return {};
  return wrong(member, fmt::format("this is {} and has to be {}", kindName(value.kind).str(),
                                   kindName(kind).str()));
}

Status readText(std::string_view member, const JsonValue &value, std::size_t maxBytes,
                std::string &text) {
  if (Status status = expect(member, value, JsonValue::String); !status)
    return status;
  if (value.text.size() > maxBytes)
    return wrong(member,
                 fmt::format("{} bytes are too many, it may have {}", value.text.size(), maxBytes));
  text = value.text;
  return {};
}

//===--- members ----------------------------------------------------------------------------===//

Status readBuild(const JsonValue &value, CompileRequest &request) {
  return readText("build", value, maxNameBytes, request.build);
}

Status readName(const JsonValue &value, CompileRequest &request) {
  return readText("name", value, maxNameBytes, request.name);
}

Status readSpecText(const JsonValue &value, CompileRequest &request) {
  return readText("text", value, maxSpecBytes, request.text);
}

Status readLibrarySpec(const JsonValue &value, CompileRequest &request) {
  std::string name;
  if (Status status = readText("spec", value, mostShown, name); !status)
    return status;
  const LibrarySpec *spec = findInLibrary(name);
  if (!spec)
    return wrong("spec", fmt::format("there is no '{}' in the library", name),
                 didYouMean(name, libraryNames(), "GET /v1/specs lists it"));
  request.text = spec->text;
  if (request.name.empty())
    request.name = spec->name + ".json";
  return {};
}

Status readTarget(const JsonValue &value, CompileRequest &request) {
  if (Status status = readText("target", value, mostShown, request.target); !status)
    return status;
  if (request.target == "cpu")
    return wrong("target", "code for the cpu depends on the processor that runs it",
                 "compile it where it runs");
  if (schedule::findGpuModel(request.target))
    return {};
  std::vector<std::string> known;
  for (const schedule::GpuModel &machine : schedule::gpuModels())
    known.push_back(machine.name.str());
  return wrong(
      "target", fmt::format("there is no target '{}'", request.target),
      didYouMean(request.target, known, fmt::format("the targets are {}", fmt::join(known, ", "))));
}

Status readSet(const JsonValue &value, CompileRequest &request) {
  if (Status status = expect("set", value, JsonValue::Object); !status)
    return status;
  for (const JsonMember &member : value.members)
    if (Status status = readText(fmt::format("set.{}", member.key.substr(0, mostShown)),
                                 member.value, maxNameBytes, request.overrides.values[member.key]);
        !status)
      return status;
  return {};
}

Status readSchedule(const JsonValue &value, CompileRequest &request) {
  if (Status status = expect("schedule", value, JsonValue::Object); !status)
    return status;
  request.schedule = nlohmann::json(value.toJson());
  return {};
}

Status readTuningFile(const std::string &place, const JsonValue &value, CompileRequest &request) {
  if (Status status = expect(place, value, JsonValue::Object); !status)
    return status;
  std::string origin, text;
  for (const JsonMember &member : value.members) {
    bool isOrigin = member.key == "origin";
    if (!isOrigin && member.key != "text")
      return wrong(place, fmt::format("there is no '{}'", member.key.substr(0, mostShown)),
                   "it has origin and text");
    if (Status status = readText(place + "." + member.key, member.value,
                                 isOrigin ? maxNameBytes : maxSpecBytes, isOrigin ? origin : text);
        !status)
      return status;
  }
  Result<schedule::TuningFile> file = schedule::parseTuningFile(text);
  if (!file)
    return wrong(place + ".text", file.error().message, file.error().remedy);
  request.tuned.add(origin, *std::move(file));
  return {};
}

Status readTuned(const JsonValue &value, CompileRequest &request) {
  if (Status status = expect("tuned", value, JsonValue::Array); !status)
    return status;
  for (std::size_t i = 0; i < value.elements.size(); ++i)
    if (Status status = readTuningFile(fmt::format("tuned[{}]", i), value.elements[i], request);
        !status)
      return status;
  return {};
}

Status readMemoryBudget(const JsonValue &value, CompileRequest &request) {
  if (Status status = expect("memory_budget", value, JsonValue::Integer); !status)
    return status;
  if (value.integer < 0)
    return wrong("memory_budget", fmt::format("{} bytes are no budget", value.integer));
  request.memoryBudget = value.integer;
  return {};
}

Status readKeepTexts(const JsonValue &value, CompileRequest &request) {
  if (Status status = expect("keep_texts", value, JsonValue::Bool); !status)
    return status;
  request.keepTexts = value.boolean;
  return {};
}

struct Member {
  const char *name;
  Status (*read)(const JsonValue &value, CompileRequest &request);
};

/// In the order in which they are read: a name before what it may be the name of.
constexpr Member members[] = {
    {"build", readBuild},          {"name", readName},     {"text", readSpecText},
    {"spec", readLibrarySpec},     {"target", readTarget}, {"set", readSet},
    {"schedule", readSchedule},    {"tuned", readTuned},   {"memory_budget", readMemoryBudget},
    {"keep_texts", readKeepTexts},
};

//===--- the whole --------------------------------------------------------------------------===//

Status checkNames(const JsonValue &json) {
  std::vector<std::string> known;
  for (const Member &member : members)
    known.push_back(member.name);
  for (const JsonMember &given : json.members)
    if (std::find(known.begin(), known.end(), given.key) == known.end()) {
      std::string shown = given.key.substr(0, mostShown);
      return wrong(shown, "a request has no such member",
                   didYouMean(shown, known, fmt::format("it has {}", fmt::join(known, ", "))));
    }
  if (!json.find("target"))
    return wrong("target", "it is missing", "name the GPU's architecture, for example sm_90a");
  if (!json.find("text") == !json.find("spec"))
    return wrong(json.find("text") ? "text, spec" : "text",
                 json.find("text") ? "there are both" : "it is missing",
                 "give the text of a spec as text, or a name of the library as spec");
  return {};
}

Result<JsonValue> parse(std::string_view text) {
  if (text.size() > maxRequestBytes)
    return invalidArgument(
        fmt::format("the request has {} bytes, and may have {}", text.size(), maxRequestBytes));
  SourceFile file("<request>", text);
  Diagnostics diagnostics;
  std::optional<JsonValue> json = parseJson(file, diagnostics);
  if (!json) {
    const Diagnostic &first = diagnostics.all().front();
    return invalidArgument(fmt::format("the request is not JSON: line {}, column {}: {}",
                                       first.line, first.column, first.message),
                           first.remedy);
  }
  if (json->kind != JsonValue::Object)
    return invalidArgument(
        fmt::format("the request is {}, not an object", kindName(json->kind).str()));
  return *std::move(json);
}

} // namespace

Result<CompileRequest> readCompileRequest(std::string_view text) {
  Result<JsonValue> json = parse(text);
  if (!json)
    return json.error();
  if (Status status = checkNames(*json); !status)
    return status.error();
  CompileRequest request;
  for (const Member &member : members)
    if (const JsonValue *value = json->find(member.name))
      if (Status status = member.read(*value, request); !status)
        return status.error();
  if (request.name.empty())
    request.name = "<text>";
  if (!json->find("tuned"))
    schedule::addBuiltinTuning(request.tuned);
  return request;
}

driver::CompileOptions CompileRequest::options() const {
  driver::CompileOptions options;
  options.target = target;
  options.schedule = schedule;
  options.tuned = &tuned;
  options.keepTexts = keepTexts;
  options.memoryBudget = memoryBudget;
  return options;
}

} // namespace attnc::service
