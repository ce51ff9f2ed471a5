#include "runtime/cache/directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::cache {

namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

Error unusable(const std::string &path, const std::string &why, std::string remedy) {
  return environmentError(fmt::format("the directory {} {}", path, why), std::move(remedy));
}

} // namespace

Status makePrivateDirectory(const FileOperations &files, const std::string &path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    std::string parent = std::filesystem::path(path).parent_path();
    if (!parent.empty() && parent != path && ::stat(parent.c_str(), &status) != 0)
      if (Status made = makePrivateDirectory(files, parent); !made)
        return made;
    if (files.makeDirectory(path, 0700) != 0 && errno != EEXIST)
      return unusable(path, fmt::format("cannot be made: {}", std::strerror(errno)),
                      "check the permissions of the folder that it is in");
  }
  return checkPrivateDirectory(path, /*rootsIsGood=*/false);
}

Status checkPrivateDirectory(const std::string &path, bool rootsIsGood) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
    return unusable(path, fmt::format("cannot be used: {}", std::strerror(errno)),
                    "check its permissions");
  if (!S_ISDIR(status.st_mode))
    return unusable(path, "is a file", "remove it");
  if (status.st_uid != ::geteuid() && !(rootsIsGood && status.st_uid == 0))
    return unusable(path, fmt::format("belongs to the user {}", status.st_uid),
                    "use a directory of your own: what others write there would be run as you");
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return unusable(path, "may be written by other users",
                    fmt::format("chmod 700 {}: what they write there would be run as you", path));
  return {};
}

std::string userCacheFolder() {
  if (std::string cache = variable("XDG_CACHE_HOME"); std::filesystem::path(cache).is_absolute())
    return cache + "/attnc";
  std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/attnc";
}

} // namespace attnc::cache
