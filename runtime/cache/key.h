#pragma once

/// Names of what is stored: all that it depends on, hashed.

#include "runtime/cache/sha256.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace attnc::cache {

/// SHA-256 over labels and values, each with its length in front and its kind: no two lists of
/// them have the same bytes. The version of the store's format is part of it, so that builds with
/// different formats share a directory and no key. Not thread-safe.
class KeyBuilder {
public:
  KeyBuilder();
  KeyBuilder &add(std::string_view label, std::string_view value);
  /// Another key than the same number as text.
  KeyBuilder &add(std::string_view label, std::int64_t value);
  /// 64 lower case hex digits. More may be added after it.
  std::string finish() const;

private:
  void addBytes(char kind, std::string_view bytes);

  Sha256 hash;
};

} // namespace attnc::cache
