#pragma once

/// The files of a cache's directory.

#include "runtime/cache/entry.h"
#include "runtime/cache/file_operations.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnc::cache {

/// What is known of an entry without reading it.
struct EntryInfo {
  Tier tier = Tier::Program;
  std::string key;
  std::uint64_t bytes = 0; ///< of its file
  /// To a minute: a use within it is not written down.
  std::chrono::system_clock::time_point lastUse;
};

/// DIRECTORY/TIER/KEY for each entry; DIRECTORY/TIER.lock, of which a byte for each key is locked
/// by who makes it; DIRECTORY/prune.lock, whose time is that of the last pruning. The time of an
/// entry's file is that of its last use. Thread-safe.
class EntryFolder {
public:
  /// `files` stays for as long as this does.
  EntryFolder(std::string directory, const FileOperations &files, bool readOnly)
      : directory(std::move(directory)), files(files), readOnly(readOnly) {}

  /// Makes the directories. Error (Environment): they cannot be used.
  Status prepare() const;
  const std::string &path() const { return directory; }
  std::string pathOf(Tier tier, const std::string &key) const;
  std::string lockOf(Tier tier) const;
  std::string pruneLock() const { return directory + "/prune.lock"; }

  struct File {
    std::string bytes;
    std::uint64_t inode = 0;
  };
  /// The bytes of an entry's file; none where it is no plain file or larger than an entry can be,
  /// which is damage. Nothing: there is no such file, or it may not be read.
  std::optional<File> read(Tier tier, const std::string &key, bool countsAsUse) const;
  /// Counts as a use. Where it fails, the entry is pruned earlier.
  void touch(Tier tier, const std::string &key) const;
  /// Error (Environment): it cannot be written.
  Status write(Tier tier, const std::string &key, std::string_view file) const;
  /// Removes an entry, if it is still the file with this inode.
  void drop(Tier tier, const std::string &key, std::uint64_t inode) const;
  bool remove(Tier tier, const std::string &key) const;
  /// Removes an entry, if it was not used since `info` was taken.
  bool removeUnused(const EntryInfo &info) const;

  /// All entries, by tier and key.
  std::vector<EntryInfo> list() const;
  /// Removes what dead writers have left: temporary files that nobody has written for a while and
  /// nobody has locked.
  void removeAbandoned() const;

private:
  const std::string directory;
  const FileOperations &files;
  const bool readOnly;
};

/// How long after its last byte a temporary file may be abandoned.
inline constexpr std::chrono::minutes abandonedAfter{10};

} // namespace attnc::cache
