#include "compiler/schedule/choice/tuning_update.h"
#include "runtime/cache/atomic_file.h"
#include "runtime/cache/directory.h"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace attnc::schedule {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Of the file's form. A file of another version is refused.
static constexpr int kVersion = 1;
// Of JSON. What copies and prints it calls itself for each level, until the stack ends.
static constexpr int kMaxDepth = 64;

void TuningFile::put(TunedSchedule entry) {
  std::erase_if(entries, [&](const TunedSchedule &old) {
    return old.key == entry.key && old.target == entry.target;
  });
  entries.push_back(std::move(entry));
}

std::string TuningFile::text() const {
  Json list = Json::array();
  for (const TunedSchedule &entry : entries)
    list.push_back({{"key", entry.key},
                    {"target", entry.target},
                    {"kernel", entry.kernel},
                    {"schedule", entry.schedule},
                    {"milliseconds", entry.milliseconds},
                    {"shape", entry.shape},
                    {"date", entry.date},
                    {"driver", entry.driver}});
  Json json = {{"attnc_tuning", kVersion},
               {"device", device},
               {"multiprocessors", multiprocessors},
               {"entries", list}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

static TunedSchedule entryOf(const nlohmann::json &json) {
  TunedSchedule entry;
  json.at("key").get_to(entry.key);
  json.at("target").get_to(entry.target);
  json.at("kernel").get_to(entry.kernel);
  entry.schedule = json.at("schedule");
  json.at("milliseconds").get_to(entry.milliseconds);
  json.at("shape").get_to(entry.shape);
  json.at("date").get_to(entry.date);
  json.at("driver").get_to(entry.driver);
  return entry;
}

Result<TuningFile> parseTuningFile(std::string_view text) {
  try {
    bool tooDeep = false;
    nlohmann::json json = nlohmann::json::parse(text, [&](int depth, auto, const auto &) {
      tooDeep |= depth > kMaxDepth;
      return !tooDeep;
    });
    if (tooDeep)
      return invalidArgument(
          fmt::format("not a tuning file: nested deeper than {} levels", kMaxDepth));
    if (int version = json.at("attnc_tuning").get<int>(); version != kVersion)
      return invalidArgument(fmt::format("a tuning file of version {}; this attnc reads version {}",
                                         version, kVersion));
    TuningFile file;
    json.at("device").get_to(file.device);
    json.at("multiprocessors").get_to(file.multiprocessors);
    for (const nlohmann::json &entry : json.at("entries"))
      file.put(entryOf(entry));
    return file;
  } catch (const nlohmann::json::exception &wrong) {
    return invalidArgument(fmt::format("not a tuning file: {}", wrong.what()));
  }
}

Result<std::optional<TuningFile>> loadTuningFile(const std::string &path) {
  std::error_code error;
  if (!fs::exists(path, error) && !error)
    return std::optional<TuningFile>();
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (error || file.bad() || !file)
    return environmentError(fmt::format("{} cannot be read", path), "check its permissions");
  Result<TuningFile> parsed = parseTuningFile(text);
  if (!parsed)
    return invalidArgument(fmt::format("{} is {}", path, parsed.error().message),
                           "delete it; `attnc tune` writes a new one");
  return std::optional<TuningFile>(std::move(*parsed));
}

Status saveTuningFile(const std::string &path, const TuningFile &file) {
  constexpr const char *remedy = "check the folder's permissions, or name another file";
  if (std::error_code error = makeTuningFolder(path))
    return environmentError(fmt::format("{} cannot be written: {}", path, error.message()), remedy);
  Status status = cache::writeAtomically(cache::systemFiles(), path, file.text(), 0666);
  return status ? status : environmentError(status.error().message, remedy);
}

std::string tuningFileName(const std::string &device, int multiprocessors) {
  std::string name;
  for (unsigned char c : device)
    if (std::isalnum(c))
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  return fmt::format("{}-{}.json", name, multiprocessors);
}

std::string userTuningFolder() {
  std::string cache = cache::userCacheFolder();
  return cache.empty() ? cache : cache + "/tuning";
}

void TuningDatabase::add(std::string origin, TuningFile file) {
  files.emplace_back(std::move(origin), std::move(file));
}

std::string TuningDatabase::text() const {
  std::string all;
  for (const auto &[origin, file] : files)
    all += file.text();
  return all;
}

const TunedSchedule *TuningDatabase::find(std::string_view key, std::string_view target,
                                          std::string &origin) const {
  for (const auto &[from, file] : files)
    for (const TunedSchedule &entry : file.entries)
      if (entry.key == key && entry.target == target) {
        origin = fmt::format("{} ({:.3f} ms on {}, {})", from, entry.milliseconds, file.device,
                             entry.date);
        return &entry;
      }
  return nullptr;
}

} // namespace attnc::schedule
