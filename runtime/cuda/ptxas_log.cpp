#include "runtime/cuda/ptxas_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attnc {

namespace {

/// The integer right before `unit`: "0 bytes stack frame, 8 bytes spill stores".
int numberBefore(std::string_view line, std::string_view unit) {
  std::size_t end = line.find(unit);
  if (end == std::string_view::npos)
    return 0;
  while (end > 0 && line[end - 1] == ' ')
    --end;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])))
    --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

/// "(C7510)" or "C7510": a remark's number, C and four digits as a word of its own.
bool hasRemarkNumber(std::string_view line) {
  for (std::size_t at = 0; at + 5 <= line.size(); ++at) {
    bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(line[at - 1]));
    bool ends = at + 5 == line.size() || !std::isalnum(static_cast<unsigned char>(line[at + 5]));
    auto isDigit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
    if (starts && ends && line[at] == 'C' &&
        std::all_of(line.begin() + at + 1, line.begin() + at + 5, isDigit))
      return true;
  }
  return false;
}

} // namespace

PtxasReport parsePtxasLog(std::string_view log) {
  constexpr std::string_view entry = "Compiling entry function '";
  PtxasReport report;
  while (!log.empty()) {
    std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (hasRemarkNumber(line) &&
        std::find(report.notes.begin(), report.notes.end(), line) == report.notes.end())
      report.notes.emplace_back(line);
    if (std::size_t at = line.find(entry); at != std::string_view::npos) {
      std::string_view name = line.substr(at + entry.size());
      report.kernels.push_back({std::string(name.substr(0, name.find('\''))), {}});
      continue;
    }
    if (report.kernels.empty())
      continue;
    KernelResources &use = report.kernels.back().resources;
    use.stackBytes += numberBefore(line, "bytes stack frame");
    use.spillStores += numberBefore(line, "bytes spill stores");
    use.spillLoads += numberBefore(line, "bytes spill loads");
    if (line.find("Used ") != std::string_view::npos) {
      use.registers = numberBefore(line, "registers");
      use.staticSharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return report;
}

} // namespace attnc
