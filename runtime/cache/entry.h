#pragma once

/// One entry of the cache as the bytes of its file.

#include "attnc/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace attnc::cache {

/// What a directory holds, a folder each. A tier's `make` may ask for entries of later tiers only:
/// that is the order of locks.
enum class Tier { Program, Image };
inline constexpr Tier tiers[] = {Tier::Program, Tier::Image};
/// "program", "image"
std::string_view nameOf(Tier tier);

/// Of the bytes below. It is part of every key.
inline constexpr std::int64_t entryVersion = 1;
/// What an entry may hold, uncompressed. It bounds what a damaged or a foreign file makes us do.
inline constexpr std::uint64_t maxEntryBytes = std::uint64_t(256) << 20;

/// The file, integers little endian:
///
///   8 bytes "attncent", 4 the version, 4 the tier, 32 the key, 8 the size of the value,
///   32 SHA-256 of all other bytes of the file, then the value as one frame of zstd
///
/// Equal values of a key have equal bytes, as long as zstd's version is the same. `key` is 64 hex
/// digits and `value` has at most maxEntryBytes.
std::string encodeEntry(Tier tier, std::string_view key, std::string_view value);

/// What a file says that it is, without a look at its value.
struct EntryHeader {
  Tier tier = Tier::Program;
  std::string key;
  std::uint64_t valueBytes = 0;
};

/// Error (InvalidArgument): no entry, of another version, or not of a known tier.
Result<EntryHeader> readHeader(std::string_view file);
/// The bytes that readHeader needs.
inline constexpr std::size_t entryHeaderBytes = 8 + 4 + 4 + 32 + 8 + 32;

/// The value. Error (InvalidArgument): what is wrong. Any change of any bit is, and so is a file
/// that is another entry than the one asked for.
Result<std::string> decodeEntry(Tier tier, std::string_view key, std::string_view file);

} // namespace attnc::cache
