#include "tools/attnc/output/check_text.h"
#include "tools/attnc/output/terminal.h"

#include <cmath>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

/// The worst comparison of each output, in the order of the outputs, by verdict and then by ratio.
std::vector<const driver::OutputCheck *> worstOfEach(const driver::CheckReport &report) {
  std::vector<const driver::OutputCheck *> worst;
  for (const driver::OutputCheck &check : report.outputs) {
    auto same = [&](const driver::OutputCheck *one) { return one->output == check.output; };
    auto found = std::find_if(worst.begin(), worst.end(), same);
    if (found == worst.end())
      worst.push_back(&check);
    else if (std::pair((*found)->verdict(), (*found)->compared.maxRatio) <
             std::pair(check.verdict(), check.compared.maxRatio))
      *found = &check;
  }
  return worst;
}

/// How far the outputs are apart: not a number only where one of them is.
double errorOf(const driver::OutputCheck &check) {
  bool same =
      check.expected == check.actual || (std::isnan(check.expected) && std::isnan(check.actual));
  return same ? 0 : std::fabs(check.expected - check.actual);
}

std::string ratioText(double ratio) {
  return std::isinf(ratio) ? "mismatch" : fmt::format("{:.3f}", ratio);
}

std::string verdictText(const driver::OutputCheck &check) {
  switch (check.verdict()) {
  case driver::Verdict::Failed:
    return styled("FAILED", Style::Red, colourOnStdout());
  case driver::Verdict::Undecided:
    return styled("undecided", Style::Yellow, colourOnStdout());
  case driver::Verdict::Ok:
    break;
  }
  return styled("ok", Style::Green, colourOnStdout()) +
         (check.vague ? fmt::format(", {} of {} undecided", check.vague, check.compared.size) : "");
}

} // namespace

std::string checkHead(size_t width) {
  return styled(fmt::format("{:<{}}  {:<8}  {:<8}  {:>10}  {:>10}  {:>9}  {}\n", "spec", width,
                            "target", "output", "error", "tolerance", "ratio", "verdict"),
                Style::Bold, colourOnStdout());
}

std::string checkRows(const std::string &name, size_t width, const std::string &target,
                      const driver::CheckReport &report) {
  std::string rows;
  for (const driver::OutputCheck *check : worstOfEach(report)) {
    rows += fmt::format("{:<{}}  {:<8}  {:<8}  {:>10.3g}  {:>10.3g}  {:>9}  {}\n", name, width,
                        target, check->output, errorOf(*check), check->tolerance,
                        ratioText(check->compared.maxRatio), verdictText(*check));
  }
  return rows;
}

std::string whyNotOk(const driver::CheckReport &report) {
  std::string text;
  for (const driver::OutputCheck &check : report.outputs)
    if (!check.ok())
      text += fmt::format("    {}\n", check.why());
  return text;
}

std::string samplingText(const driver::CheckReport &report) {
  std::string text;
  for (const auto &[dim, count] : report.sampled)
    text += fmt::format("{}{} indices of {}", text.empty() ? "compared at " : ", ", count, dim);
  return text;
}

nlohmann::ordered_json toJson(const driver::CheckReport &report) {
  nlohmann::ordered_json json = {{"ok", report.ok()},
                                 {"verdict", driver::verdictName(report.verdict())},
                                 {"milliseconds", report.milliseconds}};
  json["sampled"] = report.sampled;
  json["comparisons"] = nlohmann::ordered_json::array();
  for (const driver::OutputCheck &check : report.outputs) {
    nlohmann::ordered_json one = {{"output", check.output},
                                  {"inputs", check.inputs},
                                  {"seed", check.seed},
                                  {"ok", check.ok()},
                                  {"verdict", driver::verdictName(check.verdict())},
                                  {"max_error", check.compared.maxError},
                                  {"max_ratio", check.compared.maxRatio},
                                  {"tolerance", check.tolerance},
                                  {"elements", check.compared.size},
                                  {"failures", check.compared.failures},
                                  {"mismatches", check.compared.mismatches},
                                  {"undecided", check.vague},
                                  {"unwritten", check.unwritten}};
    if (!check.ok())
      one["why"] = check.why();
    json["comparisons"].push_back(one);
  }
  return json;
}

} // namespace attnc::cli
