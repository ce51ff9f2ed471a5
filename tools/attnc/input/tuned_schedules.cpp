#include "tools/attnc/input/tuned_schedules.h"
#include "tools/attnc/output/terminal.h"

#include "llvm/ADT/STLExtras.h"
#include <filesystem>
#include <fmt/format.h>

namespace fs = std::filesystem;

namespace attnc::cli {

std::string userTuningFile(const DeviceProperties &device) {
  std::string folder = schedule::userTuningFolder();
  return folder.empty()
             ? folder
             : folder + "/" + schedule::tuningFileName(device.name, device.multiprocessors);
}

static void addFile(schedule::TuningDatabase &database, const std::string &path) {
  Result<std::optional<schedule::TuningFile>> file = schedule::loadTuningFile(path);
  if (!file)
    note(fmt::format("measured schedules are left out: {}", file.error().text()));
  else if (*file)
    database.add(path, std::move(**file));
}

// Their entries name their targets.
static void addAllFiles(schedule::TuningDatabase &database) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(schedule::userTuningFolder(), ignored))
    if (entry.path().extension() == ".json")
      paths.push_back(entry.path().string());
  llvm::sort(paths);
  for (const std::string &path : paths)
    addFile(database, path);
  schedule::addBuiltinTuning(database);
}

schedule::TuningDatabase tunedSchedules(const Target &target) {
  schedule::TuningDatabase database;
  if (target.isCpu())
    return database;
  if (!target.device) {
    addAllFiles(database);
    return database;
  }
  const DeviceProperties &device = target.device->properties();
  addFile(database, userTuningFile(device));
  schedule::addBuiltinTuning(database, device.name, device.multiprocessors);
  return database;
}

} // namespace attnc::cli
