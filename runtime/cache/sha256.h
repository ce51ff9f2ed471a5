#pragma once

/// SHA-256 (FIPS 180-4, section 6.2): names of what is stored, and the seal of each entry.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attnc::cache {

using Digest = std::array<std::uint8_t, 32>;

/// The digest of bytes that come in pieces. Not thread-safe.
class Sha256 {
public:
  void update(std::string_view bytes);
  /// The digest of all bytes so far; more may follow.
  Digest digest() const;

private:
  void block(const std::uint8_t *bytes);

  std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending = {}; ///< the first `length % 64` wait for a whole block
  std::uint64_t length = 0;
};

Digest sha256(std::string_view bytes);

/// 64 lower case hex digits.
std::string hexOf(const Digest &digest);
/// The digest that `hex` writes so. False: it is something else.
bool parseHex(std::string_view hex, Digest &digest);

} // namespace attnc::cache
