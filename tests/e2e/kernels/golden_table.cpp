#include "tests/e2e/kernels/golden_table.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attnc::e2e {

// Generated from tests/golden by cmake/embed.py.
namespace golden {
std::vector<std::pair<std::string_view, std::string_view>> files();
} // namespace golden

using Json = nlohmann::ordered_json;

static GoldenRow rowOf(const Json &json) {
  GoldenRow row;
  row.form = json.at("form");
  row.threads = json.at("threads");
  row.sharedBytes = json.at("shared");
  row.registers = json.at("registers");
  row.spillBytes = json.at("spills");
  for (const auto &[name, count] : json.at("ptx").items())
    row.ptx[name] = count;
  return row;
}

GoldenTable GoldenTable::ofRepository(const std::string &target) {
  GoldenTable table;
  for (auto [path, text] : golden::files()) {
    if (std::filesystem::path(path).stem() != "kernels_" + target)
      continue;
    Json json = Json::parse(text);
    table.nvrtc = json.at("nvrtc");
    for (const auto &[kernel, row] : json.at("kernels").items())
      table.rows[kernel] = rowOf(row);
  }
  return table;
}

std::filesystem::path GoldenTable::destination() {
  const char *folder = std::getenv("ATTNC_WRITE_GOLDEN");
  return folder ? folder : "";
}

std::vector<std::string> GoldenTable::differences(const std::string &kernel, const GoldenRow &row,
                                                  const std::string &version) const {
  auto found = rows.find(kernel);
  if (found == rows.end())
    return {"not in the table"};
  const GoldenRow &known = found->second;
  std::vector<std::string> list;
  auto compare = [&](const std::string &what, const auto &before, const auto &now) {
    if (before != now)
      list.push_back(fmt::format("{}: {} -> {}", what, before, now));
  };
  compare("form", known.form, row.form);
  compare("threads", known.threads, row.threads);
  compare("shared", known.sharedBytes, row.sharedBytes);
  std::map<std::string, std::pair<int, int>> counts;
  for (const auto &[name, count] : known.ptx)
    counts[name].first = count;
  for (const auto &[name, count] : row.ptx)
    counts[name].second = count;
  if (version == nvrtc) {
    compare("registers", known.registers, row.registers);
    compare("spills", known.spillBytes, row.spillBytes);
  } else {
    counts.erase("total");
  }
  for (const auto &[name, count] : counts)
    compare("ptx " + name, count.first, count.second);
  return list;
}

void GoldenTable::set(const std::string &kernel, const GoldenRow &row, const std::string &version) {
  if (version != nvrtc)
    rows.clear();
  nvrtc = version;
  rows[kernel] = row;
}

std::vector<std::string> GoldenTable::kernels() const {
  std::vector<std::string> names;
  for (const auto &[kernel, row] : rows)
    names.push_back(kernel);
  return names;
}

// Two lines a kernel: what a change to it changes can be read in a diff.
std::string GoldenTable::text() const {
  std::vector<std::string> lines;
  for (const auto &[kernel, row] : rows) {
    std::vector<std::string> counts;
    for (const auto &[name, count] : row.ptx)
      counts.push_back(fmt::format("\"{}\": {}", name, count));
    lines.push_back(fmt::format(
        "    \"{}\": {{\"form\": \"{}\", \"threads\": {}, \"shared\": {}, \"registers\": {}, "
        "\"spills\": {},\n      \"ptx\": {{{}}}}}",
        kernel, row.form, row.threads, row.sharedBytes, row.registers, row.spillBytes,
        llvm::join(counts, ", ")));
  }
  return fmt::format("{{\n  \"nvrtc\": \"{}\",\n  \"kernels\": {{\n{}\n  }}\n}}\n", nvrtc,
                     llvm::join(lines, ",\n"));
}

} // namespace attnc::e2e
