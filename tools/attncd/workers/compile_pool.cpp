#include "tools/attncd/workers/compile_pool.h"

#include "tools/attncd/workers/worker_process.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace attnc::service {

namespace {

using Clock = std::chrono::steady_clock;

/// How often a worker that waits for a job is looked after.
constexpr auto lookEvery = std::chrono::milliseconds(500);
/// Before a worker that has not started is tried again; twice as long each time.
constexpr auto firstPause = std::chrono::milliseconds(100),
               longestPause = std::chrono::milliseconds(5000);

struct Job {
  std::string request;
  std::vector<Compiler::Done> waiters;
  bool wasLost = false; ///< by a worker that had ended before it began with it
};

CompileAnswer failureOf(std::string kind, const Error &error) {
  CompileAnswer answer;
  answer.failure = {std::move(kind), error.message, error.remedy, ""};
  return answer;
}

} // namespace

/// Each worker has a thread, which gives it jobs and replaces it.
class CompilePool::State {
public:
  explicit State(const CompilePoolOptions &options) : options(options) {
    counts.workers = options.workers;
  }
  ~State() { end(); }

  Status start() {
    for (int i = 0; i < options.workers; ++i)
      threads.emplace_back([this] { serve(); });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return tried == options.workers; });
    return counts.alive ? Status() : Status(lastFailure);
  }

  Submitted submit(std::string request, Compiler::Done done) {
    std::lock_guard lock(mutex);
    if (isDraining)
      return Submitted::Draining;
    if (auto known = byRequest.find(request); known != byRequest.end()) {
      known->second->waiters.push_back(std::move(done));
      ++counts.joined;
      return Submitted::Joined;
    }
    if (waiting.size() >= static_cast<std::size_t>(options.queue) + idle)
      return Submitted::Full;
    auto job = std::make_shared<Job>();
    job->request = std::move(request);
    job->waiters.push_back(std::move(done));
    byRequest.emplace(job->request, job);
    waiting.push_back(std::move(job));
    changed.notify_all();
    return Submitted::Accepted;
  }

  void drain() {
    std::unique_lock lock(mutex);
    isDraining = true;
    changed.wait(lock, [&] { return waiting.empty() && running == 0; });
  }

  CompilePoolStats stats() const {
    std::lock_guard lock(mutex);
    CompilePoolStats now = counts;
    now.waiting = waiting.size();
    now.running = running;
    return now;
  }

private:
  //===--- a worker's thread ----------------------------------------------------------------===//

  void serve() {
    auto pause = firstPause;
    for (bool isFirst = true; !isOver; isFirst = false) {
      std::unique_ptr<WorkerProcess> worker = startOne(isFirst);
      if (worker) {
        pause = firstPause;
        serveWith(*worker);
        discard(std::move(worker));
      } else {
        wait(pause);
        pause = std::min(pause * 2, longestPause);
      }
    }
  }

  /// As long as it is good for it.
  void serveWith(WorkerProcess &worker) {
    while (!isOver && worker.isReady() && !worker.isWorn())
      if (std::shared_ptr<Job> job = next())
        work(worker, std::move(job));
  }

  /// Null: it does not start.
  std::unique_ptr<WorkerProcess> startOne(bool isFirst) {
    Result<std::unique_ptr<WorkerProcess>> started = WorkerProcess::start(options, isOver);
    std::lock_guard lock(mutex);
    tried += isFirst;
    if (started) {
      ++counts.alive;
      ++counts.workersStarted;
      counts.nvrtc = (*started)->nvrtc();
      changed.notify_all();
      return *std::move(started);
    }
    lastFailure = started.error();
    changed.notify_all();
    return nullptr;
  }

  void discard(std::unique_ptr<WorkerProcess> worker) {
    {
      std::lock_guard lock(mutex);
      --counts.alive;
      counts.workersKilled += worker->wasKilled();
    }
    worker.reset(); // waits for its end
  }

  /// A job, or null after a while.
  std::shared_ptr<Job> next() {
    std::unique_lock lock(mutex);
    ++idle;
    changed.wait_for(lock, lookEvery, [&] { return isOver || !waiting.empty(); });
    --idle;
    if (isOver || waiting.empty())
      return nullptr;
    std::shared_ptr<Job> job = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    return job;
  }

  void work(WorkerProcess &worker, std::shared_ptr<Job> job) {
    auto start = Clock::now();
    std::optional<CompileAnswer> answer;
    bool hadEnded = !worker.isReady();
    if (!hadEnded)
      answer = worker.run(job->request, isOver);
    if (!answer && job->wasLost)
      answer = failureOf("internal", internalError("two processes ended before they began with it",
                                                   "report this with the request"));
    if (answer)
      return finish(*job, *std::move(answer),
                    std::chrono::duration<double>(Clock::now() - start).count());
    std::lock_guard lock(mutex);
    job->wasLost = !hadEnded;
    --running;
    waiting.push_front(std::move(job));
    changed.notify_all();
  }

  void finish(const Job &job, CompileAnswer given, double seconds) {
    auto answer = std::make_shared<const CompileAnswer>(std::move(given));
    std::shared_ptr<Job> ended;
    {
      std::lock_guard lock(mutex);
      auto known = byRequest.find(job.request);
      ended = std::move(known->second);
      byRequest.erase(known); // nobody joins it any more
      ++(answer->failure ? counts.failed[answer->failure->kind] : counts.done[answer->from]);
      counts.secondsOfJobs += seconds;
    }
    for (const Compiler::Done &done : ended->waiters)
      done(answer);
    std::lock_guard lock(mutex);
    --running;
    changed.notify_all();
  }

  //===--- no worker ------------------------------------------------------------------------===//

  /// Before the next try. Where no worker starts, no job waits for one.
  void wait(std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex);
    ++failing;
    auto isHopeless = [&] { return failing == options.workers && !waiting.empty(); };
    for (auto end = Clock::now() + pause; !isOver && Clock::now() < end;) {
      changed.wait_until(lock, end, [&] { return isOver || isHopeless(); });
      while (!isOver && isHopeless())
        fail(lock, failureOf("environment", lastFailure));
    }
    --failing;
  }

  void fail(std::unique_lock<std::mutex> &lock, CompileAnswer answer) {
    std::shared_ptr<Job> job = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    lock.unlock();
    finish(*job, std::move(answer), 0);
    lock.lock();
  }

  void end() {
    {
      std::lock_guard lock(mutex);
      isDraining = true;
      isOver = true;
      changed.notify_all();
    }
    threads.clear();
    std::unique_lock lock(mutex);
    while (!waiting.empty())
      fail(lock, failureOf("draining", environmentError("the service has ended", "ask again")));
  }

  const CompilePoolOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> waiting;
  /// Those that wait or run.
  std::unordered_map<std::string, std::shared_ptr<Job>> byRequest;
  std::size_t running = 0, idle = 0;
  int tried = 0;   ///< threads that have tried to start a worker
  int failing = 0; ///< threads whose worker does not start
  Error lastFailure;
  CompilePoolStats counts;
  bool isDraining = false;
  std::atomic<bool> isOver = false;
  std::vector<std::jthread> threads;
};

CompilePool::CompilePool(std::unique_ptr<State> state) : state(std::move(state)) {}
CompilePool::~CompilePool() = default;

Result<std::unique_ptr<CompilePool>> CompilePool::start(const CompilePoolOptions &options) {
  auto state = std::make_unique<State>(options);
  if (Status status = state->start(); !status)
    return status.error();
  return std::unique_ptr<CompilePool>(new CompilePool(std::move(state)));
}

Submitted CompilePool::submit(std::string request, Done done) {
  return state->submit(std::move(request), std::move(done));
}
void CompilePool::drain() { state->drain(); }
CompilePoolStats CompilePool::stats() const { return state->stats(); }

} // namespace attnc::service
