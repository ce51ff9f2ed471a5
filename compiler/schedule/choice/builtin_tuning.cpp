#include "compiler/schedule/choice/tuning_database.h"
#include <filesystem>

namespace attnc::schedule {

namespace builtin {
std::vector<std::pair<std::string_view, std::string_view>> files(); // tuned/*.json, embedded
} // namespace builtin

const std::vector<std::pair<std::string, TuningFile>> &builtinTuningFiles() {
  static const std::vector<std::pair<std::string, TuningFile>> all = [] {
    std::vector<std::pair<std::string, TuningFile>> parsed;
    for (auto [name, text] : builtin::files())
      if (Result<TuningFile> file = parseTuningFile(text))
        parsed.emplace_back(std::filesystem::path(name).filename().string(), std::move(*file));
    return parsed;
  }();
  return all;
}

void addBuiltinTuning(TuningDatabase &database, const std::string &device, int multiprocessors) {
  for (const auto &[name, file] : builtinTuningFiles())
    if (device.empty() || (file.device == device && file.multiprocessors == multiprocessors))
      database.add("attnc's own " + name, file);
}

} // namespace attnc::schedule
