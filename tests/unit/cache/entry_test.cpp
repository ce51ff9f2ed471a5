#include "runtime/cache/entry.h"
#include "tests/unit/cache/folder.h"

#include <gmock/gmock.h>

using namespace attnc;
using namespace attnc::cache;
using testing::HasSubstr;

namespace {

TEST(Entry, ComesBackAsItWas) {
  for (std::size_t size : {0, 1, 63, 100000}) {
    std::string value = valueOf(7, size), file = encodeEntry(Tier::Image, keyOf(1), value);
    Result<std::string> read = decodeEntry(Tier::Image, keyOf(1), file);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, value);
    Result<EntryHeader> header = readHeader(file);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->tier, Tier::Image);
    EXPECT_EQ(header->key, keyOf(1));
    EXPECT_EQ(header->valueBytes, size);
  }
}

TEST(Entry, EqualValuesHaveEqualBytes) {
  EXPECT_EQ(encodeEntry(Tier::Image, keyOf(1), valueOf(1)),
            encodeEntry(Tier::Image, keyOf(1), valueOf(1)));
}

TEST(Entry, WithAnyBitFlippedIsRefused) {
  std::string file = encodeEntry(Tier::Program, keyOf(1), valueOf(3, 400));
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
    ASSERT_FALSE(decodeEntry(Tier::Program, keyOf(1), file)) << "bit " << bit;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_TRUE(decodeEntry(Tier::Program, keyOf(1), file));
}

TEST(Entry, CutOffOrLongerIsRefused) {
  std::string file = encodeEntry(Tier::Program, keyOf(1), valueOf(3, 400));
  for (std::size_t size = 0; size < file.size(); ++size)
    ASSERT_FALSE(decodeEntry(Tier::Program, keyOf(1), file.substr(0, size))) << size;
  EXPECT_FALSE(decodeEntry(Tier::Program, keyOf(1), file + '\0'));
}

TEST(Entry, OfAnotherKeyOrTierIsRefused) {
  std::string file = encodeEntry(Tier::Program, keyOf(1), valueOf(3));
  EXPECT_FALSE(decodeEntry(Tier::Program, keyOf(2), file));
  Result<std::string> read = decodeEntry(Tier::Image, keyOf(1), file);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("another one than its name says"));
}

/// As a writer of another version, or an enemy, would: with a checksum that is right.
std::string sealed(std::string file) {
  file.replace(56, 32, 32, '\0');
  Sha256 hash;
  hash.update(std::string_view(file).substr(0, 56));
  hash.update(std::string_view(file).substr(entryHeaderBytes));
  Digest seal = hash.digest();
  return file.replace(56, 32, reinterpret_cast<const char *>(seal.data()), 32);
}

TEST(Entry, OfAnotherVersionIsRefused) {
  std::string file = encodeEntry(Tier::Program, keyOf(1), valueOf(3));
  ASSERT_TRUE(decodeEntry(Tier::Program, keyOf(1), sealed(file))) << "the seal is made as here";
  for (char version : {0, 2}) {
    file[8] = version;
    Result<std::string> read = decodeEntry(Tier::Program, keyOf(1), sealed(file));
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("version"));
  }
}

TEST(Entry, ThatClaimsAnotherSizeIsRefusedWithoutMemoryForIt) {
  std::string file = encodeEntry(Tier::Program, keyOf(1), valueOf(3, 400));
  for (std::uint64_t size : {std::uint64_t(0), std::uint64_t(399), std::uint64_t(401),
                             maxEntryBytes + 1, ~std::uint64_t(0)}) {
    for (int i = 0; i < 8; ++i)
      file[static_cast<std::size_t>(48 + i)] = static_cast<char>(size >> 8 * i);
    EXPECT_FALSE(decodeEntry(Tier::Program, keyOf(1), sealed(file))) << size;
  }
}

} // namespace
