#pragma once

/// HMAC-SHA-256 (RFC 2104, FIPS 198-1): bytes that only who has the key can have written.

#include "runtime/cache/sha256.h"

#include <initializer_list>

namespace attnc::cache {

/// Of several pieces, as of their concatenation.
Digest hmacSha256(std::string_view key, std::initializer_list<std::string_view> pieces);

/// In a time that depends on neither.
bool equalInConstantTime(const Digest &a, const Digest &b);

} // namespace attnc::cache
