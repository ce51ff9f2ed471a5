#include "runtime/remote/secret_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::remote {

Result<std::string> readSecretFile(const std::string &file) {
  constexpr std::size_t most = 65536;
  // A pipe in its place does not make us wait for a writer.
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  auto unreadable = [&] {
    return environmentError(fmt::format("{} cannot be read: {}", file, std::strerror(errno)),
                            "check the path and its permissions");
  };
  if (descriptor < 0)
    return unreadable();
  auto close = [](const int *open) { ::close(*open); };
  std::unique_ptr<int, decltype(close)> closing(&descriptor, close);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0)
    return unreadable();
  if (!S_ISREG(status.st_mode))
    return environmentError(file + " is no file", "name a file");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) ||
      (status.st_uid != 0 && status.st_uid != ::geteuid()))
    return environmentError(
        file + " may be written by other users",
        fmt::format("who writes there is trusted: chmod 600 {0}, and chown it to who uses it, or "
                    "to root",
                    file));
  std::string text(most + 1, '\0');
  std::size_t count = 0;
  while (count < text.size()) {
    ssize_t part = ::read(descriptor, text.data() + count, text.size() - count);
    if (part < 0 && errno == EINTR)
      continue;
    if (part < 0)
      return unreadable();
    if (part == 0)
      break;
    count += static_cast<std::size_t>(part);
  }
  if (count > most)
    return invalidArgument(fmt::format("{} has more than {} bytes", file, most));
  text.resize(count);
  return text;
}

} // namespace attnc::remote
