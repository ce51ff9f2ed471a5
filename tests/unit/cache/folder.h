#pragma once

/// A directory for one test.

#include "runtime/cache/key.h"
#include "runtime/cache/store.h"

#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/stat.h>

namespace attnc::cache {

/// Made with the object and removed with it; in memory where that is, since entries are written
/// through to the disk.
class TestFolder {
public:
  TestFolder() {
    std::string memory = "/dev/shm", disk = testing::TempDir();
    for (std::string name : {memory + "/attnc_cache_XXXXXX", disk + "/attnc_cache_XXXXXX"})
      if (folder.empty() && ::mkdtemp(name.data()))
        folder = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  TestFolder(const TestFolder &) = delete;
  TestFolder &operator=(const TestFolder &) = delete;

  std::string operator/(const std::string &name) const { return folder + "/" + name; }
  const std::string &path() const { return folder; }

private:
  std::string folder;
};

inline std::shared_ptr<Store> openStore(const std::string &directory,
                                        std::shared_ptr<const FileOperations> files = nullptr) {
  StoreOptions options;
  options.directory = directory;
  options.files = std::move(files);
  Result<std::shared_ptr<Store>> store = Store::open(options);
  EXPECT_TRUE(store) << store.error().text();
  return store ? *store : nullptr;
}

inline std::string keyOf(std::int64_t number) { return KeyBuilder().add("test", number).finish(); }

/// Some bytes that zstd makes smaller, and others that it does not.
inline std::string valueOf(std::int64_t number, std::size_t bytes = 3000) {
  std::string value(bytes / 2, static_cast<char>('a' + number % 26));
  for (std::uint64_t i = 0; value.size() < bytes; ++i)
    value += static_cast<char>((i + static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15 >> 56);
  return value;
}

inline std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void writeTo(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Sets the time of a file's last use to so many seconds ago.
inline void setAge(const std::string &path, std::int64_t seconds) {
  timespec when = {::time(nullptr) - seconds, 0};
  timespec times[] = {when, when};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
}

inline std::size_t filesIn(const std::string &folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

} // namespace attnc::cache
