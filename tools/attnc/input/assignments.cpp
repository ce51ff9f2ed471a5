#include "tools/attnc/input/assignments.h"
#include "tools/attnc/output/failure.h"

#include <charconv>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

/// The whole of `text` as a number.
template <typename T> bool parseWhole(const std::string &text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

void addAssignment(std::map<std::string, std::string> &all, const std::string &option,
                   const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Failure(Usage, fmt::format("{} '{}' is not of the form name=value", option, text));
  if (!all.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
    throw Failure(Usage, fmt::format("{} gives '{}' twice", option, text.substr(0, equals)));
}

} // namespace

std::map<std::string, std::string> parseAssignments(const std::string &option,
                                                    const std::vector<std::string> &values) {
  std::map<std::string, std::string> all;
  for (const std::string &value : values)
    for (size_t start = 0; start <= value.size();) {
      size_t end = std::min(value.find(',', start), value.size());
      addAssignment(all, option, value.substr(start, end - start));
      start = end + 1;
    }
  return all;
}

std::map<std::string, int64_t> parseExtents(const std::string &option,
                                            const std::vector<std::string> &values) {
  std::map<std::string, int64_t> extents;
  for (const auto &[name, text] : parseAssignments(option, values)) {
    int64_t extent = 0;
    if (!parseWhole(text, extent))
      throw Failure(
          Usage, fmt::format("{} {}={}: '{}' is not a 64-bit integer", option, name, text, text));
    if (extent < 0)
      throw Failure(Usage, fmt::format("{} {}={}: an extent is not negative", option, name, text));
    extents[name] = extent;
  }
  return extents;
}

std::map<std::string, double> parseNumbers(const std::string &option,
                                           const std::vector<std::string> &values) {
  std::map<std::string, double> numbers;
  for (const auto &[name, text] : parseAssignments(option, values)) {
    double value = 0;
    if (!parseWhole(text, value))
      throw Failure(Usage, fmt::format("{} {}={}: '{}' is not a number", option, name, text, text));
    numbers[name] = value;
  }
  return numbers;
}

} // namespace attnc::cli
