// --schedule FILE.json.
#ifndef ATTNC_TOOLS_ATTNC_SCHEDULE_FILE_H
#define ATTNC_TOOLS_ATTNC_SCHEDULE_FILE_H

#include <nlohmann/json.hpp>
#include <string>

namespace attnc::cli {

/// The JSON object of a schedule file (comments allowed), or null for an empty path. Failure
/// (Usage): no such file, or not a JSON object.
nlohmann::json readSchedule(const std::string &path);

} // namespace attnc::cli

#endif
