#include "tools/attnc/page/explain_changes.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

namespace attnc::cli {

namespace {

using Lines = std::vector<std::string_view>;

constexpr size_t maxSteps = 4'000'000;
// Below this share of lines in common, marks would say less than a plain text.
constexpr double rewrittenBelow = 0.1;

bool isNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

/// The length of a value's name without the number that the printer gave it.
size_t withoutNumber(std::string_view name) {
  size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos)
    return 0;
  return name[end] == '_' ? end : name.size();
}

/// What two lines that are the same have in common.
std::string keyOf(std::string_view line) {
  std::string key;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  while (!line.empty()) {
    size_t length = 1;
    if (line[0] == '%') {
      while (length < line.size() && isNamePart(line[length]))
        ++length;
      key += '%';
      key += line.substr(1, withoutNumber(line.substr(1, length - 1)));
    } else {
      key += line[0];
    }
    line.remove_prefix(length);
  }
  return key;
}

std::vector<std::string> keysOf(const Lines &lines) {
  std::vector<std::string> keys;
  for (std::string_view line : lines)
    keys.push_back(keyOf(line));
  return keys;
}

/// Finds the lines in common of the parts between the same first and the same last lines.
class Matcher {
public:
  Matcher(const std::vector<std::string> &before, const std::vector<std::string> &after)
      : a(before), b(after) {
    size_t shorter = std::min(a.size(), b.size());
    while (first < shorter && a[first] == b[first])
      ++first;
    while (last < shorter - first && a[a.size() - 1 - last] == b[b.size() - 1 - last])
      ++last;
    rows = a.size() - first - last;
    columns = b.size() - first - last;
    if (rows * columns <= maxSteps)
      fill();
  }

  /// Calls `emit(change, index)` for each line of the comparison; the index is into `before` for
  /// removed ones, else into `after`.
  template <typename Emit> void walk(Emit emit) const {
    for (size_t i = 0; i < first; ++i)
      emit(ComparedLine::Same, i);
    size_t i = 0, j = 0;
    while (i < rows || j < columns) {
      bool both = i < rows && j < columns;
      if (both && !lengths.empty() && a[first + i] == b[first + j]) {
        emit(ComparedLine::Same, first + j);
        ++i, ++j;
      } else if (i < rows && (!both || length(i + 1, j) >= length(i, j + 1))) {
        emit(ComparedLine::Removed, first + i++);
      } else {
        emit(ComparedLine::Added, first + j++);
      }
    }
    for (size_t j2 = first + columns; j2 < b.size(); ++j2)
      emit(ComparedLine::Same, j2);
  }

private:
  size_t length(size_t i, size_t j) const {
    return lengths.empty() ? 0 : lengths[i * (columns + 1) + j];
  }

  void fill() {
    lengths.assign((rows + 1) * (columns + 1), 0);
    for (size_t i = rows; i-- > 0;)
      for (size_t j = columns; j-- > 0;)
        lengths[i * (columns + 1) + j] =
            a[first + i] == b[first + j]
                ? static_cast<uint32_t>(length(i + 1, j + 1) + 1)
                : static_cast<uint32_t>(std::max(length(i + 1, j), length(i, j + 1)));
  }

  const std::vector<std::string> &a, &b;
  size_t first = 0, last = 0, rows = 0, columns = 0;
  std::vector<uint32_t> lengths; // of the longest common subsequences of the rests; empty: too long
};

} // namespace

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return lines;
}

Comparison compareLines(std::string_view before, std::string_view after) {
  Lines old = splitLines(before), lines = splitLines(after);
  std::vector<std::string> oldKeys = keysOf(old), keys = keysOf(lines);
  Comparison result;
  Matcher(oldKeys, keys).walk([&](ComparedLine::Change change, size_t index) {
    bool removed = change == ComparedLine::Removed;
    result.lines.push_back({change, removed ? old[index] : lines[index]});
    result.added += change == ComparedLine::Added;
    result.removed += removed;
  });
  auto same = static_cast<double>(lines.size() - result.added);
  if (!old.empty() && same < rewrittenBelow * static_cast<double>(lines.size())) {
    result.lines.clear();
    for (std::string_view line : lines)
      result.lines.push_back({ComparedLine::Same, line});
    result.rewritten = true;
  }
  return result;
}

} // namespace attnc::cli
