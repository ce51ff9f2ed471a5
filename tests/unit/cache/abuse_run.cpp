// Processes that use one cache, die at random moments, and find it damaged: nothing they read may
// be wrong, and none may wait for ever. usage: attnc_cache_abuse SECONDS [REPORT.json COMMIT]
#include "runtime/cache/store.h"
#include "runtime/cache/warning.h"
#include "tests/unit/cache/folder.h"
#include "tests/unit/cache/processes.h"

#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <thread>

using namespace attnc;
using namespace attnc::cache;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int processes = 16;
constexpr std::int64_t keys = 40;
constexpr std::uint64_t maxBytes =
    60000; // of some 110 thousand: there is always something to prune

/// Shared by all processes of a run.
struct Counts {
  std::atomic<std::uint64_t> operations, found, made, wrong, dropped;
};

/// What a process does until it is killed or `until` comes.
bool work(const std::string &directory, std::uint64_t seed, Clock::time_point until,
          Counts &counts) {
  setWarning(nullptr); // the directory is taken away at times
  std::mt19937_64 random(seed);
  while (Clock::now() < until) {
    StoreOptions options;
    options.directory = directory;
    options.maxBytes = maxBytes;
    Result<std::shared_ptr<Store>> opened = Store::open(options);
    if (!opened)
      continue; // removed while it was made
    for (int i = 0; i < 20; ++i) {
      auto number = static_cast<std::int64_t>(random() % keys);
      Tier tier = number % 2 ? Tier::Image : Tier::Program;
      ++counts.operations;
      if (std::uint64_t kind = random() % 40; kind == 0)
        (*opened)->prune(maxBytes / 2);
      else if (kind == 1)
        (*opened)->verify();
      else if (kind == 2)
        (*opened)->put(tier, keyOf(number), valueOf(number));
      else {
        Result<Store::Value> value =
            (*opened)->getOrMake(tier, keyOf(number), [&]() -> Result<Store::Value> {
              std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
              return Store::Value{valueOf(number)};
            });
        counts.wrong += !value || value->bytes != valueOf(number);
        ++(value && value->source == Source::Disk ? counts.found : counts.made);
      }
    }
    counts.dropped += (*opened)->stats().counts.dropped;
  }
  return true;
}

/// Changes a bit of an entry, cuts one off, or takes the whole directory away.
void damage(const std::string &directory, std::mt19937_64 &random) {
  if (random() % 20 == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return;
  }
  auto number = static_cast<std::int64_t>(random() % keys);
  std::string path = directory + "/" +
                     std::string(nameOf(number % 2 ? Tier::Image : Tier::Program)) + "/" +
                     keyOf(number);
  std::string content = contentOf(path);
  if (content.empty())
    return;
  if (random() % 2)
    content.resize(random() % content.size());
  else
    content[random() % content.size()] ^= static_cast<char>(1 << random() % 8);
  writeTo(path, content);
}

struct Deaths {
  std::uint64_t killed = 0, damaged = 0, hung = 0, failed = 0;
};

/// A second of everything at once.
void round(const std::string &directory, std::mt19937_64 &random, Counts &counts, Deaths &deaths) {
  Clock::time_point until = Clock::now() + std::chrono::seconds(1);
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    std::uint64_t seed = random();
    children.push_back(start([&] { return work(directory, seed, until, counts); }));
  }
  while (Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    damage(directory, random);
    ++deaths.damaged;
    pid_t &victim = children[random() % children.size()];
    ::kill(victim, SIGKILL);
    deaths.killed += wasKilled(statusOf(victim));
    std::uint64_t seed = random();
    victim = start([&] { return work(directory, seed, until, counts); });
  }
  for (pid_t child : children) {
    int status = statusOf(child);
    deaths.hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    deaths.failed += status != 0;
  }
}

std::string machine() {
  utsname name = {};
  ::uname(&name);
  return fmt::format("{} {} {}, {} processors", name.sysname, name.release, name.machine,
                     std::thread::hardware_concurrency());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 && argc != 4) {
    fmt::print(stderr, "usage: attnc_cache_abuse SECONDS [REPORT.json COMMIT]\n");
    return 2;
  }
  auto seconds = std::chrono::seconds(std::atoi(argv[1]));
  auto *counts = static_cast<Counts *>(
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  TestFolder folder;
  std::string directory = folder / "cache";
  std::mt19937_64 random(1);
  Deaths deaths;
  std::uint64_t rounds = 0;
  for (Clock::time_point end = Clock::now() + seconds; Clock::now() < end; ++rounds)
    round(directory, random, *counts, deaths);

  // Afterwards it is whole, and nothing is left of the dead.
  std::shared_ptr<Store> store = openStore(directory);
  store->verify();
  for (Tier tier : tiers)
    for (const auto &file :
         std::filesystem::directory_iterator(directory + "/" + std::string(nameOf(tier))))
      setAge(file.path(), 3600);
  store->prune(defaultMaxBytes);
  std::uint64_t left = filesIn(directory + "/image") + filesIn(directory + "/program");
  std::uint64_t strangers = left - store->list().size();

  nlohmann::ordered_json report = {
      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
      {"commit", argc == 4 ? argv[3] : ""},
      {"machine", machine()},
      {"seconds", seconds.count()},
      {"rounds", rounds},
      {"processes", processes},
      {"keys", keys},
      {"operations", counts->operations.load()},
      {"found", counts->found.load()},
      {"made", counts->made.load()},
      {"killed", deaths.killed},
      {"times_damaged", deaths.damaged},
      {"dropped", counts->dropped.load()},
      {"wrong", counts->wrong.load()},
      {"hung", deaths.hung},
      {"failed", deaths.failed},
      {"temporary_files_left", strangers}};
  fmt::print("{}\n", report.dump(2));
  if (argc == 4)
    std::ofstream(argv[2]) << report.dump(2) << "\n";
  bool good = counts->wrong == 0 && deaths.failed == 0 && strangers == 0 && deaths.killed > 0 &&
              counts->found > 0 && counts->dropped > 0;
  return good ? 0 : 1;
}
