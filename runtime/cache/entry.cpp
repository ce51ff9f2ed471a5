#include "runtime/cache/entry.h"

#include "runtime/cache/sha256.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <zstd.h>

namespace attnc::cache {

namespace {

constexpr std::string_view magic = "attncent";
constexpr std::size_t versionAt = 8, tierAt = 12, keyAt = 16, sizeAt = 48, sealAt = 56;
static_assert(sealAt + 32 == entryHeaderBytes);
// Cubins shrink to a fifth at this level, in a millisecond.
constexpr int level = 3;

template <typename Integer> void put(std::string &bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(value >> (8 * i));
}

template <typename Integer> Integer at(std::string_view bytes, std::size_t offset) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<Integer>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

/// Of everything but itself.
Digest sealOf(std::string_view file) {
  Sha256 hash;
  hash.update(file.substr(0, sealAt));
  hash.update(file.substr(entryHeaderBytes));
  return hash.digest();
}

Error damaged(const char *what) {
  return invalidArgument(fmt::format("the entry is damaged: {}", what));
}

} // namespace

std::string_view nameOf(Tier tier) { return tier == Tier::Program ? "program" : "image"; }

std::string encodeEntry(Tier tier, std::string_view key, std::string_view value) {
  Digest digest = {};
  parseHex(key, digest);
  std::string file(magic);
  put(file, static_cast<std::uint32_t>(entryVersion));
  put(file, static_cast<std::uint32_t>(tier));
  file.append(digest.begin(), digest.end());
  put(file, static_cast<std::uint64_t>(value.size()));
  file.append(32, '\0');
  std::size_t room = ZSTD_compressBound(value.size());
  file.resize(entryHeaderBytes + room);
  std::size_t size =
      ZSTD_compress(file.data() + entryHeaderBytes, room, value.data(), value.size(), level);
  // It fails where there is no memory; then a reader drops the empty frame.
  file.resize(entryHeaderBytes + (ZSTD_isError(size) ? 0 : size));
  Digest seal = sealOf(file);
  std::copy(seal.begin(), seal.end(), file.begin() + sealAt);
  return file;
}

Result<EntryHeader> readHeader(std::string_view file) {
  if (file.size() < entryHeaderBytes || file.substr(0, magic.size()) != magic)
    return damaged("it is no entry of attnc's cache, or cut off");
  if (auto version = at<std::uint32_t>(file, versionAt); version != entryVersion)
    return invalidArgument(fmt::format("the entry has version {}, not {}", version, entryVersion));
  auto tier = at<std::uint32_t>(file, tierAt);
  if (tier >= std::size(tiers))
    return damaged("there is no such tier");
  Digest key;
  std::memcpy(key.data(), file.data() + keyAt, key.size());
  return EntryHeader{static_cast<Tier>(tier), hexOf(key), at<std::uint64_t>(file, sizeAt)};
}

Result<std::string> decodeEntry(Tier tier, std::string_view key, std::string_view file) {
  Result<EntryHeader> header = readHeader(file);
  if (!header)
    return header.error();
  Digest seal = sealOf(file);
  if (!std::equal(seal.begin(), seal.end(), reinterpret_cast<const std::uint8_t *>(&file[sealAt])))
    return damaged("its checksum is another");
  if (header->tier != tier || header->key != key)
    return invalidArgument("the entry is another one than its name says");
  std::string_view frame = file.substr(entryHeaderBytes);
  if (header->valueBytes > maxEntryBytes ||
      ZSTD_getFrameContentSize(frame.data(), frame.size()) != header->valueBytes)
    return damaged("its size is another");
  std::string value(header->valueBytes, '\0');
  if (ZSTD_decompress(value.data(), value.size(), frame.data(), frame.size()) != value.size())
    return damaged("its value does not decompress");
  return value;
}

} // namespace attnc::cache
