#pragma once

/// Files of which bytes can be locked, among processes and among the threads of each.

#include "runtime/cache/file_operations.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attnc::cache {

/// An open file and its locks. They end with the object, and with the process, whatever ends it:
/// the kernel takes them back. A child that is forked meanwhile does not keep them. Nobody removes
/// a file for its locks alone, so that nobody holds one on a file that has lost its name.
class LockableFile {
public:
  /// Nothing, with errno: it cannot be opened.
  static std::optional<LockableFile> open(const FileOperations &files, const std::string &path,
                                          int flags, mode_t mode);
  /// One whose content does not matter; it is made if it is not there.
  static std::optional<LockableFile> openForLocks(const FileOperations &files,
                                                  const std::string &path);

  /// Locks a byte. False, with errno: somebody else has it (EAGAIN, EACCES; not if it waits), or
  /// there are no locks here.
  bool lock(std::int64_t byte, bool waits) const;

  ~LockableFile();
  LockableFile(LockableFile &&other) noexcept;
  LockableFile &operator=(LockableFile &&other) noexcept;

  int descriptor() const { return file; }

private:
  LockableFile(const FileOperations &files, int file) : files(&files), file(file) {}

  const FileOperations *files;
  int file;
};

} // namespace attnc::cache
