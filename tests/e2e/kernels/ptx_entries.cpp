#include "tests/e2e/kernels/ptx_entries.h"

#include <regex>

namespace attnc::e2e {
namespace {

// `.param .u64 k_param_0`, `.param .align 64 .b8 k_param_1[128]`.
PtxParameter parameterOf(const std::string &text) {
  static const std::regex array(R"(\.align (\d+) \.b8 \S+\[(\d+)\])"), scalar(R"(\.[usfb](\d+) )");
  std::smatch found;
  if (std::regex_search(text, found, array))
    return {std::stoi(found[2]), std::stoi(found[1])};
  if (!std::regex_search(text, found, scalar))
    return {0, 1};
  int bytes = std::stoi(found[1]) / 8;
  return {bytes, bytes};
}

int threadsOf(const std::string &directives) {
  static const std::regex threads(R"(\.(?:max|req)ntid (\d+)(?:, (\d+), (\d+))?)");
  std::smatch found;
  if (!std::regex_search(directives, found, threads))
    return 0;
  return std::stoi(found[1]) * (found[2].matched ? std::stoi(found[2]) * std::stoi(found[3]) : 1);
}

} // namespace

std::vector<PtxEntry> ptxEntries(std::string_view ptx) {
  std::vector<PtxEntry> entries;
  constexpr std::string_view mark = ".entry ";
  for (size_t at = 0; (at = ptx.find(mark, at)) != std::string_view::npos;) {
    size_t open = ptx.find('(', at), close = ptx.find("\n)", open), body = ptx.find('{', close);
    PtxEntry entry;
    entry.name = ptx.substr(at + mark.size(), open - at - mark.size());
    std::string list(ptx.substr(open, close - open));
    for (size_t p = 0; (p = list.find(".param ", p)) != std::string::npos;) {
      size_t next = list.find(",\n", p);
      entry.parameters.push_back(parameterOf(list.substr(p, next - p)));
      p = next == std::string::npos ? list.size() : next;
    }
    entry.threads = threadsOf(std::string(ptx.substr(close, body - close)));
    entries.push_back(std::move(entry));
    at = body;
  }
  return entries;
}

} // namespace attnc::e2e
