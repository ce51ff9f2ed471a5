// What keeps a store's directory small and sound.
#include "runtime/cache/store.h"

#include <algorithm>
#include <chrono>
#include <sys/stat.h>

namespace attnc::cache {

namespace {

using Clock = std::chrono::system_clock;

constexpr std::chrono::minutes recently{1}, betweenPrunings{10};

/// The least recently used first. A time in the future is a clock's that was wrong: it says
/// nothing.
std::vector<EntryInfo> byLastUse(std::vector<EntryInfo> entries, Clock::time_point now) {
  auto use = [&](const EntryInfo &entry) {
    return entry.lastUse > now + recently ? Clock::time_point() : entry.lastUse;
  };
  std::sort(entries.begin(), entries.end(),
            [&](const EntryInfo &a, const EntryInfo &b) { return use(a) < use(b); });
  return entries;
}

bool isRecent(const EntryInfo &entry, Clock::time_point now) {
  return entry.lastUse > now - recently && entry.lastUse <= now + recently;
}

} // namespace

StoreStats Store::stats() const {
  StoreStats stats;
  stats.counts = {hits, misses, fetched, made, dropped, failed};
  for (const EntryInfo &entry : list()) {
    StoreUsage &usage = stats.usage[static_cast<std::size_t>(entry.tier)];
    ++usage.entries;
    usage.bytes += entry.bytes;
  }
  return stats;
}

std::vector<EntryInfo> Store::list() const {
  return place ? place->list() : std::vector<EntryInfo>();
}

VerifyReport Store::verify() {
  VerifyReport report;
  for (const EntryInfo &entry : list())
    ++(read(entry.tier, entry.key, /*countsAsUse=*/false) ? report.good : report.dropped);
  return report;
}

PruneReport Store::prune(std::uint64_t maxBytes) {
  if (!writes())
    return {};
  std::optional<LockableFile> lock = LockableFile::openForLocks(files(), place->pruneLock());
  if (lock)
    lock->lock(0, /*waits=*/true); // two at once would do no harm, only twice the work
  return pruneNow(maxBytes);
}

PruneReport Store::pruneNow(std::uint64_t maxBytes) {
  place->removeAbandoned();
  Clock::time_point now = Clock::now();
  PruneReport report;
  std::vector<EntryInfo> entries = byLastUse(place->list(), now);
  for (const EntryInfo &entry : entries) {
    ++report.left.entries;
    report.left.bytes += entry.bytes;
  }
  for (const EntryInfo &entry : entries) {
    if (report.left.bytes <= maxBytes)
      break;
    if (isRecent(entry, now) || !place->removeUnused(entry))
      continue;
    ++report.removed;
    report.removedBytes += entry.bytes;
    --report.left.entries;
    report.left.bytes -= entry.bytes;
  }
  return report;
}

void Store::pruneAtTimes(std::uint64_t written) {
  writtenSincePrune += written;
  struct stat status = {};
  bool isDue = ::stat(place->pruneLock().c_str(), &status) != 0 ||
               Clock::now() - Clock::from_time_t(status.st_mtime) > betweenPrunings;
  // Sixteen processes may write as much before the bound is crossed by all of it.
  if (!isDue && writtenSincePrune < options.maxBytes / 16)
    return;
  std::optional<LockableFile> lock = LockableFile::openForLocks(files(), place->pruneLock());
  if (!lock || !lock->lock(0, /*waits=*/false))
    return; // somebody prunes
  ::futimens(lock->descriptor(), nullptr);
  writtenSincePrune = 0;
  pruneNow(options.maxBytes);
}

PruneReport Store::clear() {
  PruneReport report;
  if (!place)
    return report;
  place->removeAbandoned();
  for (const EntryInfo &entry : place->list())
    if (place->remove(entry.tier, entry.key)) {
      ++report.removed;
      report.removedBytes += entry.bytes;
    } else {
      ++report.left.entries;
      report.left.bytes += entry.bytes;
    }
  return report;
}

} // namespace attnc::cache
