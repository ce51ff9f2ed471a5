#include "runtime/cache/store.h"

#include "runtime/cache/warning.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace attnc::cache {

namespace {

/// Of the file that is locked: the first 60 bits of the key. Two keys that share them wait for each
/// other, which does no harm.
std::int64_t lockedByte(const std::string &key) {
  return static_cast<std::int64_t>(std::stoull(key.substr(0, 15), nullptr, 16));
}

Error notUsed(const Error &why) {
  return {why.kind, "the cache is not used: " + why.message,
          why.remedy + "; ATTNC_CACHE=off says that it is not wanted"};
}

} // namespace

StoreUsage StoreStats::total() const {
  StoreUsage all;
  for (const StoreUsage &one : usage) {
    all.entries += one.entries;
    all.bytes += one.bytes;
  }
  return all;
}

Result<std::shared_ptr<Store>> Store::open(const StoreOptions &options) {
  std::shared_ptr<Store> store(new Store(options));
  store->place.emplace(options.directory, store->files(), options.readOnly);
  if (Status status = store->place->prepare(); !status)
    return status.error();
  return store;
}

std::shared_ptr<Store> Store::withoutDisk(const Error &why) {
  warnOnce(notUsed(why));
  return std::shared_ptr<Store>(new Store({}));
}

std::optional<Store::Read> Store::read(Tier tier, const std::string &key, bool countsAsUse) {
  if (!place)
    return std::nullopt;
  std::optional<EntryFolder::File> file = place->read(tier, key, countsAsUse);
  if (!file)
    return std::nullopt;
  if (Result<std::string> value = decodeEntry(tier, key, file->bytes))
    return Read{std::move(file->bytes), *std::move(value)};
  if (writes()) {
    place->drop(tier, key, file->inode);
    ++dropped;
  }
  return std::nullopt;
}

std::optional<std::string> Store::get(Tier tier, const std::string &key) {
  std::optional<Read> found = read(tier, key, /*countsAsUse=*/true);
  ++(found ? hits : misses);
  return found ? std::optional(std::move(found->value)) : std::nullopt;
}

void Store::put(Tier tier, const std::string &key, std::string_view value) {
  if (!writes() || value.size() > maxEntryBytes)
    return;
  std::string file = encodeEntry(tier, key, value);
  if (Status status = place->write(tier, key, file); !status) {
    ++failed;
    warnOnce(notUsed(status.error()));
    return;
  }
  pruneAtTimes(file.size());
}

std::optional<LockableFile> Store::lockKey(Tier tier, const std::string &key) const {
  if (!writes())
    return std::nullopt;
  std::string path = place->lockOf(tier);
  std::optional<LockableFile> file = LockableFile::openForLocks(files(), path);
  if (!file && errno == ENOENT && place->prepare()) // somebody has removed the directory
    file = LockableFile::openForLocks(files(), path);
  if (file && file->lock(lockedByte(key), /*waits=*/true))
    return file;
  warnOnce(environmentError(
      fmt::format("the cache has no locks: {}: {}", path, std::strerror(errno)),
      "processes that start together make the same things; ATTNC_CACHE_DIR names a directory on "
      "another disk, ATTNC_CACHE=off goes without one"));
  return std::nullopt;
}

Result<Store::Made> Store::makeAlone(Tier tier, const std::string &key, const Make &make) {
  std::optional<LockableFile> lock = lockKey(tier, key);
  // Whoever had the lock may have made it.
  if (std::optional<Read> found = read(tier, key, /*countsAsUse=*/true))
    return Made{std::move(found->value), true};
  Result<std::string> value = make();
  if (!value)
    return value.error();
  ++made;
  put(tier, key, *value);
  return Made{*std::move(value), false};
}

Result<Store::Made> Store::getOrMake(Tier tier, const std::string &key, const Make &make) {
  if (std::optional<std::string> value = get(tier, key))
    return Made{*std::move(value), true};
  auto [result, ofOther] = flights.share({tier, key}, [&] { return makeAlone(tier, key, make); });
  if (result && ofOther)
    result->fromDisk = true;
  return std::move(result);
}

} // namespace attnc::cache
