#include "runtime/program/available_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace attnc {

namespace {

/// The number behind `key` in a file of lines "key number ..."; the first number for no key.
std::optional<std::uint64_t> readNumber(const std::string &path, std::string_view key = {}) {
  std::ifstream file(path);
  std::string word, rest;
  std::uint64_t number = 0;
  if (key.empty())
    return file >> number ? std::optional(number) : std::nullopt;
  while (file >> word) {
    if (word == key)
      return file >> number ? std::optional(number) : std::nullopt;
    std::getline(file, rest);
  }
  return std::nullopt;
}

/// The files of a control group's memory: of version 2 of control groups, and of version 1.
struct GroupFiles {
  const char *root, *limit, *used, *reclaimable;
};
constexpr GroupFiles unified = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles separate = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                 "memory.usage_in_bytes", "total_inactive_file"};

/// What the limits of a group, and of those around it, leave; nothing where there are none.
std::optional<std::uint64_t> leftInGroup(const GroupFiles &files, std::string group) {
  std::optional<std::uint64_t> left;
  for (;; group.resize(group.rfind('/'))) {
    std::string folder = files.root + group + "/";
    std::optional<std::uint64_t> limit = readNumber(folder + files.limit);
    std::optional<std::uint64_t> used = readNumber(folder + files.used);
    if (limit && used) {
      std::uint64_t held =
          *used -
          std::min(*used, readNumber(folder + "memory.stat", files.reclaimable).value_or(0));
      std::uint64_t here = *limit - std::min(*limit, held);
      left = std::min(left.value_or(here), here);
    }
    if (group.find('/') == std::string::npos)
      return left;
  }
}

/// /proc/self/cgroup has lines "0::/group" (version 2) and "4:memory:/group" (version 1).
std::optional<std::uint64_t> leftInGroups() {
  std::ifstream file("/proc/self/cgroup");
  std::optional<std::uint64_t> left;
  for (std::string line; std::getline(file, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group.ends_with('/'))
      group.pop_back();
    std::optional<std::uint64_t> here;
    if (controllers == ",,")
      here = leftInGroup(unified, group);
    else if (controllers.find(",memory,") != std::string::npos)
      here = leftInGroup(separate, group);
    if (here)
      left = std::min(left.value_or(*here), *here);
  }
  return left;
}

} // namespace

std::optional<std::uint64_t> availableHostMemory() {
  std::optional<std::uint64_t> kibibytes = readNumber("/proc/meminfo", "MemAvailable:");
  std::optional<std::uint64_t> left = leftInGroups();
  if (!kibibytes)
    return left;
  std::uint64_t available = *kibibytes << 10;
  return left ? std::min(available, *left) : available;
}

} // namespace attnc
