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

const char *nameOf(Source source) {
  return source == Source::Made ? "compiler" : source == Source::Disk ? "disk" : "remote";
}

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

std::shared_ptr<Store> Store::withoutDisk(const StoreOptions &options, const Error &why) {
  warnOnce(notUsed(why));
  return std::shared_ptr<Store>(new Store(options));
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

std::optional<Store::Read> Store::use(Tier tier, const std::string &key) {
  std::optional<Read> found = read(tier, key, /*countsAsUse=*/true);
  ++(found ? hits : misses);
  return found;
}

std::optional<Store::Value> Store::find(Tier tier, const std::string &key) {
  if (std::optional<Read> found = use(tier, key))
    return Value{std::move(found->value), Source::Disk};
  std::optional<std::string> fetched = fetch(tier, key);
  return fetched ? std::optional(Value{*std::move(fetched), Source::Remote}) : std::nullopt;
}

std::optional<std::string> Store::get(Tier tier, const std::string &key) {
  std::optional<Value> value = find(tier, key);
  return value ? std::optional(std::move(value->bytes)) : std::nullopt;
}

std::optional<std::string> Store::fetch(Tier tier, const std::string &key) {
  std::optional<std::string> entry = remote() ? remote()->get(tier, key) : std::nullopt;
  Result<std::string> value =
      entry ? decodeEntry(tier, key, *entry) : invalidArgument("there is none");
  if (!value)
    return std::nullopt;
  ++fetched;
  (void)writeEntry(tier, key, *entry).ok(); // it has said that it cannot, and the value is here
  return *std::move(value);
}

Status Store::writeEntry(Tier tier, const std::string &key, std::string_view entry) {
  if (!writes())
    return {};
  if (Status status = place->write(tier, key, entry); !status) {
    ++failed;
    warnOnce(notUsed(status.error()));
    return status;
  }
  pruneAtTimes(entry.size());
  return {};
}

std::optional<std::string> Store::getFile(Tier tier, const std::string &key) {
  std::optional<Read> found = use(tier, key);
  return found ? std::optional(std::move(found->file)) : std::nullopt;
}

void Store::touch(Tier tier, const std::string &key) {
  if (writes())
    place->touch(tier, key);
}

void Store::put(Tier tier, const std::string &key, std::string_view value, Source source) {
  bool gives = remote() && source == Source::Made;
  if (value.size() > maxEntryBytes || (!writes() && !gives))
    return;
  std::string entry = encodeEntry(tier, key, value);
  (void)writeEntry(tier, key, entry).ok();
  if (gives)
    remote()->put(tier, key, entry);
}

Result<bool> Store::addFile(std::string_view file) {
  if (!writes())
    return environmentError("there is no cache to add to", "see `attnc doctor`");
  Result<EntryHeader> header = readHeader(file);
  if (!header)
    return header.error();
  if (Result<std::string> value = decodeEntry(header->tier, header->key, file); !value)
    return value.error();
  if (read(header->tier, header->key, /*countsAsUse=*/false))
    return false;
  if (Status status = writeEntry(header->tier, header->key, file); !status)
    return status.error();
  return true;
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

Result<Store::Value> Store::makeAlone(Tier tier, const std::string &key, const Make &make) {
  std::optional<LockableFile> lock = lockKey(tier, key);
  // Whoever had the lock may have made it.
  if (std::optional<Read> found = read(tier, key, /*countsAsUse=*/true))
    return Value{std::move(found->value), Source::Disk};
  if (std::optional<std::string> found = fetch(tier, key))
    return Value{*std::move(found), Source::Remote};
  Result<Value> value = make();
  if (!value)
    return value.error();
  made += value->source == Source::Made;
  put(tier, key, value->bytes, value->source);
  return value;
}

Result<Store::Value> Store::getOrMake(Tier tier, const std::string &key, const Make &make) {
  std::optional<Read> found = read(tier, key, /*countsAsUse=*/true);
  ++(found ? hits : misses);
  if (found)
    return Value{std::move(found->value), Source::Disk};
  auto [result, ofOther] = flights.share({tier, key}, [&] { return makeAlone(tier, key, make); });
  if (result && ofOther)
    result->source = Source::Disk;
  return std::move(result);
}

} // namespace attnc::cache
