#include "runtime/remote/remote.h"

#include "runtime/cache/warning.h"
#include "runtime/remote/sealed_entry.h"
#include "tests/unit/remote/fake_server.h"
#include "tests/unit/remote/key_file.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace attnc::remote {
namespace {

using cache::Tier;
using testing::HasSubstr;
using testing::StartsWith;

const std::string keyA(64, 'a'), keyB(64, 'b');

class RemoteTest : public testing::Test {
protected:
  void SetUp() override {
    cache::setWarning([this](const Error &error) { warnings.push_back(error.message); });
  }
  void TearDown() override { cache::setWarning(nullptr); }

  std::unique_ptr<Remote> open(const std::string &addresses, bool readOnly = false) const {
    RemoteOptions options;
    options.stores = *parseAddresses(addresses);
    options.token = "a-token";
    options.readOnly = readOnly;
    options.patience.transfer = std::chrono::milliseconds(300);
    return std::make_unique<Remote>(options, keys);
  }

  const KeyFile file{std::string(64, '1')}, otherFile{std::string(64, '2')};
  const FleetKeys keys = *FleetKeys::read(file.path), others = *FleetKeys::read(otherFile.path);
  const std::string entry = cache::encodeEntry(Tier::Image, keyA, "what was compiled");
  const std::string sealed = seal(keys, entry);
  std::vector<std::string> warnings;
};

TEST_F(RemoteTest, GivesWhatAServerHas) {
  FakeServer http([&](const std::string &) { return httpAnswer("200 OK", sealed); });
  FakeServer redis([&](const std::string &) { return redisText(sealed); });
  for (const std::string &address : {http.http(), redis.redis()}) {
    std::unique_ptr<Remote> remote = open(address);
    EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
    EXPECT_EQ(remote->get(Tier::Image, keyA), entry) << "over the same connection";
  }
  EXPECT_THAT(http.requests().front(), StartsWith("GET /v1/image/" + keyA + " HTTP/1.1\r\n"));
  EXPECT_THAT(http.requests().front(), HasSubstr("\r\nAuthorization: Bearer a-token\r\n"));
  EXPECT_THAT(redis.requests().front(), HasSubstr("GET\r\n"));
  EXPECT_THAT(redis.requests().front(), HasSubstr("attnc:v1:image:" + keyA));
}

TEST_F(RemoteTest, AsksTheNextServerForWhatOneLacks) {
  FakeServer empty([](const std::string &) { return std::string("$-1\r\n"); });
  FakeServer full([&](const std::string &) { return httpAnswer("200 OK", sealed); });
  std::unique_ptr<Remote> remote = open(empty.redis() + " " + full.http());
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
  EXPECT_EQ(empty.requests().size(), 2u) << "an empty answer is no failure";
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RemoteTest, LoadsNothingThatIsNotOfThisFleetOrAnotherEntry) {
  std::string cutOff = sealed.substr(0, sealed.size() - 1), flipped = sealed;
  flipped[flipped.size() / 2] ^= 1;
  const std::pair<const char *, std::string> lies[] = {
      {"of another fleet", seal(others, entry)},
      {"without a seal", entry},
      {"cut off", cutOff},
      {"changed", flipped},
      {"another key's", seal(keys, cache::encodeEntry(Tier::Image, keyB, "another"))},
      {"another tier's", seal(keys, cache::encodeEntry(Tier::Program, keyA, "another"))},
      {"empty", ""},
      {"sealed, and no entry", seal(keys, "nothing")},
  };
  for (const auto &[name, lie] : lies) {
    FakeServer http([&](const std::string &) { return httpAnswer("200 OK", lie); });
    FakeServer redis([&](const std::string &) { return redisText(lie); });
    for (const std::string &address : {http.http(), redis.redis()}) {
      std::unique_ptr<Remote> remote = open(address);
      EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt) << name;
      EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt) << name;
    }
    EXPECT_EQ(http.requests().size(), 1u) << name << ": who lies is left alone";
    EXPECT_EQ(redis.requests().size(), 1u) << name;
  }
}

TEST_F(RemoteTest, EndsWhatAServerDragsOut) {
  const std::pair<const char *, FakeServer::Answer> servers[] = {
      {"closes", [](const std::string &) { return std::string(); }},
      {"no protocol", [](const std::string &) { return std::string("\1\2\3\r\n\r\n"); }},
      {"an error", [](const std::string &) { return std::string("-ERR no\r\n"); }},
      {"half an answer", [](const std::string &) { return std::string("$1000\r\nhalf"); }},
      {"a huge length",
       [](const std::string &) { return std::string("$9223372036854775807\r\na"); }},
      {"a negative length", [](const std::string &) { return std::string("$-7\r\n"); }},
      {"an array", [](const std::string &) { return std::string("*1\r\n$1\r\na\r\n"); }},
      {"a huge array", [](const std::string &) { return std::string("*2147483647\r\n"); }},
      {"deep arrays",
       [](const std::string &) {
         std::string deep;
         for (int depth = 0; depth < 1000; ++depth)
           deep += "*1\r\n";
         return deep;
       }},
      {"a number", [](const std::string &) { return std::string(":1\r\n"); }},
      {"half a header", [](const std::string &) { return std::string("HTTP/1.1 200 OK\r\nA: b"); }},
      {"half a body",
       [](const std::string &) { return "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na"; }},
      {"a status", [](const std::string &) { return httpAnswer("500 No", "no"); }},
      {"elsewhere",
       [](const std::string &) { return httpAnswer("302 Found", "", "Location: /v1/other\r\n"); }},
  };
  for (const auto &[name, answer] : servers) {
    FakeServer server(answer);
    for (const std::string &address : {server.http(), server.redis()}) {
      std::unique_ptr<Remote> remote = open(address);
      auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt) << name;
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3)) << name;
      std::size_t asked = server.requests().size();
      EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt) << name;
      EXPECT_EQ(server.requests().size(), asked) << name << ": it is left alone";
    }
  }
  EXPECT_FALSE(warnings.empty());
}

TEST_F(RemoteTest, TakesNoMoreThanAnEntryMayHave) {
  FakeServer endless(
      [](const std::string &) { return "$1000000000\r\n" + std::string(5000000, 'a'); });
  std::unique_ptr<Endpoint> redis = connectLater(*parseAddress(endless.redis()), "", "");
  Result<std::optional<std::string>> got = redis->get(Tier::Image, keyA, 1000000);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "the answer has more than 1000000 bytes");
  FakeServer large(
      [](const std::string &) { return httpAnswer("200 OK", std::string(5000000, 'a')); });
  std::unique_ptr<Endpoint> http = connectLater(*parseAddress(large.http()), "", "");
  got = http->get(Tier::Image, keyA, 1000000);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "the answer has more than 1000000 bytes");
}

TEST_F(RemoteTest, ADeadServerCostsLittleAndOnce) {
  int port = 0;
  {
    FakeServer gone([](const std::string &) { return std::string(); });
    port = gone.port();
  }
  for (const char *kind : {"http", "redis"}) {
    std::unique_ptr<Remote> remote =
        open(std::string(kind) + "://127.0.0.1:" + std::to_string(port));
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i)
      EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  }
}

TEST_F(RemoteTest, GivesSealedEntriesToAll) {
  FakeServer http([](const std::string &) { return httpAnswer("201 Created", ""); });
  FakeServer redis([](const std::string &) { return std::string("+OK\r\n"); });
  open(http.http() + " " + redis.redis())->put(Tier::Image, keyA, entry);
  std::string put;
  for (const std::string &part : http.requests())
    put += part;
  EXPECT_THAT(put, StartsWith("PUT /v1/image/" + keyA));
  EXPECT_TRUE(put.ends_with("\r\n\r\n" + sealed));
  ASSERT_EQ(redis.requests().size(), 1u);
  EXPECT_THAT(redis.requests().front(), HasSubstr(redisText(sealed)));
}

TEST_F(RemoteTest, GivesNothingWhereNothingIsTaken) {
  FakeServer http([](const std::string &request) {
    return request.starts_with("GET") ? httpAnswer("404 No", "") : httpAnswer("403 No", "{}");
  });
  FakeServer replica([](const std::string &request) {
    return std::string(request.find("SET") != std::string::npos ? "-READONLY replica\r\n"
                                                                : "$-1\r\n");
  });
  std::unique_ptr<Remote> remote = open(http.http() + " " + replica.redis());
  remote->put(Tier::Image, keyA, entry);
  std::size_t once = http.requests().size();
  remote->put(Tier::Image, keyB, entry);
  EXPECT_EQ(http.requests().size(), once);
  EXPECT_EQ(replica.requests().size(), 1u);
  EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt);
  EXPECT_GT(http.requests().size(), once) << "it is still read";
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RemoteTest, AFullDiskCanBeRead) {
  FakeServer http([&](const std::string &request) {
    return request.starts_with("GET") ? httpAnswer("200 OK", sealed) : httpAnswer("507 Full", "{}");
  });
  std::unique_ptr<Remote> remote = open(http.http());
  remote->put(Tier::Image, keyB, entry);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
}

TEST_F(RemoteTest, AnEntryThatIsTooLargeConcernsNoOther) {
  FakeServer http([&](const std::string &) { return httpAnswer("413 Large", "{}"); });
  std::unique_ptr<Remote> remote = open(http.http());
  remote->put(Tier::Image, keyA, entry);
  std::size_t once = http.requests().size();
  remote->put(Tier::Image, keyB, entry);
  EXPECT_GT(http.requests().size(), once);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RemoteTest, ATokenThatMayNotReadAsksOnceAndSaysNothing) {
  FakeServer http([&](const std::string &request) {
    return request.starts_with("GET") ? httpAnswer("403 No", "{}") : httpAnswer("201 Made", "");
  });
  std::unique_ptr<Remote> remote = open(http.http());
  EXPECT_EQ(remote->get(Tier::Image, keyA), std::nullopt);
  EXPECT_EQ(remote->get(Tier::Image, keyB), std::nullopt);
  EXPECT_EQ(http.requests().size(), 1u);
  remote->put(Tier::Image, keyA, entry);
  EXPECT_GT(http.requests().size(), 1u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RemoteTest, ThatIsOnlyReadIsGivenNothing) {
  FakeServer http([](const std::string &) { return httpAnswer("201 Created", ""); });
  open(http.http(), /*readOnly=*/true)->put(Tier::Image, keyA, entry);
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(RemoteTest, AChildMakesItsOwnConnections) {
  FakeServer redis([&](const std::string &) { return redisText(sealed); });
  std::unique_ptr<Remote> remote = open(redis.redis());
  ASSERT_EQ(remote->get(Tier::Image, keyA), entry);
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(remote->get(Tier::Image, keyA) == entry ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
}

TEST_F(RemoteTest, AClosedConnectionDoesNotEndTheProcess) {
  // The default action of SIGPIPE, as in most programs.
  auto before = std::signal(SIGPIPE, SIG_DFL);
  std::atomic<int> turn = 0;
  FakeServer redis([&](const std::string &) { return turn++ ? std::string() : redisText(sealed); });
  std::unique_ptr<Endpoint> endpoint = connectLater(*parseAddress(redis.redis()), "", "");
  for (int i = 0; i < 5; ++i) // to a connection that the server closes meanwhile
    (void)endpoint->put(Tier::Image, keyA, std::string(3000000, 'a')).ok();
  std::signal(SIGPIPE, before);
}

TEST_F(RemoteTest, AServerThatWasStartedAnewIsAskedOverANewConnection) {
  auto server =
      std::make_unique<FakeServer>([&](const std::string &) { return redisText(sealed); });
  std::unique_ptr<Remote> remote = open(server->redis());
  ASSERT_EQ(remote->get(Tier::Image, keyA), entry);
  int port = server->port();
  server.reset(); // closes the connection
  server =
      std::make_unique<FakeServer>([&](const std::string &) { return redisText(sealed); }, port);
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RemoteTest, AShardThatIsDeadIsReplacedByTheNext) {
  std::vector<std::unique_ptr<FakeServer>> shards;
  std::string addresses;
  for (int i = 0; i < 3; ++i) {
    shards.push_back(std::make_unique<FakeServer>([&](const std::string &request) {
      return request.find("SET") != std::string::npos ? std::string("+OK\r\n") : redisText(sealed);
    }));
    addresses += (i ? "|" : "") + shards.back()->redis();
  }
  std::unique_ptr<Remote> remote = open(addresses);
  ASSERT_EQ(remote->get(Tier::Image, keyA), entry);
  remote->put(Tier::Image, keyA, entry);
  std::vector<std::size_t> asked;
  for (const auto &shard : shards)
    asked.push_back(shard->requests().size());
  EXPECT_THAT(asked, testing::UnorderedElementsAre(0, 0, 2)) << "a key has one shard";
  shards[static_cast<std::size_t>(std::max_element(asked.begin(), asked.end()) - asked.begin())]
      .reset();
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
  EXPECT_EQ(remote->get(Tier::Image, keyA), entry);
  EXPECT_EQ(warnings.size(), 1u);
}

struct Variable {
  Variable(const char *name, const std::string &value) : name(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name); }
  const char *name;
};

TEST_F(RemoteTest, OfTheEnvironmentNeedsAKey) {
  EXPECT_EQ(*Remote::ofUser(), nullptr);
  Variable address("ATTNC_REMOTE", "http://a");
  EXPECT_THAT(Remote::ofUser().error().message, HasSubstr("there is no key"));
  Variable key("ATTNC_REMOTE_KEY_FILE", file.path);
  EXPECT_NE(*Remote::ofUser(), nullptr);
  {
    Variable mode("ATTNC_REMOTE_MODE", "write");
    EXPECT_THAT(Remote::ofUser().error().message, HasSubstr("ATTNC_REMOTE_MODE is 'write'"));
  }
  KeyFile words("two words\n");
  {
    Variable token("ATTNC_REMOTE_TOKEN_FILE", words.path);
    EXPECT_THAT(Remote::ofUser().error().message, HasSubstr("more than one word"));
  }
  KeyFile noKey("no key");
  Variable wrong("ATTNC_REMOTE_KEY_FILE", noKey.path);
  EXPECT_FALSE(Remote::ofUser());
}

class RemoteCompilation : public RemoteTest {
protected:
  std::optional<Result<std::string>> compileAt(const std::string &addresses) {
    return open(addresses)->compile("{}", "this-build", keyA, unreached);
  }
  const std::string program = cache::encodeEntry(Tier::Program, keyA, "a program");
  Error unreached;
};

TEST_F(RemoteCompilation, GivesTheEntryThatWasAskedForAlsoToOthers) {
  FakeServer store([](const std::string &request) {
    return request.starts_with("POST") ? httpAnswer("405 No", "") : httpAnswer("201 Created", "");
  });
  FakeServer service(
      [&](const std::string &) { return httpAnswer("200 OK", seal(keys, program)); });
  std::optional<Result<std::string>> compiled = compileAt(store.http() + " " + service.http());
  ASSERT_TRUE(compiled && *compiled);
  EXPECT_EQ(**compiled, program);
  EXPECT_THAT(service.requests().front(), StartsWith("POST /v1/compile"));
  EXPECT_THAT(service.requests().front(), HasSubstr("\r\nAttnc-Build: this-build\r\n"));
  EXPECT_EQ(service.requests().size(), 1u) << "it has the entry";
  EXPECT_THAT(store.requests().at(1), StartsWith("PUT /v1/program/" + keyA));
}

TEST_F(RemoteCompilation, WaitsWhereTheServiceIsBusyOrWasReplaced) {
  std::atomic<int> turn = 0;
  FakeServer service([&](const std::string &) {
    switch (turn++) {
    case 0:
      return httpAnswer("429 Busy", "{}", "Retry-After: 1\r\n");
    case 1:
      return std::string();
    default:
      return httpAnswer("200 OK", seal(keys, program));
    }
  });
  std::optional<Result<std::string>> compiled = compileAt(service.http());
  ASSERT_TRUE(compiled && *compiled) << unreached.message;
  EXPECT_EQ(turn, 3);
}

TEST_F(RemoteCompilation, PassesTheErrorOfTheSpecOn) {
  FakeServer service([](const std::string &) {
    return httpAnswer("422 No", R"({"error": {"kind": "limit", "limit": "time",
                                 "message": "it took longer than 60 s", "remedy": "less"}})");
  });
  std::optional<Result<std::string>> compiled = compileAt(service.http());
  ASSERT_TRUE(compiled && !*compiled);
  EXPECT_EQ(compiled->error().message, "it took longer than 60 s");
  EXPECT_EQ(compiled->error().remedy, "less");
}

TEST_F(RemoteCompilation, WhatIsWrongWithOneRequestSaysNothingOfTheServer) {
  for (const char *status : {"400 Bad", "413 Large", "500 Died"}) {
    FakeServer service([&](const std::string &) {
      return httpAnswer(status, R"({"error": {"kind": "internal", "message": "that one"}})");
    });
    std::unique_ptr<Remote> remote = open(service.http());
    for (std::size_t asked : {1u, 2u}) {
      std::optional<Result<std::string>> compiled =
          remote->compile("{}", "this-build", keyA, unreached);
      ASSERT_TRUE(compiled && !*compiled) << status;
      EXPECT_EQ(compiled->error().message, "that one");
      EXPECT_EQ(service.requests().size(), asked) << status;
    }
  }
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RemoteCompilation, OfAServiceWithoutACompilerIsNone) {
  FakeServer service([&](const std::string &) {
    return httpAnswer("500 None", R"({"error": {"kind": "environment", "message": "no NVRTC"}})");
  });
  EXPECT_FALSE(compileAt(service.http()));
  EXPECT_EQ(unreached.message, service.http() + ": no NVRTC");
  EXPECT_EQ(service.requests().size(), 1u);
}

TEST_F(RemoteCompilation, OfAServerThatIsLeftAloneIsToldSo) {
  FakeServer service([](const std::string &) { return std::string(); });
  std::unique_ptr<Remote> remote = open(service.http());
  EXPECT_FALSE(remote->compile("{}", "this-build", keyA, unreached));
  EXPECT_FALSE(remote->compile("{}", "this-build", keyA, unreached));
  EXPECT_THAT(unreached.message, HasSubstr("has failed, and is left alone"));
}

TEST_F(RemoteCompilation, SaysWhyNobodyDoesIt) {
  for (const auto &[status, message] : std::initializer_list<std::pair<const char *, const char *>>{
           {"409 Other", "it answers with the status 409"},
           {"401 Who", "it answers with the status 401"},
           {"404 None", "it answers with the status 404"}}) {
    FakeServer service([&](const std::string &) { return httpAnswer(status, "<html>"); });
    EXPECT_FALSE(compileAt(service.http())) << status;
    EXPECT_EQ(unreached.message, service.http() + ": " + message);
  }
  FakeServer forger(
      [&](const std::string &) { return httpAnswer("200 OK", seal(others, program)); });
  EXPECT_FALSE(compileAt(forger.http()));
  EXPECT_THAT(unreached.message, HasSubstr("not sealed with a key of this fleet"));
  FakeServer mistaken([&](const std::string &) {
    return httpAnswer("200 OK", seal(keys, cache::encodeEntry(Tier::Program, keyB, "another")));
  });
  EXPECT_FALSE(compileAt(mistaken.http()));
  EXPECT_THAT(unreached.message, HasSubstr("another one than its name says"));
}

} // namespace
} // namespace attnc::remote
