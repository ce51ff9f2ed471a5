#include "tools/explorer/command_request.h"

#include "compiler/frontend/text/lexer.h"
#include "compiler/frontend/text/suggest.h"
#include "tools/attnc/output/emit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace attnc::explorer {

namespace {

using Json = nlohmann::ordered_json;
constexpr int maxDepth = 16;

Error wrong(std::string_view member, std::string_view what) {
  return invalidArgument(fmt::format("'{}' has to be {}", member, what));
}

/// A word that cannot be taken for an option: of letters, digits and _.
bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

using Read = Status (*)(std::string_view name, const Json &value, CommandRequest &request);

Status readSpec(std::string_view name, const Json &value, CommandRequest &request) {
  if (!value.is_string())
    return wrong(name, "the text of a spec");
  request.spec = value;
  return {};
}

Status readWord(std::string_view name, const Json &value, CommandRequest &request) {
  if (!value.is_string() || !isWord(value.get<std::string_view>()))
    return wrong(name, "one word");
  request.arguments.insert(request.arguments.end(), {fmt::format("--{}", name), value});
  return {};
}

Status readWords(std::string_view name, const Json &value, CommandRequest &request) {
  std::string text = value.is_string() ? value.get<std::string>() : "-";
  std::replace(text.begin(), text.end(), ',', '_');
  if (!isWord(text))
    return wrong(name, "names with commas between them");
  request.arguments.insert(request.arguments.end(), {fmt::format("--{}", name), value});
  return {};
}

Status readSeed(std::string_view name, const Json &value, CommandRequest &request) {
  if (!value.is_number_unsigned())
    return wrong(name, "a whole number");
  request.arguments.insert(request.arguments.end(), {fmt::format("--{}", name), value.dump()});
  return {};
}

Status readEmit(std::string_view name, const Json &value, CommandRequest &request) {
  if (Status status = readWord(name, value, request); !status)
    return status;
  if (cli::knowsLines(value.get<std::string>()))
    request.arguments.emplace_back("--lines");
  return {};
}

Status readFlag(std::string_view name, const Json &value, CommandRequest &request) {
  if (!value.is_boolean())
    return wrong(name, "true or false");
  if (value)
    request.arguments.push_back(fmt::format("--{}", name));
  return {};
}

Status readAssignments(std::string_view name, const Json &value, CommandRequest &request) {
  constexpr const char *what = "an object of numbers and words by name";
  if (!value.is_object())
    return wrong(name, what);
  for (const auto &[key, of] : value.items()) {
    if (!isIdentifier(key) || !(of.is_number() || of.is_string()))
      return wrong(name, what);
    request.arguments.insert(
        request.arguments.end(),
        {fmt::format("--{}", name),
         fmt::format("{}={}", key, of.is_string() ? of.get<std::string>() : of.dump())});
  }
  return {};
}

Status readSchedule(std::string_view name, const Json &value, CommandRequest &request) {
  if (!value.is_object())
    return wrong(name, "the object of a schedule file");
  request.schedule = value.dump(2);
  request.arguments.insert(request.arguments.end(), {"--schedule", scheduleFile});
  return {};
}

struct Member {
  std::string_view name;
  Read read;
  std::string_view commands; ///< that know it
};

constexpr std::string_view all = "compile explain check run";
constexpr Member members[] = {
    {"spec", readSpec, all},
    {"target", readWord, all},
    {"set", readAssignments, all},
    {"grad", readWords, all},
    {"schedule", readSchedule, all},
    {"emit", readEmit, "compile"},
    {"shape", readAssignments, "explain run"},
    {"seed", readSeed, "check run"},
    {"param", readAssignments, "run"},
    {"check", readFlag, "run"},
    {"time", readFlag, "run"},
    {"interpret", readFlag, "check run"},
};

/// Whether `command` is one of the words of `commands`.
bool isAmong(std::string_view command, std::string_view commands) {
  return !command.empty() && command.find(' ') == std::string_view::npos &&
         fmt::format(" {} ", commands).find(fmt::format(" {} ", command)) != std::string::npos;
}

Status readMember(std::string_view command, const std::string &name, const Json &value,
                  CommandRequest &request) {
  std::vector<std::string> known;
  for (const Member &member : members) {
    if (!isAmong(command, member.commands))
      continue;
    if (member.name == name)
      return member.read(name, value, request);
    known.emplace_back(member.name);
  }
  return invalidArgument(
      fmt::format("{} knows no '{}'", command, name),
      didYouMean(name, known, fmt::format("it knows {}", fmt::join(known, ", "))));
}

} // namespace

Result<CommandRequest> readCommandRequest(std::string_view command, std::string_view body) {
  if (!isAmong(command, all))
    return invalidArgument(fmt::format("there is no command '{}' here", command),
                           "the commands are compile, explain, check and run");
  bool isDeep = false; // what is nested without end is neither kept nor printed
  auto limitDepth = [&](int depth, Json::parse_event_t, Json &) {
    isDeep |= depth > maxDepth;
    return !isDeep;
  };
  Json json = Json::parse(body, limitDepth, /*allow_exceptions=*/false);
  if (isDeep)
    return invalidArgument(fmt::format("the body is nested more than {} deep", maxDepth));
  if (!json.is_object() || !json.contains("spec"))
    return invalidArgument("the body is no JSON object with the member 'spec'");
  CommandRequest request{{std::string(command), "-", "--json"}, "", ""};
  for (const auto &[name, value] : json.items())
    if (Status status = readMember(command, name, value, request); !status)
      return status.error();
  return request;
}

} // namespace attnc::explorer
