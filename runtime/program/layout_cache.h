#pragma once

/// What is remembered of calls, by their layout: all of a call but the addresses of its tensors.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attnc {

/// A layout in words: whoever makes a key puts into it all that a layout depends on, the alignment
/// of addresses included (alignmentClass). Equal words are equal layouts.
struct LayoutKey {
  std::vector<std::int64_t> words;

  std::size_t hash() const {
    std::uint64_t mixed = words.size();
    for (std::int64_t word : words) {
      mixed = (mixed ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 32;
    }
    return mixed;
  }
};

/// What a layout may depend on of an address: the greatest power of two that divides it, up to 256,
/// to which workspaces are aligned; 0 for null.
inline std::int64_t alignmentClass(const void *address) {
  auto bits = reinterpret_cast<std::uintptr_t>(address);
  std::uintptr_t withMost = bits | 256;
  return bits ? static_cast<std::int64_t>(withMost & (~withMost + 1)) : 0;
}

/// A bounded map from layouts to what was made for them; the entry that was not used for the
/// longest time goes first. Safe to use from several threads.
template <typename T> class LayoutCache {
public:
  explicit LayoutCache(std::size_t capacity = 256) : capacity(capacity) {}

  /// What is remembered under `key`, or null.
  std::shared_ptr<const T> find(const LayoutKey &key) const {
    std::shared_lock lock(mutex);
    auto [first, last] = entries.equal_range(key.hash());
    for (; first != last; ++first)
      if (first->second->words == key.words) {
        first->second->used.store(clock.fetch_add(1, std::memory_order_relaxed),
                                  std::memory_order_relaxed);
        return first->second->value;
      }
    return nullptr;
  }

  /// Of two threads that remember the same layout, either may win.
  void remember(const LayoutKey &key, std::shared_ptr<const T> value) {
    auto entry = std::make_unique<Entry>(key.words, std::move(value), clock.fetch_add(1));
    std::unique_lock lock(mutex);
    auto [first, last] = entries.equal_range(key.hash());
    for (; first != last; ++first)
      if (first->second->words == key.words) {
        first->second = std::move(entry);
        return;
      }
    if (entries.size() >= capacity)
      entries.erase(oldest());
    entries.emplace(key.hash(), std::move(entry));
  }

  std::size_t size() const {
    std::shared_lock lock(mutex);
    return entries.size();
  }

private:
  struct Entry {
    Entry(std::vector<std::int64_t> words, std::shared_ptr<const T> value, std::uint64_t used)
        : words(std::move(words)), value(std::move(value)), used(used) {}

    std::vector<std::int64_t> words;
    std::shared_ptr<const T> value;
    std::atomic<std::uint64_t> used;
  };
  using Entries = std::unordered_multimap<std::size_t, std::unique_ptr<Entry>>;

  typename Entries::iterator oldest() {
    auto found = entries.begin();
    for (auto each = entries.begin(); each != entries.end(); ++each)
      if (each->second->used < found->second->used)
        found = each;
    return found;
  }

  const std::size_t capacity;
  mutable std::shared_mutex mutex;
  mutable std::atomic<std::uint64_t> clock = 0;
  Entries entries;
};

} // namespace attnc
