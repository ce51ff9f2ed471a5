// What takes longer than a thread that serves connections may wait: disks, and checks of large
// entries.
#ifndef ATTNC_TOOLS_ATTNCD_SERVICE_WORK_QUEUE_H
#define ATTNC_TOOLS_ATTNCD_SERVICE_WORK_QUEUE_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace attnc::service {

/// Threads that run what they are given, first come first served. Its length is bounded by whoever
/// adds to it: a connection waits for one at a time. Thread-safe.
class WorkQueue {
public:
  explicit WorkQueue(int threads);
  /// Runs what is left, then ends.
  ~WorkQueue();
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;

  void add(std::function<void()> work);

private:
  void run();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  bool ends = false;
  std::vector<std::thread> threads;
};

} // namespace attnc::service

#endif
