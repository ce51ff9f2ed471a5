#include "tools/attncd/http/listener.h"

#include <gmock/gmock.h>

using namespace attnc;
using namespace attnc::service;

namespace {

TEST(ListenAddress, IsAPortOrAPath) {
  Result<ListenAddress> tcp = ListenAddress::parse("tcp:0.0.0.0:8470");
  ASSERT_TRUE(tcp);
  EXPECT_FALSE(tcp->isUnix);
  EXPECT_EQ(tcp->host, "0.0.0.0");
  EXPECT_EQ(tcp->port, "8470");
  Result<ListenAddress> six = ListenAddress::parse("tcp:[::1]:0");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "::1");
  Result<ListenAddress> path = ListenAddress::parse("unix:/run/attnc:1/attncd.sock");
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->isUnix);
  EXPECT_EQ(path->path, "/run/attnc:1/attncd.sock");
}

TEST(ListenAddress, IsNothingElse) {
  for (const std::string &text :
       {std::string(), std::string("8470"), std::string("tcp:"), std::string("tcp:8470"),
        std::string("tcp::8470"), std::string("tcp:[]:1"), std::string("tcp:host:"),
        std::string("tcp:host:x"), std::string("tcp:host:-1"), std::string("tcp:host:65536"),
        std::string("tcp:host:123456"), std::string("unix:"), std::string("http://host:1"),
        "unix:/" + std::string(120, 'x')}) {
    Result<ListenAddress> address = ListenAddress::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_FALSE(address.error().remedy.empty());
  }
}

TEST(Listener, SaysThePortThatItGot) {
  Result<Listener> listener = Listener::open(*ListenAddress::parse("tcp:127.0.0.1:0"));
  ASSERT_TRUE(listener) << listener.error().text();
  EXPECT_THAT(listener->text(), testing::MatchesRegex("tcp:127.0.0.1:[1-9][0-9]*"));
  Result<Listener> second = Listener::open(*ListenAddress::parse(listener->text()));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("cannot be listened at"));
}

} // namespace
