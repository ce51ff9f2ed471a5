#include "tools/explorer/explorer.h"

#include "kernels_spec/library.h"
#include "tools/attnc/input/target.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace attnc::explorer {

// Generated from page/ by cmake/embed.py.
namespace page {
std::vector<std::pair<std::string_view, std::string_view>> files();
}

namespace {

std::string_view typeOf(std::string_view name) {
  if (name.ends_with(".html"))
    return "text/html; charset=utf-8";
  if (name.ends_with(".css"))
    return "text/css; charset=utf-8";
  return "text/javascript; charset=utf-8";
}

std::map<std::string, PageFile, std::less<>> pageFiles() {
  std::map<std::string, PageFile, std::less<>> files;
  for (auto [path, text] : page::files()) {
    std::string name = std::filesystem::path(path).filename().string();
    files["/" + name] = {typeOf(name), text};
    if (name == "explorer.html")
      files["/"] = {typeOf(name), text};
  }
  return files;
}

/// The target of the GPU here; null if there is none.
nlohmann::ordered_json gpuHere() {
  cli::Target target = cli::chooseTarget("");
  return target.isCpu() ? nlohmann::ordered_json() : nlohmann::ordered_json(target.name);
}

} // namespace

const PageFile *findPageFile(std::string_view path) {
  static const std::map<std::string, PageFile, std::less<>> files = pageFiles();
  auto found = files.find(path);
  return found == files.end() ? nullptr : &found->second;
}

std::string aboutText() {
  nlohmann::ordered_json json = {{"version", ATTNC_VERSION}};
  for (const std::string &name : cli::targetNames())
    if (name != "native")
      json["targets"].push_back(name);
  json["gpu"] = gpuHere();
  json["nvrtc"] = !ImageCompiler().identity().empty();
  for (const LibrarySpec &spec : library()) {
    auto parsed = nlohmann::json::parse(spec.text, nullptr, /*allow_exceptions=*/false,
                                        /*ignore_comments=*/true);
    json["specs"].push_back({{"name", spec.name},
                             {"doc", parsed.is_object() ? parsed.value("doc", "") : ""},
                             {"text", spec.text}});
  }
  return json.dump() + "\n";
}

} // namespace attnc::explorer
