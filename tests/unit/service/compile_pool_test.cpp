// Workers as processes: what they answer, how they end, and whom that concerns. This binary is its
// own worker.
#include "compiler/jit/compile_program.h"
#include "compiler/jit/open_program.h"
#include "compiler/jit/program_key.h"
#include "tests/unit/cache/folder.h"
#include "tests/unit/jit/parsed_spec.h"
#include "tests/unit/service/requests.h"
#include "tools/attncd/workers/compile_pool.h"
#include "tools/attncd/workers/sanitized.h"
#include "tools/attncd/workers/worker.h"

#include <condition_variable>
#include <csignal>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <thread>

using namespace attnc;
using namespace attnc::service;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

using Clock = std::chrono::steady_clock;

/// Waits for something that other threads or processes do.
bool soon(const std::function<bool()> &isSo, std::chrono::seconds most = std::chrono::seconds(20)) {
  for (auto end = Clock::now() + most; !isSo();) {
    if (Clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

std::string contentOf(const std::string &file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Processes that `parent` has started, and that have not ended.
std::vector<pid_t> childrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
    std::string number = entry.path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::string stat = contentOf(entry.path() / "stat");
    std::size_t name = stat.rfind(')');
    char state = 0;
    pid_t parentOf = 0;
    if (name != std::string::npos &&
        std::sscanf(stat.c_str() + name + 1, " %c %d", &state, &parentOf) == 2 &&
        parentOf == parent && state != 'Z')
      children.push_back(std::stoi(number));
  }
  return children;
}

std::vector<pid_t> workers() { return childrenOf(::getpid()); }

/// The answers to some requests, as they come.
class Answers {
public:
  Compiler::Done sink() {
    return [this](std::shared_ptr<const CompileAnswer> answer) {
      std::lock_guard lock(mutex);
      list.push_back(*answer);
      changed.notify_all();
    };
  }
  /// The first `count`; fewer after a minute.
  std::vector<CompileAnswer> first(std::size_t count) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::minutes(1), [&] { return list.size() >= count; });
    return list;
  }
  std::size_t count() {
    std::lock_guard lock(mutex);
    return list.size();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<CompileAnswer> list;
};

class Pool : public testing::Test {
protected:
  void start(CompilePoolOptions options) {
    options.environment.push_back("ATTNC_CACHE_DIR=" + folder.path());
    Result<std::unique_ptr<CompilePool>> started = CompilePool::start(options);
    ASSERT_TRUE(started) << started.error().text();
    pool = *std::move(started);
  }
  void start(const CompileLimits &limits = {}) { start(CompilePoolOptions{.limits = limits}); }

  Submitted submit(const std::string &request) { return pool->submit(request, answers.sink()); }
  CompileAnswer ask(const std::string &request) {
    Answers one;
    EXPECT_EQ(pool->submit(request, one.sink()), Submitted::Accepted);
    std::vector<CompileAnswer> all = one.first(1);
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? CompileAnswer() : all.front();
  }
  /// A job that goes on until it is ended; without NVRTC there is none.
  void keepBusy(int jobs = 1) {
    for (int i = 0; i < jobs; ++i)
      EXPECT_EQ(submit(requestFor(endlessSpec("endless" + std::to_string(i)))),
                Submitted::Accepted);
    EXPECT_TRUE(soon([&] { return pool->stats().running == std::size_t(jobs); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // until it is in its passes
  }
  bool hasNvrtc() const { return !pool->stats().nvrtc.empty(); }

  cache::TestFolder folder;
  Answers answers;
  std::unique_ptr<CompilePool> pool;
};

#define SKIP_WITHOUT_NVRTC()                                                                       \
  if (!hasNvrtc())                                                                                 \
  GTEST_SKIP() << "NVRTC is not here"

void expectLimit(const CompileAnswer &answer, const std::string &limit,
                 const std::string &message) {
  ASSERT_TRUE(answer.failure) << "there is a program";
  EXPECT_EQ(answer.failure->kind, "limit") << answer.failure->message;
  EXPECT_EQ(answer.failure->limit, limit) << answer.failure->message;
  EXPECT_THAT(answer.failure->message, HasSubstr(message));
  EXPECT_FALSE(answer.failure->remedy.empty());
}

//===--- programs ---------------------------------------------------------------------------===//

TEST_F(Pool, AProgramIsTheOneThatIsCompiledHere) {
  start();
  SKIP_WITHOUT_NVRTC();
  CompileAnswer answer = ask(requestFor(test::softmaxSpec));
  ASSERT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.from, "compiler");

  test::ParsedSpec parsed;
  schedule::TuningDatabase tuned;
  schedule::addBuiltinTuning(tuned);
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.tuned = &tuned;
  EXPECT_EQ(answer.key, programKey(*parsed.spec, options));
  Result<std::string> bytes = cache::decodeEntry(cache::Tier::Program, answer.key, answer.entry);
  ASSERT_TRUE(bytes) << bytes.error().text();
  options.images = std::make_shared<const ImageCompiler>();
  Result<ReadyProgram> here = compileProgram(*parsed.spec, options, nullptr);
  ASSERT_TRUE(here) << here.error().text();
  EXPECT_EQ(*bytes, *serializeProgram(*completed(here->compilation)));
}

TEST_F(Pool, TheSecondTimeComesFromDiskWhateverTheWorker) {
  start();
  SKIP_WITHOUT_NVRTC();
  CompileAnswer first = ask(requestFor(smallSpec()));
  pool.reset();
  start();
  CompileAnswer second = ask(requestFor(smallSpec()));
  EXPECT_EQ(second.from, "disk");
  EXPECT_EQ(second.entry, first.entry);
  EXPECT_EQ(second.key, first.key);
}

TEST_F(Pool, WhatIsWrongWithARequestOrASpecIsSaid) {
  start();
  CompileAnswer member = ask(R"({"target": "sm_90a", "text": "", "colour": 1})");
  ASSERT_TRUE(member.failure);
  EXPECT_EQ(member.failure->kind, "invalid_argument");
  EXPECT_THAT(member.failure->message, HasSubstr("colour"));
  CompileAnswer spec = ask(requestFor(specOf("wrong", {"z = y"})));
  ASSERT_TRUE(spec.failure);
  EXPECT_EQ(spec.failure->kind, "spec");
  EXPECT_THAT(spec.failure->message, StartsWith("test.json:1:"));
  CompileAnswer build = ask(requestFor(smallSpec(), {{"build", "another"}}));
  ASSERT_TRUE(build.failure);
  EXPECT_EQ(build.failure->kind, "other_build");
  EXPECT_EQ(pool->stats().failed.at("spec"), 1u);
}

//===--- limits -----------------------------------------------------------------------------===//

TEST_F(Pool, ThePassesEndAtTheTimeLimit) {
  start({.seconds = 0.5});
  SKIP_WITHOUT_NVRTC();
  auto begin = Clock::now();
  expectLimit(ask(requestFor(endlessSpec())), "time", "the time limit of 0.5 s was reached (");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(Pool, NvrtcEndsAtTheTimeLimitAndTheWorkerGoesOn) {
  // On a machine with much to do the time may be over before NVRTC begins: then it gets more.
  for (int seconds : {2, 10, 30}) {
    start({.seconds = double(seconds)});
    SKIP_WITHOUT_NVRTC();
    std::vector<pid_t> before = workers();
    CompileAnswer answer = ask(requestFor(manyKernelsSpec(std::min(80, 15 * seconds))));
    if (seconds < 30 && answer.failure &&
        answer.failure->message.find("(nvrtc") == std::string::npos)
      continue;
    expectLimit(answer, "time",
                fmt::format("the time limit of {} s was reached (nvrtc, kernel many_", seconds));
    EXPECT_FALSE(ask(requestFor(smallSpec())).failure);
    EXPECT_EQ(workers(), before);
    return;
  }
}

TEST_F(Pool, AWorkerThatIsStoppedEndsAtTheTimeLimit) {
  start({.seconds = 0.5});
  ASSERT_EQ(workers().size(), 1u);
  ::kill(workers().front(), SIGSTOP);
  expectLimit(ask(requestFor(smallSpec())), "time", "the time limit of 0.5 s was reached");
  EXPECT_TRUE(soon([&] { return pool->stats().alive == 1; }));
}

TEST_F(Pool, MemoryHasALimit) {
  start({.memoryBytes = std::uint64_t(400) << 20});
  SKIP_WITHOUT_NVRTC();
  expectLimit(ask(requestFor(endlessSpec())), "memory",
              "the memory limit of 400.0 MiB was reached");
}

TEST_F(Pool, KernelsHaveALimit) {
  start({.kernels = 5});
  SKIP_WITHOUT_NVRTC();
  expectLimit(ask(requestFor(manyKernelsSpec(3))), "kernels", "kernels, and the limit is 5");
}

TEST_F(Pool, TheProgramHasALimit) {
  start({.outputBytes = 1000});
  SKIP_WITHOUT_NVRTC();
  expectLimit(ask(requestFor(smallSpec())), "output", "and the limit is 1000 bytes");
  expectLimit(ask(requestFor(smallSpec())), "output", "and the limit is 1000 bytes");
}

//===--- specs against their compiler ------------------------------------------------------===//

struct Hostile {
  std::string name, spec;
  std::string limit; ///< that it crosses here; empty: none, or it is an error of the spec
};

/// What is known to take long, or much.
std::vector<Hostile> hostileSpecs() {
  nlohmann::json statements = {"z0 = x"};
  for (int i = 1; i < 9999; ++i)
    statements.push_back(fmt::format("z{} = tanh(z{}) + x", i, i - 1));
  statements.push_back("z = z9998");
  std::string deep = "x";
  for (int i = 0; i < 1000; ++i)
    deep = "tanh(" + deep + ")";
  return {
      {"a repeat of 9999", longKernelSpec(), "time"},
      {"10,000 statements", specOf("statements", statements), "time"},
      {"minutes of NVRTC", manyKernelsSpec(80), "time"},
      {"an expression that doubles", endlessSpec(), "time"},
      {"sums of sums",
       specOf("sums", {"z = x", repeated(4999, {"z"}, {"s = sum(j, z)", "z = z / (1 + s * s)"})}),
       "time"},
      {"deep in parentheses", specOf("deep", {"z = " + deep}), ""},
      {"huge extents",
       R"({"attnc": 1, "name": "huge", "dims": {"i": 1000000000, "j": 1000000000},
               "inputs": {"x": "f32[i, j]"}, "body": ["z = x"], "outputs": {"z": "f32"}})",
       ""}};
}

TEST_F(Pool, HostileSpecsEndWithinTheirLimitAndCostNobodyElse) {
  start(CompilePoolOptions{.workers = 2, .limits = {.seconds = 1}});
  SKIP_WITHOUT_NVRTC();
  for (const Hostile &hostile : hostileSpecs()) {
    SCOPED_TRACE(hostile.name);
    auto begin = Clock::now();
    Answers itsOwn;
    ASSERT_EQ(pool->submit(requestFor(hostile.spec), itsOwn.sink()), Submitted::Accepted);
    CompileAnswer beside =
        ask(requestFor(smallSpec("beside_" + std::to_string(begin.time_since_epoch().count()))));
    EXPECT_FALSE(beside.failure) << beside.failure->message;
    std::vector<CompileAnswer> all = itsOwn.first(1);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
    if (hostile.limit.empty())
      EXPECT_TRUE(!all[0].failure || all[0].failure->kind == "spec") << all[0].failure->message;
    else
      expectLimit(all[0], hostile.limit, "limit");
  }
}

//===--- ends -------------------------------------------------------------------------------===//

TEST_F(Pool, ASignalEndsOneJobAndNoOther) {
  start(CompilePoolOptions{.workers = 2});
  SKIP_WITHOUT_NVRTC();
  keepBusy(2);
  std::vector<pid_t> both = workers();
  ASSERT_EQ(both.size(), 2u);
  // AddressSanitizer answers SIGSEGV with a report and an exit code.
  ::kill(both[0], isSanitized ? SIGKILL : SIGSEGV);
  std::vector<CompileAnswer> ended = answers.first(1);
  ASSERT_EQ(ended.size(), 1u);
  ASSERT_TRUE(ended[0].failure);
  EXPECT_EQ(ended[0].failure->kind, "internal");
  EXPECT_THAT(ended[0].failure->message,
              HasSubstr(isSanitized ? "was ended by SIGKILL" : "was ended by SIGSEGV"));
  // The other one goes on, and what comes next is served.
  CompileAnswer next = ask(requestFor(specOf("wrong", {"z = y"})));
  ASSERT_TRUE(next.failure);
  EXPECT_EQ(next.failure->kind, "spec");
  EXPECT_TRUE(soon([&] { return pool->stats().running == 1; }));
  EXPECT_EQ(answers.count(), 1u);
}

TEST_F(Pool, AWorkerThatEndsWhileItWaitsCostsNoJob) {
  start();
  ::kill(workers().front(), SIGKILL);
  CompileAnswer answer = ask(requestFor(specOf("wrong", {"z = y"})));
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->kind, "spec");
  EXPECT_EQ(pool->stats().workersStarted, 2u);
}

TEST_F(Pool, AWorkerThatDoesNotStartIsAnErrorAtOnce) {
  Result<std::unique_ptr<CompilePool>> none =
      CompilePool::start({.workers = 2, .executable = "/no/such/file"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Environment);
  Result<std::unique_ptr<CompilePool>> ends =
      CompilePool::start({.workers = 2, .executable = "/bin/false"});
  ASSERT_FALSE(ends);
  EXPECT_THAT(ends.error().message, HasSubstr("/bin/false worker ended with code 1"));
}

// The file of the binary is gone: as after an update that went wrong.
TEST_F(Pool, WithoutWorkersJobsFailAndDoNotWait) {
  std::string copy = folder / "worker";
  std::filesystem::copy_file("/proc/self/exe", copy);
  start(CompilePoolOptions{.executable = copy});
  std::filesystem::remove(copy);
  ::kill(workers().front(), SIGKILL);
  CompileAnswer answer = ask(requestFor(smallSpec()));
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->kind, "environment");
  EXPECT_EQ(pool->stats().alive, 0);
}

TEST_F(Pool, NoWorkerOutlivesItsService) {
  pid_t service = ::fork();
  if (service == 0) {
    ::alarm(60);
    start(CompilePoolOptions{.workers = 2});
    keepBusy(1);
    ::pause();
    ::_exit(1);
  }
  EXPECT_TRUE(soon([&] { return childrenOf(service).size() == 2; }));
  std::vector<pid_t> orphans = childrenOf(service);
  ::kill(service, SIGKILL);
  ::waitpid(service, nullptr, 0);
  for (pid_t orphan : orphans)
    EXPECT_TRUE(soon([&] {
      std::string stat = contentOf("/proc/" + std::to_string(orphan) + "/stat");
      return stat.empty() || stat.find(") Z") != std::string::npos;
    })) << orphan;
}

TEST_F(Pool, AWorkerHasNothingOfItsService) {
  int open = ::open("/dev/null", O_RDONLY); // without O_CLOEXEC
  start();
  ::close(open);
  std::string worker = "/proc/" + std::to_string(workers().front());
  std::set<std::string> descriptors;
  for (const auto &entry : std::filesystem::directory_iterator(worker + "/fd"))
    descriptors.insert(entry.path().filename());
  for (const char *its : {"0", "1", "2", "3"})
    descriptors.erase(its);
  for (const std::string &other : descriptors) // its own: of its cache, say
    EXPECT_THAT(std::filesystem::read_symlink(worker + "/fd/" + other).string(),
                testing::Not(HasSubstr("null")));
  EXPECT_THAT(contentOf(worker + "/status"), HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(contentOf(worker + "/limits"), testing::ContainsRegex("Max core file size +0 +0"));
  EXPECT_NE(::getpgid(workers().front()), ::getpgrp());
}

TEST_F(Pool, AWorkerIsReplacedWhenItHasDoneItsJobs) {
  start(CompilePoolOptions{.jobsPerWorker = 2});
  pid_t first = workers().front();
  std::string request = requestFor(specOf("wrong", {"z = y"}));
  ask(request);
  ask(request);
  EXPECT_TRUE(soon([&] { return pool->stats().workersStarted == 2; }));
  EXPECT_THAT(workers(), testing::Not(testing::Contains(first)));
  EXPECT_EQ(pool->stats().workersKilled, 0u);
}

// What speaks something else: not attncd, or another build of it.
TEST_F(Pool, AWorkerThatSaysSomethingElseIsNone) {
  std::string script = folder / "worker";
  std::ofstream(script) << "#!/bin/sh\nprintf 'HTTP/1.1 200 OK' >&3\nsleep 100\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_FALSE(CompilePool::start({.executable = script}));
}

//===--- the queue --------------------------------------------------------------------------===//

TEST_F(Pool, EqualRequestsShareOneJob) {
  start();
  SKIP_WITHOUT_NVRTC();
  keepBusy();
  std::string request = requestFor(specOf("wrong", {"z = y"}));
  EXPECT_EQ(submit(request), Submitted::Accepted);
  EXPECT_EQ(submit(request), Submitted::Joined);                             // while it waits
  EXPECT_EQ(submit(requestFor(endlessSpec("endless0"))), Submitted::Joined); // while it runs
  EXPECT_EQ(pool->stats().waiting, 1u);
  EXPECT_EQ(pool->stats().joined, 2u);
  ::kill(workers().front(), SIGKILL);
  std::vector<CompileAnswer> all = answers.first(4);
  ASSERT_EQ(all.size(), 4u);
  std::multiset<std::string> kinds;
  std::set<const void *> bodies;
  for (const CompileAnswer &answer : all) {
    kinds.insert(answer.failure ? answer.failure->kind : "");
    bodies.insert(answer.bodies.get());
  }
  EXPECT_EQ(bodies.size(), 2u) << "they have one answer";
  EXPECT_EQ(kinds, (std::multiset<std::string>{"internal", "internal", "spec", "spec"}));
  // What has been answered is not joined.
  EXPECT_EQ(submit(request), Submitted::Accepted);
}

TEST_F(Pool, AFullQueueTakesNothing) {
  start(CompilePoolOptions{.queue = 1});
  SKIP_WITHOUT_NVRTC();
  keepBusy();
  EXPECT_EQ(submit(requestFor(smallSpec("first"))), Submitted::Accepted);
  EXPECT_EQ(submit(requestFor(smallSpec("second"))), Submitted::Full);
  EXPECT_EQ(submit(requestFor(smallSpec("first"))), Submitted::Joined);
  ::kill(workers().front(), SIGKILL);
  EXPECT_EQ(answers.first(3).size(), 3u);
  EXPECT_TRUE(soon([&] { return pool->stats().running == 0; }));
  EXPECT_EQ(answers.count(), 3u) << "a request that was not taken is answered by nobody";
}

TEST_F(Pool, DrainingAnswersWhatWasAccepted) {
  start({.seconds = 0.5});
  SKIP_WITHOUT_NVRTC();
  keepBusy();
  EXPECT_EQ(submit(requestFor(specOf("wrong", {"z = y"}))), Submitted::Accepted);
  std::jthread drain([&] { pool->drain(); });
  std::size_t accepted = 2;
  EXPECT_TRUE(soon([&] {
    Submitted late = submit(requestFor(specOf("late", {"z = y"})));
    accepted += late == Submitted::Accepted || late == Submitted::Joined;
    return late == Submitted::Draining;
  }));
  drain.join();
  EXPECT_EQ(answers.count(), accepted);
}

TEST_F(Pool, TheEndAnswersWhatIsLeft) {
  start();
  SKIP_WITHOUT_NVRTC();
  keepBusy();
  EXPECT_EQ(submit(requestFor(smallSpec())), Submitted::Accepted);
  pool.reset();
  std::vector<CompileAnswer> all = answers.first(2);
  ASSERT_EQ(all.size(), 2u);
  for (const CompileAnswer &answer : all) {
    ASSERT_TRUE(answer.failure);
    EXPECT_EQ(answer.failure->kind, "draining");
  }
  EXPECT_TRUE(workers().empty());
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "worker")
    return runWorker();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
