#pragma once

/// A cache on disk: values under keys that say all that they depend on.

#include "attnc/result.h"
#include "runtime/cache/entry_folder.h"
#include "runtime/cache/file_lock.h"
#include "runtime/cache/remote_tier.h"
#include "runtime/cache/single_flight.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::cache {

/// What a directory may hold without another word: some 40,000 kernels.
inline constexpr std::uint64_t defaultMaxBytes = std::uint64_t(4) << 30;

struct StoreOptions {
  std::filesystem::path directory;
  std::uint64_t maxBytes = defaultMaxBytes; ///< what is used least recently goes first
  bool readOnly = false;                    ///< nothing is written, locked or removed
  /// Null: the system's.
  std::shared_ptr<const FileOperations> files = nullptr;
  /// What is not in the directory is looked for there, and what was made is given there. Null:
  /// none.
  std::shared_ptr<RemoteTier> remote = nullptr;
};

/// Where a value was.
enum class Source { Made, Disk, Remote };
/// "compiler", "disk", "remote": who made it is always the compiler.
const char *nameOf(Source source);

/// What happened through one Store, in this process.
struct StoreCounts {
  std::uint64_t hits = 0;    ///< values found on disk
  std::uint64_t misses = 0;  ///< keys not found there
  std::uint64_t remote = 0;  ///< of those, found in the remote tier
  std::uint64_t made = 0;    ///< values made by getOrMake
  std::uint64_t dropped = 0; ///< files removed: damaged, cut off, foreign, or of another version
  std::uint64_t failed = 0;  ///< values that could not be written
};

/// What a directory holds.
struct StoreUsage {
  std::uint64_t entries = 0, bytes = 0; ///< bytes are those of the files
};

struct StoreStats {
  StoreCounts counts;
  std::array<StoreUsage, std::size(tiers)> usage; ///< by tier
  StoreUsage total() const;
};

struct PruneReport {
  std::uint64_t removed = 0, removedBytes = 0;
  StoreUsage left;
};

struct VerifyReport {
  std::uint64_t good = 0, dropped = 0;
};

struct PackReport {
  std::uint64_t entries = 0; ///< written to the pack, or added from it
  std::uint64_t present = 0; ///< in the pack and in the directory already
  std::uint64_t refused = 0; ///< of the pack: damaged
};

/// All methods are thread-safe, and any number of processes may use one directory. A value is
/// looked up by its key and nothing else, and comes back as it was put, or not at all. Keys are
/// those of KeyBuilder. The disk never makes anything fail: what cannot be read is made, and what
/// cannot be written is not kept, with one warning a process (warning.h).
class Store {
public:
  /// The cache of this user: ATTNC_CACHE_DIR, else $XDG_CACHE_HOME/attnc, else ~/.cache/attnc, with
  /// at most ATTNC_CACHE_SIZE bytes ("2GiB"), and the remote tier that ATTNC_REMOTE names. One
  /// object for all who ask while the variables stay. Null: ATTNC_CACHE is "off" or "0", or there
  /// is no home. A directory that cannot be used, or a size or a remote tier that is none, gives a
  /// warning; the first of these a store without a disk.
  static std::shared_ptr<Store> ofUser();

  /// Makes the directory if it is not there. Error (Environment): it cannot be used (directory.h).
  static Result<std::shared_ptr<Store>> open(const StoreOptions &options);

  /// Null: the directory cannot be used, so there is none.
  const EntryFolder *folder() const { return place ? &*place : nullptr; }
  std::uint64_t maxBytes() const { return options.maxBytes; }
  /// Null: there is none.
  RemoteTier *remote() const { return options.remote.get(); }

  struct Value {
    std::string bytes;
    /// Disk also where another thread or process made it meanwhile. Of what a `make` returns only
    /// what is Made goes to the remote tier: Remote came from there, Disk is for this machine
    /// alone.
    Source source = Source::Made;
  };
  /// From disk, else from the remote tier; then it is on disk too.
  std::optional<Value> find(Tier tier, const std::string &key);
  std::optional<std::string> get(Tier tier, const std::string &key);
  /// The bytes of its file, checked (entry.h). Of this directory alone.
  std::optional<std::string> getFile(Tier tier, const std::string &key);
  /// Counts as a use of an entry that somebody keeps in memory.
  void touch(Tier tier, const std::string &key);
  /// `source` as of a Value that a `make` returns.
  void put(Tier tier, const std::string &key, std::string_view value, Source source = Source::Made);
  /// Adds an entry that is the bytes of a file, unless it is there already: whether it was added.
  /// Errors: InvalidArgument, where it is no entry, or not as it was made; Environment, where it
  /// cannot be written.
  Result<bool> addFile(std::string_view file);

  using Make = std::function<Result<Value>()>;
  /// From disk, from the remote tier, or from `make`, which of all processes and threads that ask
  /// for the key only one calls at a time; the others wait for it. Where its process ends, the next
  /// one makes it. Where the directory has no locks, processes do not wait for each other. `make`
  /// may call this for a later tier only. Errors: those of `make`, for the threads that waited for
  /// it too; nothing of them is kept.
  Result<Value> getOrMake(Tier tier, const std::string &key, const Make &make);

  StoreStats stats() const;
  std::vector<EntryInfo> list() const;

  /// Reads every entry, and drops those that are not as they were put.
  VerifyReport verify();
  /// Removes what was used least recently until there are at most `maxBytes`, but nothing that was
  /// used within the last minute, and what dead writers have left. The store does so by itself, at
  /// times, with its own bound.
  PruneReport prune(std::uint64_t maxBytes);
  /// Removes all entries.
  PruneReport clear();

  using Filter = std::function<bool(const EntryInfo &)>;
  /// Writes the entries that `filter` lets pass (null: all) to one file, for importPack here or on
  /// another machine. Equal entries give equal bytes. Error (Environment): it cannot be written.
  Result<PackReport> exportPack(const std::string &file, const Filter &filter = nullptr);
  /// Adds what is missing here. Each entry is checked, and any bytes are safe to read; but whoever
  /// wrote the file has chosen the code that these entries are. Errors: Environment, where it
  /// cannot be read or an entry not written; InvalidArgument, where it is no pack or is cut off
  /// (what stands before is added).
  Result<PackReport> importPack(const std::string &file);

private:
  explicit Store(StoreOptions options) : options(std::move(options)) {}

  static std::shared_ptr<Store> withoutDisk(const StoreOptions &options, const Error &why);
  const FileOperations &files() const { return options.files ? *options.files : systemFiles(); }
  bool writes() const { return place && !options.readOnly; }
  /// An entry that is as it was put; one that is not is dropped.
  struct Read {
    std::string file, value;
  };
  std::optional<Read> read(Tier tier, const std::string &key, bool countsAsUse);
  std::optional<Read> use(Tier tier, const std::string &key);
  std::optional<LockableFile> lockKey(Tier tier, const std::string &key) const;
  /// What the remote tier has; it is on disk then.
  std::optional<std::string> fetch(Tier tier, const std::string &key);
  Status writeEntry(Tier tier, const std::string &key, std::string_view entry);
  Result<Value> makeAlone(Tier tier, const std::string &key, const Make &make);
  void pruneAtTimes(std::uint64_t written);
  PruneReport pruneNow(std::uint64_t maxBytes);

  const StoreOptions options;
  std::optional<EntryFolder> place;
  SingleFlight<std::pair<Tier, std::string>, Result<Value>> flights;
  std::atomic<std::uint64_t> hits = 0, misses = 0, fetched = 0, made = 0, dropped = 0, failed = 0;
  std::atomic<std::uint64_t> writtenSincePrune = 0;
};

/// What ofUser looks at. Empty: there is no cache.
std::string userStoreFolder();

} // namespace attnc::cache
