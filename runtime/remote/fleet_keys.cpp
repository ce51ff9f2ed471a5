#include "runtime/remote/fleet_keys.h"

#include "runtime/cache/sha256.h"
#include "runtime/remote/secret_file.h"

#include <fmt/format.h>
#include <sstream>

namespace attnc::remote {

namespace {

constexpr std::size_t maxKeys = 4;

std::string withoutComment(std::string line) {
  line.resize(std::min(line.find('#'), line.size()));
  line.erase(line.find_last_not_of(" \t\r") + 1);
  line.erase(0, line.find_first_not_of(" \t"));
  return line;
}

} // namespace

Result<FleetKeys> FleetKeys::read(const std::string &file) {
  const std::string remedy = "`openssl rand -hex 32` makes a key";
  Result<std::string> text = readSecretFile(file);
  if (!text)
    return text.error();
  FleetKeys keys;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = withoutComment(line);
    if (line.empty())
      continue;
    cache::Digest key;
    for (char &c : line)
      c = static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    if (!cache::parseHex(line, key))
      return invalidArgument(fmt::format("{}:{}: a key is 64 hexadecimal digits", file, number),
                             remedy);
    keys.all.emplace_back(key.begin(), key.end());
  }
  if (keys.all.empty())
    return invalidArgument(file + " has no key", remedy);
  if (keys.all.size() > maxKeys)
    return invalidArgument(fmt::format("{} has {} keys", file, keys.all.size()),
                           fmt::format("at most {} are in use at once", maxKeys));
  return keys;
}

} // namespace attnc::remote
