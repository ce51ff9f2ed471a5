#include "runtime/cache/hmac.h"

#include <algorithm>

namespace attnc::cache {

namespace {

constexpr std::size_t blockBytes = 64;

std::string_view textOf(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

} // namespace

Digest hmacSha256(std::string_view key, std::initializer_list<std::string_view> pieces) {
  std::string padded(blockBytes, '\0');
  Digest hashed = key.size() > blockBytes ? sha256(key) : Digest();
  std::string_view used = key.size() > blockBytes ? textOf(hashed) : key;
  std::copy(used.begin(), used.end(), padded.begin());
  auto masked = [&](char mask) {
    std::string block = padded;
    for (char &byte : block)
      byte = static_cast<char>(byte ^ mask);
    return block;
  };
  Sha256 inner, outer;
  inner.update(masked(0x36));
  for (std::string_view piece : pieces)
    inner.update(piece);
  outer.update(masked(0x5c));
  outer.update(textOf(inner.digest()));
  return outer.digest();
}

bool equalInConstantTime(const Digest &a, const Digest &b) {
  volatile unsigned difference = 0; // so that no compiler leaves the loop early
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = difference | static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

} // namespace attnc::cache
