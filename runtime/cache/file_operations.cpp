#include "runtime/cache/file_operations.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::cache {

namespace {

/// Again while a signal interrupts the call.
template <typename Call> auto again(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

} // namespace

int FileOperations::makeDirectory(const std::string &path, mode_t mode) const {
  return ::mkdir(path.c_str(), mode);
}

int FileOperations::open(const std::string &path, int flags, mode_t mode) const {
  return again([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

ssize_t FileOperations::write(int file, const void *bytes, std::size_t count) const {
  return again([&] { return ::write(file, bytes, count); });
}

int FileOperations::sync(int file) const {
  return again([&] { return ::fsync(file); });
}

int FileOperations::close(int file) const { return ::close(file); }

int FileOperations::rename(const std::string &from, const std::string &to) const {
  return ::rename(from.c_str(), to.c_str());
}

int FileOperations::remove(const std::string &path) const { return ::unlink(path.c_str()); }

int FileOperations::lock(int file, std::int64_t byte, bool waits) const {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return again([&] { return ::fcntl(file, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range); });
}

const FileOperations &systemFiles() {
  static const FileOperations files;
  return files;
}

} // namespace attnc::cache
