// attnc_programs: random programs against their meaning (docs/notes/fuzzing.md).
#include "tests/programs/campaign.h"
#include "tests/programs/random_spec.h"
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

using namespace attnc::programs;

namespace {

// ctest's SKIP_RETURN_CODE.
constexpr int kSkipped = 77;

std::string textOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown";
}

// Everything that there is, for a spec that failed once.
Stages allStages(bool withGradients) {
  Stages stages{3, {{0, 0}, {16, 24}, {1, 1}, {64, 7}}, {"sm_80", "sm_90a"}, {}, {}};
  if (withGradients)
    stages.gradients = {true, {"cpu", "sm_80", "sm_90a"}};
  return stages;
}

// How many of the specs in `paths` (files, or folders of them) fail.
int replay(const std::vector<std::string> &paths, const Plan &plan) {
  int failures = 0;
  auto check = [&](const std::filesystem::path &path) {
    Outcome outcome = checkApart(textOf(path), allStages(plan.gradEvery != 0), plan.limit);
    bool bad = outcome.refused || outcome.stage;
    failures += bad;
    std::cout << path.filename().string() << ": "
              << (outcome.refused ? "refused: " + outcome.why
                  : bad           ? *outcome.stage + ": " + outcome.failure
                                  : "ok")
              << "\n";
  };
  for (const std::filesystem::path path : paths) {
    std::vector<std::filesystem::path> files{path};
    if (std::filesystem::is_directory(path)) {
      files.clear();
      for (const auto &entry : std::filesystem::directory_iterator(path))
        if (entry.path().extension() == ".json")
          files.push_back(entry.path());
      std::sort(files.begin(), files.end());
    }
    for (const auto &file : files)
      check(file);
  }
  return failures;
}

int campaign(const Plan &plan, const std::string &commit, const std::string &reportPath) {
  nlohmann::ordered_json report{
      {"kind", "programs"},
      {"machine", {{"processor", processor()}, {"threads", std::thread::hardware_concurrency()}}},
      {"commit", commit}};
  report.update(runCampaign(plan));
  std::string text = report.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (reportPath.empty())
    std::cout << text << "\n";
  else
    std::ofstream(reportPath) << text << "\n";
  std::cerr << fmt::format("{} programs, {} refused, {} failures, {:.0f} s\n",
                           report["programs"].get<uint64_t>(), report["refused"].get<uint64_t>(),
                           report["findings"].size(), report["seconds"].get<double>());
  return report["findings"].empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Random programs, checked against their meaning");
  Plan plan;
  std::string report, commit = "unknown";
  std::vector<std::string> replayed;
  std::optional<uint64_t> shown;
  app.add_option("--seed", plan.seed);
  app.add_option("--first", plan.first, "number of the first program");
  app.add_option("--count", plan.count, "programs at most");
  app.add_option("--seconds", plan.seconds, "no program begins after this");
  app.add_option("--jobs", plan.jobs, "processes")->check(CLI::Range(1, 1024));
  app.add_option("--limit", plan.limit, "seconds for one program");
  app.add_option("--cpu-every", plan.cpuEvery, "one program in so many on the processor; 0: none");
  app.add_option("--gpu-every", plan.gpuEvery, "one in so many in the interpreter; 0: none");
  app.add_option("--nvrtc-every", plan.nvrtcEvery, "one in so many by NVRTC; 0: none");
  app.add_option("--grad-every", plan.gradEvery, "one in so many with its gradients; 0: none");
  app.add_option("--shrinkings", plan.shrinkings, "findings to shrink");
  app.add_option("--attempts", plan.attempts, "trials for each of them");
  app.add_option("--report", report, "file for the report (else standard output)");
  app.add_option("--commit", commit, "what the report says was tested");
  app.add_option("--replay", replayed, "check these specs, or folders of them, in all stages");
  app.add_option("--show", shown, "print the spec of this program");
  CLI11_PARSE(app, argc, argv);
  if (shown) {
    std::cout << specOf(plan, *shown) << "\n";
    return 0;
  }
  if (plan.nvrtcEvery && !imagesOfProcess()) {
    std::cerr << "no NVRTC: " << imagesOfProcess().error().text() << "\n";
    return kSkipped;
  }
  return replayed.empty() ? campaign(plan, commit, report) : replay(replayed, plan) != 0;
}
