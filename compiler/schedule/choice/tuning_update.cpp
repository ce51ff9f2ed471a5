#include "compiler/schedule/choice/tuning_update.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/file_lock.h"
#include <filesystem>

namespace attnc::schedule {

std::error_code makeTuningFolder(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path();
  if (folder == userTuningFolder())
    (void)cache::makePrivateDirectory(cache::systemFiles(), cache::userCacheFolder()).ok();
  std::error_code error;
  if (!folder.empty())
    std::filesystem::create_directories(folder, error);
  return error;
}

Status
changeTuningFile(const std::string &path,
                 const std::function<Result<TuningFile>(std::optional<TuningFile>)> &change) {
  (void)makeTuningFolder(path); // saveTuningFile says what is wrong
  std::optional<cache::LockableFile> lock =
      cache::LockableFile::openForLocks(cache::systemFiles(), path + ".lock");
  if (lock)
    lock->lock(0, /*waits=*/true);
  Result<std::optional<TuningFile>> old = loadTuningFile(path);
  if (!old)
    return old.error();
  Result<TuningFile> changed = change(*std::move(old));
  if (!changed)
    return changed.error();
  return saveTuningFile(path, *changed);
}

} // namespace attnc::schedule
