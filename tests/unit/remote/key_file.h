#pragma once

/// A file with a secret, for as long as the object lives.

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace attnc::remote {

struct KeyFile {
  explicit KeyFile(const std::string &text) {
    char name[] = "/tmp/attnc-key-XXXXXX";
    ::close(::mkstemp(name));
    path = name;
    std::ofstream(path, std::ios::binary) << text;
  }
  ~KeyFile() { std::filesystem::remove(path); }
  KeyFile(const KeyFile &) = delete;
  KeyFile &operator=(const KeyFile &) = delete;

  std::string path;
};

} // namespace attnc::remote
