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
  if (target.device) {
    std::string path = userTuningFile(target.device->properties());
    Result<std::optional<schedule::TuningFile>> file = schedule::loadTuningFile(path);
    if (!file)
      note(fmt::format("measured schedules are left out: {}", file.error().text()));
    else if (*file)
      database.add(path, std::move(**file));
  }
  for (const auto &[name, file] : schedule::builtinTuningFiles()) {
    const bool fits =
        !target.device || (file.device == target.device->properties().name &&
                           file.multiprocessors == target.device->properties().multiprocessors);
    if (fits)
      database.add("attnc's own " + name, file);
  }
  return database;
}

} // namespace attnc::cli
