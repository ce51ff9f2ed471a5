#include "tools/attnc/tuned_schedules.h"
#include "tools/attnc/terminal.h"

#include <fmt/format.h>

namespace attnc::cli {

std::string userTuningFile(const DeviceProperties &device) {
  std::string folder = schedule::userTuningFolder();
  return folder.empty()
             ? folder
             : folder + "/" + schedule::tuningFileName(device.name, device.multiprocessors);
}

schedule::TuningDatabase tunedSchedules(const Target &target) {
  schedule::TuningDatabase database;
  if (target.isCpu())
    return database;
  if (!target.device) {
    schedule::addBuiltinTuning(database);
    return database;
  }
  const DeviceProperties &device = target.device->properties();
  std::string path = userTuningFile(device);
  Result<std::optional<schedule::TuningFile>> file = schedule::loadTuningFile(path);
  if (!file)
    note(fmt::format("measured schedules are left out: {}", file.error().text()));
  else if (*file)
    database.add(path, std::move(**file));
  schedule::addBuiltinTuning(database, device.name, device.multiprocessors);
  return database;
}

} // namespace attnc::cli
