#include "runtime/cache/user_store.h"

#include "runtime/cache/atomic_file.h"
#include "runtime/cache/directory.h"
#include "runtime/cache/warning.h"
#include "runtime/program/byte_count.h"
#include "runtime/remote/remote.h"

#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::cache {

namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::uint64_t userMaxBytes() {
  std::string text = variable("ATTNC_CACHE_SIZE");
  if (text.empty())
    return defaultMaxBytes;
  Result<std::int64_t> bytes = parseBytes(text);
  if (bytes)
    return static_cast<std::uint64_t>(*bytes);
  warnOnce(invalidArgument(fmt::format("ATTNC_CACHE_SIZE: {}; the cache may have {}",
                                       bytes.error().message, bytesText(defaultMaxBytes)),
                           bytes.error().remedy));
  return defaultMaxBytes;
}

} // namespace

std::string userStoreFolder() {
  std::string wanted = variable("ATTNC_CACHE"), folder = variable("ATTNC_CACHE_DIR");
  if (wanted == "off" || wanted == "0")
    return "";
  if (folder.empty())
    return userCacheFolder();
  std::error_code code; // where the current folder is gone, whoever opens it says so
  std::filesystem::path absolute = std::filesystem::absolute(folder, code);
  return code ? folder : absolute.string();
}

std::optional<StoreOptions> userStoreOptions() {
  StoreOptions options;
  options.directory = userStoreFolder();
  if (options.directory.empty())
    return std::nullopt;
  options.maxBytes = userMaxBytes();
  // What root has put into a container, say, is there to be read.
  struct stat status = {};
  options.readOnly =
      ::stat(options.directory.c_str(), &status) == 0 && status.st_uid == 0 && ::geteuid() != 0;
  return options;
}

namespace {

/// All that says what ofUser opens.
std::string settings(const StoreOptions &options) {
  std::string text = options.directory.string() + '\n' + std::to_string(options.maxBytes);
  for (const char *name : remote::Remote::variables)
    text += '\n' + variable(name);
  return text;
}

std::shared_ptr<RemoteTier> userRemote() {
  Result<std::shared_ptr<remote::Remote>> remote = remote::Remote::ofUser();
  if (remote)
    return *remote;
  warnOnce({remote.error().kind, "the remote cache is not used: " + remote.error().message,
            remote.error().remedy});
  return nullptr;
}

} // namespace

Status tryToWrite(const EntryFolder &folder) {
  // Under a name that no entry has, and never committed.
  Result<AtomicFile> file =
      AtomicFile::create(systemFiles(), folder.pathOf(Tier::Image, "trial"), 0600);
  return file ? file->append("trial") : Status(file.error());
}

std::shared_ptr<Store> Store::ofUser() {
  // One for the process, so that its threads wait for each other.
  static std::mutex mutex;
  static std::string wanted;
  static std::shared_ptr<Store> store;

  std::optional<StoreOptions> options = userStoreOptions();
  if (!options)
    return nullptr;
  std::lock_guard guard(mutex);
  if (std::string now = settings(*options); !store || wanted != now) {
    wanted = std::move(now);
    options->remote = userRemote();
    Result<std::shared_ptr<Store>> opened = open(*options);
    store = opened ? *opened : withoutDisk(*options, opened.error());
  }
  return store;
}

} // namespace attnc::cache
