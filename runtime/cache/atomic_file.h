#pragma once

/// Files that are written in one step.

#include "attnc/result.h"
#include "runtime/cache/file_lock.h"

#include <string>
#include <string_view>

namespace attnc::cache {

/// A file that is not there until commit: then readers see the old one or the new one, whole, and
/// so they do after a loss of power. Until then it is a temporary file beside it, which is locked:
/// whoever can lock one that has not been written for a while may remove it. Not thread-safe.
class AtomicFile {
public:
  /// `mode` is as for open(2). Error (Environment): it cannot be written, with the call's reason.
  static Result<AtomicFile> create(const FileOperations &files, std::string path, mode_t mode);
  Status append(std::string_view bytes);
  Status commit();

  /// Removes what was not committed.
  ~AtomicFile();
  AtomicFile(AtomicFile &&other) noexcept = default;
  AtomicFile &operator=(AtomicFile &&) = delete;

private:
  AtomicFile(const FileOperations &files, std::string path, std::string temporary,
             LockableFile file);

  const FileOperations *files;
  std::string path;
  std::string temporary; ///< empty once committed, and in what was moved from
  LockableFile file;
};

/// All at once.
Status writeAtomically(const FileOperations &files, const std::string &path, std::string_view bytes,
                       mode_t mode);

/// Whether a file in a folder is, by its name, one that was not committed.
bool isTemporary(std::string_view name);

} // namespace attnc::cache
