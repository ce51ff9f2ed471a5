#include "runtime/cache/file_lock.h"

#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <set>
#include <unistd.h>
#include <utility>

namespace attnc::cache {

namespace {

/// All files with locks. A forked child has them too, and would hold the locks for as long as it
/// lives: so it closes them, which leaves its parent's.
class OpenFiles {
public:
  static OpenFiles &ofProcess() {
    static OpenFiles &files = *new OpenFiles; // outlives every thread
    return files;
  }

  /// No fork comes between the opening of a file and its place here.
  int open(const FileOperations &system, const std::string &path, int flags, mode_t mode) {
    std::lock_guard guard(mutex);
    int file = system.open(path, flags, mode);
    if (file >= 0)
      known.insert(file);
    return file;
  }

  /// Nothing to close in a child, where the number may be that of another file by now.
  void close(const FileOperations &system, int file) {
    std::lock_guard guard(mutex);
    if (known.erase(file))
      system.close(file);
  }

private:
  OpenFiles() {
    pthread_atfork([] { ofProcess().mutex.lock(); }, [] { ofProcess().mutex.unlock(); },
                   [] { ofProcess().closeAll(); });
  }

  void closeAll() {
    for (int file : known)
      ::close(file);
    known.clear();
    mutex.unlock();
  }

  std::mutex mutex;
  std::set<int> known;
};

} // namespace

std::optional<LockableFile> LockableFile::open(const FileOperations &files, const std::string &path,
                                               int flags, mode_t mode) {
  int file = OpenFiles::ofProcess().open(files, path, flags, mode);
  if (file < 0)
    return std::nullopt;
  return LockableFile(files, file);
}

std::optional<LockableFile> LockableFile::openForLocks(const FileOperations &files,
                                                       const std::string &path) {
  return open(files, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
}

bool LockableFile::lock(std::int64_t byte, bool waits) const {
  return files->lock(file, byte, waits) == 0;
}

LockableFile::LockableFile(LockableFile &&other) noexcept : files(other.files), file(other.file) {
  other.file = -1;
}

LockableFile &LockableFile::operator=(LockableFile &&other) noexcept {
  std::swap(files, other.files);
  std::swap(file, other.file);
  return *this;
}

LockableFile::~LockableFile() {
  if (file >= 0)
    OpenFiles::ofProcess().close(*files, file);
}

} // namespace attnc::cache
