#include "tools/attncd/service/work_queue.h"

namespace attnc::service {

WorkQueue::WorkQueue(int count) {
  for (int i = 0; i < count; ++i)
    threads.emplace_back([this] { run(); });
}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard guard(mutex);
    ends = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkQueue::add(std::function<void()> work) {
  {
    std::lock_guard guard(mutex);
    waiting.push_back(std::move(work));
  }
  changed.notify_one();
}

void WorkQueue::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ends || !waiting.empty(); });
    if (waiting.empty())
      return;
    std::function<void()> work = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    work();
    work = nullptr; // what it holds goes before anybody waits for the lock
    lock.lock();
  }
}

} // namespace attnc::service
