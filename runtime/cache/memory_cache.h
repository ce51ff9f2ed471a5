#pragma once

/// Values of this process by key: a bounded cache in which of several threads that ask for the same
/// key one makes the value. What bounds it is their number, or their sizes.

#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>
#include <unordered_map>

namespace attnc::cache {

struct MemoryStats {
  std::size_t values = 0;    ///< kept now
  std::size_t size = 0;      ///< of these, all together
  std::uint64_t hits = 0;    ///< found
  std::uint64_t waits = 0;   ///< of the hits, those that waited for another thread's value
  std::uint64_t misses = 0;  ///< made
  std::uint64_t dropped = 0; ///< to stay within the capacity
};

/// Thread-safe. A value lives as long as somebody holds it, also without the cache.
template <typename Value> class MemoryCache {
public:
  using Pointer = std::shared_ptr<const Value>;
  using SizeOf = std::function<std::size_t(const Value &)>;

  /// `capacity` is the number of values kept, or, with `sizeOf`, the sum of their sizes; the least
  /// recently used go first. Values that are being made do not count.
  explicit MemoryCache(
      std::size_t capacity, SizeOf sizeOf = [](const Value &) { return 1; })
      : capacity(capacity), sizeOf(std::move(sizeOf)) {}

  /// The value of `key`, if it is kept. Does not wait for who makes it.
  Pointer find(const std::string &key) {
    std::unique_lock<std::mutex> lock(mutex);
    auto found = entries.find(key);
    if (found == entries.end() || !found->second->ready)
      return nullptr;
    ++counts.hits;
    order.splice(order.begin(), order, found->second);
    std::shared_future<Pointer> value = found->second->value;
    lock.unlock();
    return value.get();
  }

  /// The value of `key`, or what `make` returns, which is called without a lock held. It is kept
  /// only if `keeps`; who waited for it gets it all the same. What `make` throws, all of them get,
  /// and it is tried again by the next who asks.
  Pointer getOrMake(const std::string &key, const std::function<Pointer()> &make,
                    const std::function<bool(const Value &)> &keeps) {
    std::promise<Pointer> promise;
    std::uint64_t turn;
    {
      std::unique_lock<std::mutex> lock(mutex);
      auto found = entries.find(key);
      // After a fork nobody in the child makes what a thread of its parent was making.
      if (found != entries.end() && !found->second->ready && found->second->process != ::getpid()) {
        order.erase(found->second);
        entries.erase(found);
        found = entries.end();
      }
      if (found != entries.end()) {
        ++counts.hits;
        counts.waits += !found->second->ready;
        order.splice(order.begin(), order, found->second);
        std::shared_future<Pointer> value = found->second->value;
        lock.unlock();
        return value.get();
      }
      ++counts.misses;
      turn = ++turns;
      order.push_front({key, promise.get_future().share(), false, 0, turn, ::getpid()});
      entries[key] = order.begin();
    }
    try {
      Pointer value = make();
      settle(key, turn, keeps(*value) ? std::optional(sizeOf(*value)) : std::nullopt);
      promise.set_value(value);
      return value;
    } catch (...) {
      settle(key, turn, std::nullopt);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  /// Forgets all values. Those that are being made are not kept.
  void clear() {
    std::lock_guard<std::mutex> lock(mutex);
    entries.clear();
    order.clear();
    ready = kept = 0;
  }

  MemoryStats stats() const {
    std::lock_guard<std::mutex> lock(mutex);
    MemoryStats result = counts;
    result.values = ready;
    result.size = kept;
    return result;
  }

private:
  struct Entry {
    std::string key;
    std::shared_future<Pointer> value;
    bool ready;
    std::size_t size;   // once it is ready
    std::uint64_t turn; // tells it from another of its key, made after a clear
    pid_t process;      // that makes it
  };

  /// No size: it is not kept.
  void settle(const std::string &key, std::uint64_t turn, std::optional<std::size_t> size) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = entries.find(key);
    if (found == entries.end() || found->second->turn != turn)
      return;
    if (!size || *size > capacity) {
      order.erase(found->second);
      entries.erase(found);
      return;
    }
    found->second->ready = true;
    found->second->size = *size;
    ++ready;
    for (kept += *size; kept > capacity;)
      dropLast();
  }

  void dropLast() {
    auto last = std::prev(order.end());
    while (!last->ready)
      --last;
    kept -= last->size;
    --ready;
    entries.erase(last->key);
    order.erase(last);
    ++counts.dropped;
  }

  const std::size_t capacity;
  const SizeOf sizeOf;
  mutable std::mutex mutex;
  std::list<Entry> order; // the most recently used first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> entries;
  std::size_t ready = 0, kept = 0; // values, and their sizes
  std::uint64_t turns = 0;
  MemoryStats counts;
};

} // namespace attnc::cache
