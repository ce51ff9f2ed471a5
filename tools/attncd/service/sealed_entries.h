// Entries as clients get and give them: sealed.
#ifndef ATTNC_TOOLS_ATTNCD_SERVICE_SEALED_ENTRIES_H
#define ATTNC_TOOLS_ATTNCD_SERVICE_SEALED_ENTRIES_H

#include "runtime/cache/memory_cache.h"
#include "runtime/cache/store.h"
#include "runtime/remote/sealed_entry.h"
#include "tools/attncd/metrics.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace attnc::service {

/// Entries of a store on disk, and the sealed bytes of those that are asked for in memory.
/// Thread-safe.
class SealedEntries {
public:
  using Bytes = std::shared_ptr<const std::string>;

  /// `memoryBytes` bounds what is kept in memory. What is asked for there counts as used on disk
  /// too, once in `betweenTouches`.
  SealedEntries(std::shared_ptr<cache::Store> store, remote::FleetKeys keys, Metrics &metrics,
                std::size_t memoryBytes,
                std::chrono::nanoseconds betweenTouches = std::chrono::minutes(1));

  struct Found {
    Bytes bytes;
    bool needsTouch; ///< the disk believes for a while that nobody uses it: touch it
  };
  /// The sealed entry if it is in memory. Does not wait for anything.
  std::optional<Found> find(cache::Tier tier, const std::string &key);
  void touch(cache::Tier tier, const std::string &key) { store->touch(tier, key); }
  /// From disk, and then in memory. Null: there is none that is as it was put.
  Bytes load(cache::Tier tier, const std::string &key);

  /// What became of bytes that somebody wants to have stored under a key.
  struct Taken {
    EntryEvent event; ///< Stored, WasThere, NotSealed, AnotherEntry, Damaged or NotWritten
    std::string message = {}, remedy = {};
  };
  Taken take(cache::Tier tier, const std::string &key, std::string_view sealed);

  /// An entry that this process has made, sealed, and then in memory.
  Bytes keep(cache::Tier tier, const std::string &key, const std::string &entry);

  cache::MemoryStats memory() const { return hot.stats(); }
  /// What is on disk. Reads its directory.
  cache::StoreStats stored() const { return store->stats(); }

private:
  struct Kept {
    std::string sealed;                         ///< empty: there is no such entry
    mutable std::atomic<std::int64_t> used = 0; ///< on disk; nanoseconds of the steady clock
  };
  static std::shared_ptr<const Kept> keptOf(std::string sealed);
  /// The bytes live as long as somebody holds them.
  static Bytes bytesOf(const std::shared_ptr<const Kept> &kept) { return {kept, &kept->sealed}; }
  Taken check(cache::Tier tier, const std::string &key, std::string_view sealed);

  const std::shared_ptr<cache::Store> store;
  const remote::FleetKeys keys;
  Metrics &metrics;
  const std::chrono::nanoseconds betweenTouches;
  cache::MemoryCache<Kept> hot; ///< by "TIER/KEY"
};

} // namespace attnc::service

#endif
