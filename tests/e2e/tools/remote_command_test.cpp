// What the commands say of the remote tier, and what they compile before it is needed.
#include "tests/e2e/tools/tool.h"
#include "tests/unit/remote/fake_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;

class RemoteCommand : public testing::Test {
protected:
  void SetUp() override {
    if (const char *value = std::getenv("ATTNC_CACHE_DIR"))
      before = value;
    ::setenv("ATTNC_CACHE_DIR", folder.file("cache").c_str(), 1);
    ::setenv("ATTNC_REMOTE_KEY_FILE", folder.write("key", std::string(64, 'a')).c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ATTNC_REMOTE");
    ::unsetenv("ATTNC_REMOTE_KEY_FILE");
    if (before)
      ::setenv("ATTNC_CACHE_DIR", before->c_str(), 1);
    else
      ::unsetenv("ATTNC_CACHE_DIR");
  }
  static nlohmann::json lastFinding() {
    return nlohmann::json(attnc({"doctor", "--json"}).json()).at("findings").back();
  }

  TemporaryFolder folder;
  std::optional<std::string> before;
};

TEST_F(RemoteCommand, doctorAndStatsShowEachServer) {
  remote::FakeServer store(
      [](const std::string &) { return remote::httpAnswer("404 Not Found", "<html>"); });
  remote::FakeServer redis([](const std::string &request) {
    return std::string(request.find("DBSIZE") != std::string::npos ? ":7\r\n"
                                                                   : "$15\r\nused_memory:2048\r\n");
  });
  ::setenv("ATTNC_REMOTE", (store.http() + " " + redis.redis()).c_str(), 1);
  nlohmann::json findings = attnc({"doctor", "--json"}).json().at("findings");
  ASSERT_GE(findings.size(), 2u);
  EXPECT_EQ(findings[findings.size() - 2].at("works"), true);
  EXPECT_THAT(findings[findings.size() - 2].at("text").get<std::string>(),
              HasSubstr(store.http() + ": a plain store"));
  EXPECT_THAT(findings.back().at("text").get<std::string>(), HasSubstr(": Redis, 7 keys"));
  nlohmann::json stats = attnc({"cache", "stats", "--json"}).json().at("remote");
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[1].at("address"), redis.redis());
  EXPECT_EQ(stats[1].at("works"), true);
  EXPECT_THAT(attnc({"cache", "stats"}).out, HasSubstr("remote     " + store.http()));
}

TEST_F(RemoteCommand, doctorSaysWhatIsWrong) {
  ::setenv("ATTNC_REMOTE", "http://127.0.0.1:1", 1);
  nlohmann::json dead = lastFinding();
  EXPECT_EQ(dead.at("subject"), "remote");
  EXPECT_EQ(dead.at("works"), false);
  ::setenv("ATTNC_REMOTE", "ftp://a", 1);
  EXPECT_THAT(lastFinding().at("text").get<std::string>(), HasSubstr("no known kind"));
  ::unsetenv("ATTNC_REMOTE_KEY_FILE");
  ::setenv("ATTNC_REMOTE", "http://a", 1);
  EXPECT_THAT(lastFinding().at("text").get<std::string>(), HasSubstr("there is no key"));
}

TEST_F(RemoteCommand, warmCompilesWhatIsOnTheList) {
  std::string list = folder.write("list", "# for the roll-out\n"
                                          "full --target cpu --set d=64\n\n"
                                          "causal --target cpu --set d=64 # twice\n");
  nlohmann::json first = attnc({"cache", "warm", list, "--json"}).json();
  EXPECT_EQ(first.at("ok"), true);
  ASSERT_EQ(first.at("programs").size(), 2u);
  EXPECT_EQ(first["programs"][0].at("tier"), "compiler");
  EXPECT_EQ(first["programs"][0].at("line"), "full --target cpu --set d=64");
  EXPECT_EQ(attnc({"compile", "full", "--target", "cpu", "--set", "d=64", "--json", "-o",
                   folder.file("full.program")})
                .json()
                .at("tier"),
            "disk");
}

TEST_F(RemoteCommand, warmSaysWhatFails) {
  Ended ended = attnc({"cache", "warm",
                       folder.write("list", "full --target cpu --set d=64\n"
                                            "nothing --target cpu\n")});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.out, HasSubstr("failed           nothing --target cpu"));
  EXPECT_THAT(ended.out, HasSubstr("full --target cpu --set d=64"));
}

TEST_F(RemoteCommand, warmNamesAWrongLineBeforeItCompiles) {
  std::string list = folder.write("list", "full --target cpu\nfull --traget cpu\n");
  Ended ended = attnc({"cache", "warm", list});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr(list + ":2: "));
  EXPECT_EQ(attnc({"cache", "stats", "--json"}).json().at("program").at("entries"), 0);
  EXPECT_EQ(attnc({"cache", "warm", folder.file("none")}).exit, 4);
}

} // namespace
} // namespace attnc::e2e
