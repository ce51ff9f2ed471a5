#include "tools/attnc/schedule_file.h"
#include "tools/attnc/failure.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace attnc::cli {

nlohmann::json readSchedule(const std::string &path) {
  if (path.empty())
    return nullptr;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Failure(Usage, fmt::format("--schedule: '{}' is not a file", path));
  std::ifstream file(path);
  if (!file)
    throw Failure(Environment, fmt::format("--schedule: '{}' cannot be read", path),
                  "check its permissions");
  try {
    auto json = nlohmann::json::parse(file, nullptr, true, /*ignore_comments=*/true);
    if (!json.is_object())
      throw Failure(Usage, fmt::format("--schedule: '{}' does not hold a JSON object", path));
    return json;
  } catch (const nlohmann::json::exception &wrong) {
    throw Failure(Usage, fmt::format("--schedule: '{}' is not JSON: {}", path, wrong.what()));
  }
}

} // namespace attnc::cli
