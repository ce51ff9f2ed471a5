#include "tools/attncd/sealed_entries.h"

#include <fmt/format.h>

namespace attnc::service {

namespace {

std::string nameOfEntry(cache::Tier tier, const std::string &key) {
  return std::string(nameOf(tier)) + '/' + key;
}

} // namespace

SealedEntries::SealedEntries(std::shared_ptr<cache::Store> store, remote::FleetKeys keys,
                             Metrics &metrics, std::size_t memoryBytes)
    : store(std::move(store)), keys(std::move(keys)), metrics(metrics),
      // What a small entry costs beside its bytes is about this much.
      hot(memoryBytes, [](const std::string &sealed) { return sealed.capacity() + 512; }) {}

SealedEntries::Bytes SealedEntries::find(cache::Tier tier, const std::string &key) {
  Bytes found = hot.find(nameOfEntry(tier, key));
  if (found)
    metrics.count(EntryEvent::HitInMemory);
  return found;
}

SealedEntries::Bytes SealedEntries::load(cache::Tier tier, const std::string &key) {
  auto read = [&] {
    std::optional<std::string> entry = store->getFile(tier, key);
    return std::make_shared<const std::string>(entry ? remote::seal(keys, *entry) : "");
  };
  Bytes sealed = hot.getOrMake(nameOfEntry(tier, key), read,
                               [](const std::string &bytes) { return !bytes.empty(); });
  metrics.count(sealed->empty() ? EntryEvent::Missed : EntryEvent::HitOnDisk);
  return sealed->empty() ? nullptr : sealed;
}

SealedEntries::Bytes SealedEntries::keep(cache::Tier tier, const std::string &key,
                                         const std::string &entry) {
  return hot.getOrMake(
      nameOfEntry(tier, key),
      [&] { return std::make_shared<const std::string>(remote::seal(keys, entry)); },
      [](const std::string &) { return true; });
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
