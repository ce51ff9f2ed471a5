#include "runtime/remote/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::remote {
namespace {

using testing::HasSubstr;

std::string errorOf(const std::string &text) {
  Result<std::vector<Shards>> stores = parseAddresses(text);
  return stores ? "" : stores.error().message;
}

TEST(Address, OfHttpIsWhatPathsAreAppendedTo) {
  for (const auto &[text, url] : std::initializer_list<std::pair<const char *, const char *>>{
           {"http://cache:8470", "http://cache:8470"},
           {"https://cache.example/attnc/", "https://cache.example/attnc"},
           {"http://[::1]:80/a/b//", "http://[::1]:80/a/b"},
           {"http://10.0.0.1", "http://10.0.0.1"}}) {
    Result<Address> address = parseAddress(text);
    ASSERT_TRUE(address) << text << ": " << address.error().message;
    EXPECT_EQ(address->kind, Address::Kind::Http);
    EXPECT_EQ(address->url, url);
    EXPECT_EQ(address->socket, "");
  }
}

TEST(Address, OfRedisHasAllItsParts) {
  Result<Address> address = parseAddress("redis://fleet:se%3Acr%40et@cache-0.local:7000/3");
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_EQ(address->kind, Address::Kind::Redis);
  EXPECT_EQ(address->host, "cache-0.local");
  EXPECT_EQ(address->port, 7000);
  EXPECT_EQ(address->user, "fleet");
  EXPECT_EQ(address->password, "se:cr@et");
  EXPECT_EQ(address->database, 3);
  EXPECT_EQ(address->text, "redis://cache-0.local:7000/3") << "no password where people look";
  address = parseAddress("redis://:secret@[fe80::1]");
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_EQ(address->host, "fe80::1");
  EXPECT_EQ(address->port, 6379);
  EXPECT_EQ(address->user, "");
  EXPECT_EQ(address->password, "secret");
}

TEST(Address, OfASocketIsItsPath) {
  EXPECT_EQ(parseAddress("unix:/run/attnc/attncd.sock")->socket, "/run/attnc/attncd.sock");
  EXPECT_EQ(parseAddress("unix:///run/a")->socket, "/run/a");
  EXPECT_EQ(parseAddress("redis+unix:/run/redis.sock")->kind, Address::Kind::Redis);
}

TEST(Address, SeveralAreInOrder) {
  Result<std::vector<Shards>> all = parseAddresses(" redis://a ,\n unix:/b,http://c|http://d\t");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].at(0).host, "a");
  EXPECT_EQ((*all)[1].at(0).socket, "/b");
  EXPECT_EQ((*all)[2].at(0).url, "http://c");
  EXPECT_EQ((*all)[2].at(1).url, "http://d");
  EXPECT_TRUE(parseAddresses(" , ")->empty());
}

TEST(Shards, HaveAsManyKeysEachInAnyOrder) {
  Shards shards = parseAddresses("redis://a|redis://b|redis://c|redis://d")->at(0);
  Shards reversed(shards.rbegin(), shards.rend()), without(shards.begin(), shards.end() - 1);
  constexpr int keys = 4000;
  std::vector<int> firsts(4);
  for (int i = 0; i < keys; ++i) {
    std::string key = std::to_string(i);
    std::vector<std::size_t> order = shardOrder(shards, key);
    ++firsts[order[0]];
    std::size_t first = shardOrder(reversed, key)[0];
    EXPECT_EQ(reversed[first].text, shards[order[0]].text);
    order.erase(std::find(order.begin(), order.end(), 3));
    EXPECT_EQ(shardOrder(without, key), order) << "the others stay where they were";
  }
  // Binomial with 1/4: five standard deviations are 137.
  for (int count : firsts)
    EXPECT_NEAR(count, keys / 4, 137);
}

TEST(Address, ThatIsNoneIsRefusedWithItsReason) {
  EXPECT_THAT(errorOf("cache:8470"), HasSubstr("no known kind"));
  EXPECT_THAT(errorOf("ftp://a"), HasSubstr("no known kind"));
  EXPECT_THAT(errorOf("http://"), HasSubstr("no host"));
  EXPECT_THAT(errorOf("http://a:0"), HasSubstr("port"));
  EXPECT_THAT(errorOf("http://a:70000"), HasSubstr("port"));
  EXPECT_THAT(errorOf("http://a:8x"), HasSubstr("port"));
  EXPECT_THAT(errorOf("http://a b"), HasSubstr("no known kind")) << "two addresses";
  EXPECT_THAT(errorOf("http://a/b?c"), HasSubstr("more than a path"));
  EXPECT_THAT(errorOf("http://a\"b"), HasSubstr("no host"));
  EXPECT_THAT(errorOf("unix:run/a"), HasSubstr("whole path"));
  EXPECT_THAT(errorOf("unix:/" + std::string(107, 'a')), HasSubstr("107 bytes"));
  EXPECT_THAT(errorOf("redis://a/b"), HasSubstr("database"));
  EXPECT_THAT(errorOf("redis://user@a"), HasSubstr("without a password"));
  EXPECT_THAT(errorOf("redis://:%zz@a"), HasSubstr("%XX"));
  EXPECT_THAT(errorOf("redis://:%4"), HasSubstr("no host"));
  EXPECT_THAT(errorOf("redis://a redis://a"), HasSubstr("stands twice"));
  EXPECT_THAT(errorOf("redis://a|redis://a"), HasSubstr("stands twice"));
  EXPECT_THAT(errorOf("|redis://a"), HasSubstr("no known kind"));
}

TEST(Address, KeepsSecretsOutOfErrors) {
  for (const char *text : {"http://user:secret@a", "redis://u:secret@a/x", "redis://u:secret@",
                           "redis://:secret%@a", "rediss://u:secret@a"})
    EXPECT_THAT(errorOf(text), testing::AllOf(testing::Not(""), testing::Not(HasSubstr("secret"))))
        << text;
}

} // namespace
} // namespace attnc::remote
