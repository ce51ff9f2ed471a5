#include "runtime/cache/entry_folder.h"

#include "runtime/cache/atomic_file.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/file_lock.h"
#include "runtime/cache/sha256.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

namespace attnc::cache {

namespace {

using Clock = std::chrono::system_clock;

Clock::time_point timeOf(const struct stat &status) {
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(
      std::chrono::seconds(status.st_mtim.tv_sec) +
      std::chrono::nanoseconds(status.st_mtim.tv_nsec)));
}

/// Closed with the object.
struct OpenFile {
  explicit OpenFile(const std::string &path)
      // A pipe in the place of an entry does not make us wait for its writer.
      : file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenFile() {
    if (file >= 0)
      ::close(file);
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;
  const int file;
};

/// As many bytes as there are, at most those of `bytes`.
void readAll(int file, std::string &bytes) {
  std::size_t count = 0;
  while (count < bytes.size()) {
    ssize_t part = ::read(file, bytes.data() + count, bytes.size() - count);
    if (part < 0 && errno == EINTR)
      continue;
    if (part <= 0)
      break;
    count += static_cast<std::size_t>(part);
  }
  bytes.resize(count);
}

} // namespace

std::string EntryFolder::pathOf(Tier tier, const std::string &key) const {
  return directory + "/" + std::string(nameOf(tier)) + "/" + key;
}

std::string EntryFolder::lockOf(Tier tier) const {
  return directory + "/" + std::string(nameOf(tier)) + ".lock";
}

Status EntryFolder::prepare() const {
  if (readOnly)
    return checkPrivateDirectory(directory, /*rootsIsGood=*/true);
  if (Status made = makePrivateDirectory(files, directory); !made)
    return made;
  for (Tier tier : tiers)
    if (Status made = makePrivateDirectory(files, directory + "/" + std::string(nameOf(tier)));
        !made)
      return made;
  return {};
}

std::optional<EntryFolder::File> EntryFolder::read(Tier tier, const std::string &key,
                                                   bool countsAsUse) const {
  OpenFile open(pathOf(tier, key));
  struct stat status = {};
  if (open.file < 0 && errno == ELOOP && ::lstat(pathOf(tier, key).c_str(), &status) == 0)
    return File{"", status.st_ino}; // a symbolic link
  if (open.file < 0 || ::fstat(open.file, &status) != 0)
    return std::nullopt;
  File result{"", status.st_ino};
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) >
                                      entryHeaderBytes + ZSTD_compressBound(maxEntryBytes))
    return result;
  result.bytes.resize(static_cast<std::size_t>(status.st_size));
  readAll(open.file, result.bytes);
  if (countsAsUse && !readOnly && Clock::now() - timeOf(status) > std::chrono::minutes(1))
    ::futimens(open.file, nullptr); // where it fails, the entry is pruned earlier
  return result;
}

void EntryFolder::touch(Tier tier, const std::string &key) const {
  if (!readOnly)
    ::utimensat(AT_FDCWD, pathOf(tier, key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Status EntryFolder::write(Tier tier, const std::string &key, std::string_view file) const {
  Status status = writeAtomically(files, pathOf(tier, key), file, 0600);
  std::error_code ignored;
  if (status || std::filesystem::exists(directory + "/" + std::string(nameOf(tier)), ignored))
    return status;
  // Somebody has removed the directory meanwhile, or what was in it.
  if (Status prepared = prepare(); !prepared)
    return prepared;
  return writeAtomically(files, pathOf(tier, key), file, 0600);
}

void EntryFolder::drop(Tier tier, const std::string &key, std::uint64_t inode) const {
  struct stat status = {};
  if (::lstat(pathOf(tier, key).c_str(), &status) == 0 && status.st_ino == inode)
    remove(tier, key);
}

bool EntryFolder::remove(Tier tier, const std::string &key) const {
  return !readOnly && files.remove(pathOf(tier, key)) == 0;
}

bool EntryFolder::removeUnused(const EntryInfo &info) const {
  struct stat status = {};
  return ::lstat(pathOf(info.tier, info.key).c_str(), &status) == 0 &&
         timeOf(status) == info.lastUse && remove(info.tier, info.key);
}

std::vector<EntryInfo> EntryFolder::list() const {
  std::vector<EntryInfo> all;
  for (Tier tier : tiers) {
    std::error_code code;
    for (std::filesystem::directory_iterator
             item(directory + "/" + std::string(nameOf(tier)), code),
         end;
         !code && item != end; item.increment(code)) {
      std::string name = item->path().filename();
      struct stat status = {};
      if (Digest digest; parseHex(name, digest) && ::lstat(item->path().c_str(), &status) == 0)
        all.push_back({tier, name, static_cast<std::uint64_t>(status.st_size), timeOf(status)});
    }
  }
  std::sort(all.begin(), all.end(), [](const EntryInfo &a, const EntryInfo &b) {
    return std::pair(a.tier, std::string_view(a.key)) < std::pair(b.tier, std::string_view(b.key));
  });
  return all;
}

void EntryFolder::removeAbandoned() const {
  for (Tier tier : tiers) {
    std::error_code code;
    for (std::filesystem::directory_iterator
             item(directory + "/" + std::string(nameOf(tier)), code),
         end;
         !code && item != end; item.increment(code)) {
      std::string path = item->path();
      struct stat status = {};
      if (!isTemporary(item->path().filename().string()) || ::lstat(path.c_str(), &status) != 0 ||
          Clock::now() - timeOf(status) < abandonedAfter)
        continue;
      // A writer locks its file at once, so an old one without a lock has no writer.
      std::optional<LockableFile> file = LockableFile::open(files, path, O_WRONLY | O_NOFOLLOW, 0);
      if (file && file->lock(0, /*waits=*/false))
        files.remove(path);
    }
  }
}

} // namespace attnc::cache
