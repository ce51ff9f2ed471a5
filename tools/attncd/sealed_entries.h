// Entries as clients get and give them: sealed.
#ifndef ATTNC_TOOLS_ATTNCD_SEALED_ENTRIES_H
#define ATTNC_TOOLS_ATTNCD_SEALED_ENTRIES_H

#include "runtime/cache/memory_cache.h"
#include "runtime/cache/store.h"
#include "runtime/remote/sealed_entry.h"
#include "tools/attncd/metrics.h"

#include <memory>
#include <string>

namespace attnc::service {

/// Entries of a store on disk, and the sealed bytes of those that are asked for in memory.
/// Thread-safe.
class SealedEntries {
public:
  using Bytes = std::shared_ptr<const std::string>;

  /// `memoryBytes` bounds what is kept in memory.
  SealedEntries(std::shared_ptr<cache::Store> store, remote::FleetKeys keys, Metrics &metrics,
                std::size_t memoryBytes);

  /// The sealed entry if it is in memory, else null. Does not wait for anything.
  Bytes find(cache::Tier tier, const std::string &key);
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
  Taken check(cache::Tier tier, const std::string &key, std::string_view sealed);

  const std::shared_ptr<cache::Store> store;
  const remote::FleetKeys keys;
  Metrics &metrics;
  cache::MemoryCache<std::string> hot; ///< by "TIER/KEY"; an empty one is not there
};

} // namespace attnc::service

#endif
