#include "tests/programs/campaign.h"
#include "compiler/transforms/derivation/derivation.h"
#include "tests/programs/random_spec.h"
#include "tests/programs/shrink.h"
#include "tests/programs/worker.h"
#include <chrono>
#include <csignal>
#include <memory>
#include <poll.h>
#include <set>
#include <unistd.h>

namespace attnc::programs {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

uint64_t seedOf(const Plan &plan, uint64_t index) {
  return plan.seed * 0x9e3779b97f4a7c15 + index * 0xd1342543de82ef95;
}

Json toJson(const Outcome &outcome) {
  Json json{{"refused", outcome.refused}, {"why", outcome.why},     {"rules", outcome.rules},
            {"done", outcome.done},       {"nests", outcome.nests}, {"states", outcome.states},
            {"failure", outcome.failure}};
  if (outcome.stage)
    json["stage"] = *outcome.stage;
  return json;
}

Outcome toOutcome(const Json &json) {
  Outcome outcome;
  outcome.refused = json["refused"];
  outcome.why = json["why"];
  outcome.rules = json["rules"].get<std::map<std::string, unsigned>>();
  outcome.done = json["done"].get<std::map<std::string, unsigned>>();
  outcome.nests = json["nests"];
  outcome.states = json["states"];
  outcome.failure = json["failure"];
  if (json.contains("stage"))
    outcome.stage = json["stage"].get<std::string>();
  return outcome;
}

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Outcome ended(int signal) {
  Outcome outcome;
  outcome.stage = signal == SIGALRM ? "limit" : "crash";
  outcome.failure = signal == SIGALRM ? "takes too long" : "signal " + std::to_string(signal);
  return outcome;
}

class Campaign {
public:
  explicit Campaign(const Plan &plan) : plan(plan), start(Clock::now()) {}

  Json run() {
    for (unsigned job = 0; job < plan.jobs; ++job)
      begin(job, plan.first + job);
    while (!workers.empty())
      listen();
    seconds = elapsed();
    return report();
  }

private:
  struct Running {
    std::unique_ptr<Worker> worker;
    unsigned job = 0;
    std::optional<uint64_t> index; ///< of the program that it is at
  };

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  // A process that checks every jobs-th program from `first` on.
  void begin(unsigned job, uint64_t first) {
    auto work = [&, first](const std::function<void(const std::string &)> &send) {
      for (uint64_t n = first; n - plan.first < plan.count && elapsed() < plan.seconds;
           n += plan.jobs) {
        send(dump({{"index", n}}));
        alarm(plan.limit);
        Outcome outcome = checkSpec(specOf(plan, n), stagesOf(plan, n));
        alarm(0);
        send(dump({{"index", n}, {"outcome", toJson(outcome)}}));
      }
    };
    workers.push_back({std::make_unique<Worker>(work), job, std::nullopt});
  }

  void listen() {
    std::vector<pollfd> polled;
    for (const Running &running : workers)
      polled.push_back({running.worker->descriptor(), POLLIN, 0});
    poll(polled.data(), polled.size(), -1);
    for (size_t i = polled.size(); i-- > 0;)
      if (polled[i].revents && !workers[i].worker->read([&](const std::string &line) {
            take(workers[i], Json::parse(line));
          }))
        end(i);
  }

  void take(Running &running, const Json &line) {
    uint64_t index = line["index"];
    running.index = index;
    if (!line.contains("outcome"))
      return;
    running.index.reset();
    add(index, toOutcome(line["outcome"]));
  }

  void end(size_t i) {
    Running running = std::move(workers[i]);
    workers.erase(workers.begin() + i);
    int signal = running.worker->join();
    if (!running.index)
      return;
    add(*running.index, ended(signal));
    begin(running.job, *running.index + plan.jobs);
  }

  void add(uint64_t index, const Outcome &outcome) {
    ++programs;
    if (outcome.refused) {
      ++refused;
      ++reasons[outcome.why.substr(0, outcome.why.find('\n')).substr(0, 160)];
    }
    nests += outcome.nests;
    states += outcome.states;
    for (const auto &[stage, times] : outcome.done)
      done[stage] += times;
    for (const auto &[rule, times] : outcome.rules) {
      ++rulePrograms[rule];
      ruleTimes[rule] += times;
    }
    if (outcome.stage)
      found[index] = outcome;
  }

  // Failures that look alike.
  static std::string kindOf(const Outcome &outcome) {
    return *outcome.stage + ": " + outcome.failure.substr(0, outcome.failure.find('\''));
  }

  Json findings() const {
    Json all = Json::array();
    std::map<std::string, unsigned> kinds;
    for (const auto &[index, outcome] : found) {
      Json finding{{"program", index}, {"stage", *outcome.stage}, {"failure", outcome.failure}};
      bool isNew = kinds.size() < plan.shrinkings && kinds[kindOf(outcome)]++ == 0;
      finding["spec"] = Json::parse(isNew ? shrunk(index, kindOf(outcome)) : specOf(plan, index));
      finding["shrunk"] = isNew;
      all.push_back(std::move(finding));
    }
    return all;
  }

  // The smallest program found that fails alike.
  std::string shrunk(uint64_t index, const std::string &kind) const {
    Choices drawn(seedOf(plan, index));
    randomSpec(drawn);
    Stages stages = stagesOf(plan, index);
    auto fails = [&](const std::vector<uint32_t> &list) {
      Choices choices(list);
      Outcome outcome = checkApart(randomSpec(choices), stages, plan.limit);
      return outcome.stage && kindOf(outcome) == kind;
    };
    Choices best(shrink(drawn.taken(), fails, plan.attempts));
    return randomSpec(best);
  }

  Json report() const {
    Json rules = Json::object(), never = Json::array();
    for (derivation::Rule rule : derivation::allRules()) {
      std::string name = derivation::nameOf(rule).str();
      auto known = rulePrograms.find(name);
      if (known == rulePrograms.end())
        never.push_back(name);
      else
        rules[name] = {{"programs", known->second}, {"times", ruleTimes.at(name)}};
    }
    return {{"seed", plan.seed},     {"first", plan.first},  {"jobs", plan.jobs},
            {"seconds", seconds},    {"programs", programs}, {"refused", refused},
            {"reasons", reasons},    {"checked", done},      {"nests", nests},
            {"states", states},      {"rules", rules},       {"rules_never_applied", never},
            {"findings", findings()}};
  }

  const Plan &plan;
  Clock::time_point start;
  double seconds = 0;
  std::vector<Running> workers;
  uint64_t programs = 0, refused = 0, nests = 0, states = 0;
  std::map<std::string, uint64_t> done, rulePrograms, ruleTimes, reasons;
  std::map<uint64_t, Outcome> found;
};

} // namespace

// Two programs take twice as long to compile, and more to interpret.
static GradientStages gradientStagesOf(const Plan &plan, uint64_t index) {
  GradientStages stages;
  if (!plan.gradEvery || index % plan.gradEvery)
    return stages;
  stages.checked = true;
  uint64_t number = index / plan.gradEvery;
  if (plan.cpuEvery && number % (2 * plan.cpuEvery) == 1)
    stages.targets.push_back("cpu");
  if (plan.gpuEvery && number % (8 * plan.gpuEvery) == 2)
    stages.targets.push_back(number % (16 * plan.gpuEvery) == 2 ? "sm_80" : "sm_90a");
  return stages;
}

std::string specOf(const Plan &plan, uint64_t index) {
  Choices choices(seedOf(plan, index));
  return randomSpec(choices);
}

Stages stagesOf(const Plan &plan, uint64_t index) {
  static constexpr Tiles kTiles[] = {{0, 0}, {16, 24}, {1, 1}, {64, 7}, {8, 128}, {5, 16}};
  Choices choices(~seedOf(plan, index));
  Stages stages;
  if (choices.chance(25))
    stages.parts = 2 + choices.below(4);
  if (plan.cpuEvery && index % plan.cpuEvery == 0)
    stages.cpu = {kTiles[choices.below(2)], kTiles[2 + choices.below(4)]};
  if (plan.gpuEvery && index % plan.gpuEvery == 1)
    stages.targets = {choices.chance(40) ? "sm_90a" : "sm_80"};
  if (plan.nvrtcEvery && index % plan.nvrtcEvery == 0)
    stages.built = {"sm_80", "sm_90a"};
  stages.gradients = gradientStagesOf(plan, index);
  return stages;
}

Json runCampaign(const Plan &plan) { return Campaign(plan).run(); }

Outcome checkApart(const std::string &text, const Stages &stages, unsigned limit) {
  Outcome outcome;
  Worker worker([&](const std::function<void(const std::string &)> &send) {
    alarm(limit);
    send(dump(toJson(checkSpec(text, stages))));
  });
  bool finished = false;
  while (worker.read([&](const std::string &line) {
    outcome = toOutcome(Json::parse(line));
    finished = true;
  }))
    ;
  int signal = worker.join();
  return finished ? outcome : ended(signal);
}

} // namespace attnc::programs
