#pragma once

/// The system calls that change a cache's directory.

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace attnc::cache {

/// One call a function, with the results and the errno of the call. What stands here makes the
/// calls; others let them fail, or end the process before one of them. Thread-safe.
class FileOperations {
public:
  virtual ~FileOperations() = default;

  virtual int makeDirectory(const std::string &path, mode_t mode) const;
  /// O_CLOEXEC is added.
  virtual int open(const std::string &path, int flags, mode_t mode) const;
  virtual ssize_t write(int file, const void *bytes, std::size_t count) const;
  virtual int sync(int file) const;
  virtual int close(int file) const;
  virtual int rename(const std::string &from, const std::string &to) const;
  virtual int remove(const std::string &path) const;
  /// Locks one byte of a file, which need not exist, for this open file: fcntl's F_OFD_SETLK, or
  /// F_OFD_SETLKW if it waits. The lock goes with the last descriptor of the open file.
  virtual int lock(int file, std::int64_t byte, bool waits) const;
};

/// The system's.
const FileOperations &systemFiles();

} // namespace attnc::cache
