#include "runtime/remote/sealed_entry.h"

#include "runtime/cache/entry.h"
#include "runtime/cache/hmac.h"
#include "tests/unit/remote/key_file.h"

#include <gtest/gtest.h>

namespace attnc::remote {
namespace {

std::string bytesOf(const char *hex) {
  std::string bytes;
  for (; *hex; hex += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex, 2), nullptr, 16));
  return bytes;
}

// RFC 4231, section 4: cases 1 to 4, 6 and 7.
TEST(Hmac, IsThatOfTheStandard) {
  struct Case {
    std::string key, data;
    const char *digest;
  };
  const Case cases[] = {
      {std::string(20, '\x0b'), "Hi There",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {bytesOf("0102030405060708090a0b0c0d0e0f10111213141516171819"), std::string(50, '\xcd'),
       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {std::string(131, '\xaa'),
       "This is a test using a larger than block-size key and a larger than block-size data. The "
       "key needs to be hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  for (const Case &one : cases) {
    EXPECT_EQ(cache::hexOf(cache::hmacSha256(one.key, {one.data})), one.digest);
    std::string_view data = one.data;
    EXPECT_EQ(cache::hexOf(cache::hmacSha256(one.key, {data.substr(0, 3), data.substr(3)})),
              one.digest);
  }
}

TEST(Hmac, EqualDigestsAreThoseWithoutADifferentBit) {
  cache::Digest digest = cache::sha256("a");
  EXPECT_TRUE(cache::equalInConstantTime(digest, digest));
  for (std::size_t bit = 0; bit < 8 * digest.size(); ++bit) {
    cache::Digest other = digest;
    other[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_FALSE(cache::equalInConstantTime(digest, other)) << bit;
  }
}

class SealedEntry : public testing::Test {
protected:
  const KeyFile ours{std::string(64, 'a') + "\n"}, theirs{std::string(64, 'b') + "\n"};
  const FleetKeys keys = *FleetKeys::read(ours.path);
  const std::string entry =
      cache::encodeEntry(cache::Tier::Image, std::string(64, '1'), "what was compiled");
};

TEST_F(SealedEntry, ComesBackAsItWas) { EXPECT_EQ(*unseal(keys, seal(keys, entry)), entry); }

TEST_F(SealedEntry, IsRefusedWithAnyBitChanged) {
  const std::string sealed = seal(keys, entry);
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    std::string other = sealed;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(unseal(keys, other)) << bit;
  }
}

TEST_F(SealedEntry, IsRefusedCutOffAndContinued) {
  const std::string sealed = seal(keys, entry);
  for (std::size_t size = 0; size < sealed.size(); ++size)
    EXPECT_FALSE(unseal(keys, std::string_view(sealed).substr(0, size))) << size;
  EXPECT_FALSE(unseal(keys, sealed + '\0'));
}

TEST_F(SealedEntry, OfAnotherFleetIsRefused) {
  Result<std::string_view> opened = unseal(*FleetKeys::read(theirs.path), seal(keys, entry));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "the entry is not sealed with a key of this fleet");
}

TEST_F(SealedEntry, OfEachKeyThatIsInUseOpens) {
  KeyFile both(std::string(64, 'b') + "  # from today on\n\n# until everybody has the new one\n" +
               std::string(64, 'A') + "\n");
  FleetKeys rotating = *FleetKeys::read(both.path);
  EXPECT_TRUE(unseal(rotating, seal(keys, entry)));
  EXPECT_TRUE(unseal(*FleetKeys::read(theirs.path), seal(rotating, entry)));
  EXPECT_FALSE(unseal(keys, seal(rotating, entry)));
}

TEST(FleetKeys, AreRefusedWithTheLine) {
  auto error = [](const std::string &text) {
    KeyFile file(text);
    Result<FleetKeys> keys = FleetKeys::read(file.path);
    std::string message = keys ? "" : keys.error().message;
    return message.substr(std::min(file.path.size(), message.size()));
  };
  EXPECT_EQ(error(std::string(64, 'a') + "\nsecret\n"), ":2: a key is 64 hexadecimal digits");
  EXPECT_EQ(error(std::string(63, 'a')), ":1: a key is 64 hexadecimal digits");
  EXPECT_EQ(error("# later\n"), " has no key");
  EXPECT_EQ(error(""), " has no key");
  std::string five;
  for (char digit : {'1', '2', '3', '4', '5'})
    five += std::string(64, digit) + "\n";
  EXPECT_EQ(error(five), " has 5 keys");
  EXPECT_EQ(error(std::string(70000, '#')), " has more than 65536 bytes");
}

TEST(FleetKeys, AreNotReadWhereOthersWrite) {
  KeyFile file(std::string(64, 'a'));
  std::filesystem::permissions(file.path, std::filesystem::perms(0622));
  Result<FleetKeys> keys = FleetKeys::read(file.path);
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().message, file.path + " may be written by other users");
  EXPECT_FALSE(FleetKeys::read(file.path + ".none"));
  EXPECT_FALSE(FleetKeys::read("/"));
}

} // namespace
} // namespace attnc::remote
