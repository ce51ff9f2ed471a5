#pragma once

/// Threads that want the same thing at the same time: one gets it, for all.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <utility>

namespace attnc::cache {

/// Thread-safe.
template <typename Key, typename Value> class SingleFlight {
public:
  /// What `get()` returns, which no two threads call for one key at a time: those that come
  /// meanwhile wait, and have a copy of the value and `true`. If it throws, its thread has the
  /// exception, and one of the others calls its own.
  template <typename Get> std::pair<Value, bool> share(const Key &key, const Get &get) {
    std::unique_lock lock(mutex);
    while (true) {
      std::shared_ptr<Flight> &place = flights[key];
      // After a fork the child has its parent's flights, and none of the threads that would land.
      bool isFirst = !place || place->process != ::getpid();
      if (isFirst)
        place = std::make_shared<Flight>();
      std::shared_ptr<Flight> flight = place;
      if (isFirst) {
        lock.unlock();
        return {lead(key, std::move(flight), get), false};
      }
      ++flight->waiting;
      landed.wait(lock, [&] { return flight->isOver; });
      if (flight->value)
        return {*flight->value, true};
    }
  }

private:
  struct Flight {
    std::optional<Value> value;
    int waiting = 0;
    pid_t process = ::getpid();
    bool isOver = false;
  };

  template <typename Get>
  Value lead(const Key &key, std::shared_ptr<Flight> flight, const Get &get) {
    std::optional<Value> value;
    auto land = [&](void *) {
      std::lock_guard lock(mutex);
      if (flight->waiting)
        flight->value = value;
      flight->isOver = true;
      flights.erase(key);
      landed.notify_all();
    };
    std::unique_ptr<void, decltype(land)> landing(this, land); // also if it throws
    value = get();
    return *value;
  }

  std::mutex mutex;
  std::condition_variable landed;
  std::map<Key, std::shared_ptr<Flight>> flights;
};

} // namespace attnc::cache
