#include "runtime/program/byte_count.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace attnc {

namespace {

/// Bytes of a unit, or nothing where there is no such unit.
std::optional<double> unitBytes(std::string_view unit) {
  if (unit.empty() || unit == "b")
    return 1;
  constexpr std::string_view prefixes = "kmgtp";
  std::size_t power = prefixes.find(unit.front());
  double base = unit.substr(1) == "ib" ? 1024 : unit.substr(1) == "b" ? 1000 : 0;
  if (power == std::string_view::npos || base == 0)
    return std::nullopt;
  return std::pow(base, static_cast<double>(power + 1));
}

} // namespace

Result<std::int64_t> parseBytes(std::string_view text) {
  Error malformed = invalidArgument(fmt::format("'{}' is no number of bytes", text),
                                    "write a number and a unit: 1536MiB, 2GiB, 0.5TB; without a "
                                    "unit it counts bytes");
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || text.front() == '-' || !std::isfinite(number))
    return malformed;
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? 0 : unit.find_first_not_of(' '));
  for (char &letter : unit)
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  std::optional<double> bytes = unitBytes(unit);
  if (!bytes)
    return malformed;
  if (number * *bytes >= 0x1p63)
    return invalidArgument(fmt::format("'{}' is more than 2^63 - 1 bytes", text));
  return static_cast<std::int64_t>(number * *bytes);
}

std::string bytesText(double bytes) {
  constexpr std::array<const char *, 6> units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit)
    bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit ? 1 : 0, units[unit]);
}

} // namespace attnc
