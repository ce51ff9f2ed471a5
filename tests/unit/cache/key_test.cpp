#include "runtime/cache/key.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

#include <gtest/gtest.h>

using namespace attnc::cache;

namespace {

// FIPS 180-4's examples and the vectors of NIST's CAVP (SHA256ShortMsg.rsp).
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(hexOf(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexOf(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexOf(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexOf(sha256("\xd3")),
            "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
  EXPECT_EQ(hexOf(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsThatOfLlvmAtEveryLengthAndInPieces) {
  std::string text;
  for (int length = 0; length < 300; ++length) {
    llvm::SHA256 other;
    other.update(llvm::StringRef(text));
    Digest expected = other.final();
    EXPECT_EQ(hexOf(sha256(text)), hexOf(expected)) << length;
    Sha256 pieces;
    for (std::size_t at = 0; at < text.size(); at += 7)
      pieces.update(std::string_view(text).substr(at, 7));
    EXPECT_EQ(hexOf(pieces.digest()), hexOf(expected)) << length;
    text += static_cast<char>(length * 37);
  }
}

TEST(Sha256, HexIsReadBack) {
  Digest digest = sha256("attnc"), read = {};
  ASSERT_TRUE(parseHex(hexOf(digest), read));
  EXPECT_EQ(read, digest);
  EXPECT_FALSE(parseHex(hexOf(digest).substr(1), read));
  EXPECT_FALSE(parseHex(std::string(64, 'g'), read));
  EXPECT_FALSE(parseHex(std::string(64, 'A'), read)) << "one name only for each key";
}

TEST(Key, DependsOnEveryLabelAndValue) {
  std::string key = KeyBuilder().add("a", "b").add("c", "d").finish();
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(key, KeyBuilder().add("a", "b").add("c", "d").finish());
  EXPECT_NE(key, KeyBuilder().add("a", "b").add("c", "e").finish());
  EXPECT_NE(key, KeyBuilder().add("a", "b").add("e", "d").finish());
  EXPECT_NE(key, KeyBuilder().add("c", "d").add("a", "b").finish()) << "the order counts";
  EXPECT_NE(key, KeyBuilder().add("a", "b").finish());
}

TEST(Key, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(KeyBuilder().add("a", "bc").finish(), KeyBuilder().add("ab", "c").finish());
  EXPECT_NE(KeyBuilder().add("a", "b").add("c", "").finish(),
            KeyBuilder().add("a", "").add("b", "c").finish());
  EXPECT_NE(KeyBuilder().add("a", std::int64_t(49)).finish(), KeyBuilder().add("a", "1").finish());
  EXPECT_NE(KeyBuilder().add("a", std::int64_t(0)).finish(),
            KeyBuilder().add("a", std::string_view("\0\0\0\0\0\0\0\0", 8)).finish());
}

} // namespace
