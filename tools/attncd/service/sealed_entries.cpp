#include "tools/attncd/service/sealed_entries.h"

#include <fmt/format.h>

namespace attnc::service {

namespace {

std::int64_t steadyNow() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::string nameOfEntry(cache::Tier tier, const std::string &key) {
  return std::string(nameOf(tier)) + '/' + key;
}

} // namespace

SealedEntries::SealedEntries(std::shared_ptr<cache::Store> store, remote::FleetKeys keys,
                             Metrics &metrics, std::size_t memoryBytes,
                             std::chrono::nanoseconds betweenTouches)
    : store(std::move(store)), keys(std::move(keys)), metrics(metrics),
      betweenTouches(betweenTouches),
      // What a small entry costs beside its bytes is about this much.
      hot(memoryBytes, [](const Kept &kept) { return kept.sealed.capacity() + 512; }) {}

std::shared_ptr<const SealedEntries::Kept> SealedEntries::keptOf(std::string sealed) {
  auto kept = std::make_shared<Kept>();
  kept->sealed = std::move(sealed);
  kept->used = steadyNow();
  return kept;
}

std::optional<SealedEntries::Found> SealedEntries::find(cache::Tier tier, const std::string &key) {
  std::shared_ptr<const Kept> kept = hot.find(nameOfEntry(tier, key));
  if (!kept)
    return std::nullopt;
  metrics.count(EntryEvent::HitInMemory);
  std::int64_t now = steadyNow(), used = kept->used;
  bool isDue = now - used > betweenTouches.count() && kept->used.compare_exchange_strong(used, now);
  return Found{bytesOf(kept), isDue};
}

SealedEntries::Bytes SealedEntries::load(cache::Tier tier, const std::string &key) {
  auto read = [&] {
    std::optional<std::string> entry = store->getFile(tier, key);
    return keptOf(entry ? remote::seal(keys, *entry) : "");
  };
  std::shared_ptr<const Kept> kept = hot.getOrMake(
      nameOfEntry(tier, key), read, [](const Kept &kept) { return !kept.sealed.empty(); });
  metrics.count(kept->sealed.empty() ? EntryEvent::Missed : EntryEvent::HitOnDisk);
  return kept->sealed.empty() ? nullptr : bytesOf(kept);
}

SealedEntries::Bytes SealedEntries::keep(cache::Tier tier, const std::string &key,
                                         const std::string &entry) {
  return bytesOf(hot.getOrMake(
      nameOfEntry(tier, key), [&] { return keptOf(remote::seal(keys, entry)); },
      [](const Kept &) { return true; }));
}

SealedEntries::Taken SealedEntries::check(cache::Tier tier, const std::string &key,
                                          std::string_view sealed) {
  Result<std::string_view> entry = remote::unseal(keys, sealed);
  if (!entry) // what has no seal at all is a mistake; what has another one is not ours to take
    return {sealed.starts_with("attncrem") && sealed.size() >= remote::sealBytes
                ? EntryEvent::NotSealed
                : EntryEvent::Damaged,
            entry.error().message, entry.error().remedy};
  Result<cache::EntryHeader> header = cache::readHeader(*entry);
  if (!header)
    return {EntryEvent::Damaged, header.error().message};
  if (header->tier != tier || header->key != key)
    return {EntryEvent::AnotherEntry,
            fmt::format("the entry is {}", nameOfEntry(header->tier, header->key)),
            "the path has to name the entry that is sent"};
  Result<bool> added = store->addFile(*entry);
  if (!added && added.error().kind == ErrorKind::InvalidArgument)
    return {EntryEvent::Damaged, added.error().message};
  if (!added)
    return {EntryEvent::NotWritten, "the entry could not be stored",
            "the log of attncd says why; its disk may be full"};
  return {*added ? EntryEvent::Stored : EntryEvent::WasThere};
}

SealedEntries::Taken SealedEntries::take(cache::Tier tier, const std::string &key,
                                         std::string_view sealed) {
  Taken taken = check(tier, key, sealed);
  metrics.count(taken.event);
  return taken;
}

} // namespace attnc::service
