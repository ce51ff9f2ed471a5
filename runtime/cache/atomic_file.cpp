#include "runtime/cache/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <random>

namespace attnc::cache {

namespace {

constexpr std::string_view prefix = ".attnc-";

/// The folder's, for names relative to it.
std::string folderOf(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// One that nobody else takes.
std::string temporaryFor(const std::string &path) {
  std::random_device random;
  return fmt::format("{}/{}{:08x}{:08x}", folderOf(path), prefix, random(), random());
}

Error cannotWrite(const std::string &path) {
  return environmentError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)),
                          "check the folder's permissions and how much room the disk has");
}

} // namespace

bool isTemporary(std::string_view name) { return name.starts_with(prefix); }

AtomicFile::AtomicFile(const FileOperations &files, std::string path, std::string temporary,
                       LockableFile file)
    : files(&files), path(std::move(path)), temporary(std::move(temporary)), file(std::move(file)) {
}

Result<AtomicFile> AtomicFile::create(const FileOperations &files, std::string path, mode_t mode) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return environmentError(fmt::format("{} cannot be written: it is no file", path),
                            "name a file");
  std::string temporary = temporaryFor(path);
  std::optional<LockableFile> file =
      LockableFile::open(files, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (!file)
    return cannotWrite(path);
  file->lock(0, /*waits=*/false); // where there are no locks nobody can take it for abandoned
  return AtomicFile(files, std::move(path), std::move(temporary), *std::move(file));
}

Status AtomicFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = files->write(file.descriptor(), bytes.data(), bytes.size());
    if (written < 0)
      return cannotWrite(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status AtomicFile::commit() {
  if (files->sync(file.descriptor()) != 0 || files->rename(temporary, path) != 0)
    return cannotWrite(path);
  temporary.clear();
  // Some file systems cannot do this; then only a loss of power takes the file away again.
  if (int folder = files->open(folderOf(path), O_RDONLY | O_DIRECTORY, 0); folder >= 0) {
    files->sync(folder);
    files->close(folder);
  }
  return {};
}

AtomicFile::~AtomicFile() {
  if (!temporary.empty())
    files->remove(temporary);
}

Status writeAtomically(const FileOperations &files, const std::string &path, std::string_view bytes,
                       mode_t mode) {
  Result<AtomicFile> file = AtomicFile::create(files, path, mode);
  if (!file)
    return file.error();
  if (Status status = file->append(bytes); !status)
    return status;
  return file->commit();
}

} // namespace attnc::cache
