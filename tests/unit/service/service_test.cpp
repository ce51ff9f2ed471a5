#include "tools/attncd/service/service.h"

#include "runtime/cache/key.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

using namespace attnc;
using namespace attnc::service;

namespace {

/// Answers at once, or not at all.
class TestCompiler : public Compiler {
public:
  Submitted submit(std::string request, Done done) override {
    requests.push_back(std::move(request));
    if (result == Submitted::Accepted)
      done(std::make_shared<const CompileAnswer>(answer));
    return result;
  }
  void drain() override {}
  CompilePoolStats stats() const override {
    CompilePoolStats stats;
    stats.alive = alive;
    return stats;
  }

  Submitted result = Submitted::Accepted;
  CompileAnswer answer;
  int alive = 1;
  std::vector<std::string> requests;
};

std::string keyFile(const std::string &folder) {
  std::filesystem::create_directory(folder);
  std::string file = folder + "/key";
  std::ofstream(file) << std::string(64, '1');
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  return file;
}

/// A service that lets everybody do all.
class ServiceTest : public testing::Test {
protected:
  ~ServiceTest() override { std::filesystem::remove_all(folder); }

  static std::shared_ptr<cache::Store> openStore(const std::string &directory) {
    cache::StoreOptions options;
    options.directory = directory;
    return *cache::Store::open(options);
  }

  Answer ask(const std::string &method, const std::string &path, const std::string &body = "",
             const std::string &accept = "") {
    RequestHead head;
    head.method = method;
    head.path = path;
    if (!accept.empty())
      head.accept = accept;
    head.bodyBytes = body.size();
    Request request = service.admit(head);
    if (request.answer)
      return *request.answer;
    std::promise<Answer> promise;
    service.perform(request, body, [&](Answer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
  static std::string kindOf(const Answer &answer) {
    return nlohmann::json::parse(*answer.body)["error"]["kind"];
  }
  static std::string headerOf(const Answer &answer, std::string_view name) {
    for (const auto &[key, value] : answer.headers)
      if (key == name)
        return value;
    return "";
  }

  const std::string folder = testing::TempDir() + "service-" + std::to_string(::getpid());
  const remote::FleetKeys keys = *remote::FleetKeys::read(keyFile(folder));
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> logFile{std::fopen("/dev/null", "w"),
                                                           std::fclose};
  Log log{::fileno(logFile.get())};
  Metrics metrics{"", ""};
  SealedEntries entries{openStore(folder + "/cache"), keys, metrics, 1 << 20};
  TestCompiler compiler;
  Service service{{}, entries, compiler, metrics, log};
};

TEST_F(ServiceTest, ACompilationIsASealedEntryOrAProgram) {
  std::string key = cache::KeyBuilder().add("a", "b").finish();
  compiler.answer = {cache::encodeEntry(cache::Tier::Program, key, "the program"), key, "disk", {}};
  Answer sealed = ask("POST", "/v1/compile", "{}", "application/vnd.attnc.entry");
  EXPECT_EQ(sealed.status, 200u);
  EXPECT_EQ(*sealed.body, remote::seal(keys, compiler.answer.entry));
  EXPECT_EQ(headerOf(sealed, "Content-Type"), "application/vnd.attnc.entry");
  EXPECT_EQ(headerOf(sealed, "Attnc-Tier"), "program");
  EXPECT_EQ(headerOf(sealed, "Attnc-Key"), key);
  EXPECT_EQ(headerOf(sealed, "Attnc-From"), "disk");
  EXPECT_FALSE(headerOf(sealed, "Attnc-Build").empty());
  EXPECT_EQ(*ask("POST", "/v1/compile", "{}").body, "the program");
  Answer hot = ask("GET", "/v1/program/" + key);
  EXPECT_EQ(*hot.body, *sealed.body);
  EXPECT_EQ(hot.from, "memory") << "who asks next need not compile";
}

// Each of many who wait for a large program would have a copy of it.
TEST_F(ServiceTest, WhoWaitForOneJobAreSentTheSameBytes) {
  std::string key = cache::KeyBuilder().add("a", "e").finish();
  // The answers of one job share what is in their bodies.
  compiler.answer = {cache::encodeEntry(cache::Tier::Program, key, "the program"), key, "disk", {}};
  for (const char *accept : {"", "application/vnd.attnc.entry"}) {
    std::set<const std::string *> bodies;
    std::vector<Answer> answers; // they live at the same time
    for (int i = 0; i < 50; ++i)
      bodies.insert(answers.emplace_back(ask("POST", "/v1/compile", "{}", accept)).body.get());
    EXPECT_EQ(bodies.size(), 1u) << accept;
  }
}

TEST_F(ServiceTest, AFailureHasItsStatusAndItsLimit) {
  struct {
    const char *kind;
    unsigned status;
  } const cases[] = {{"invalid_argument", 400}, {"other_build", 409}, {"spec", 422},
                     {"compilation", 422},      {"limit", 422},       {"environment", 500},
                     {"internal", 500}};
  for (auto [kind, status] : cases) {
    compiler.answer.failure = CompileFailure{kind, "why", "what to do", "time"};
    Answer answer = ask("POST", "/v1/compile", "{}");
    EXPECT_EQ(answer.status, status) << kind;
    nlohmann::json error = nlohmann::json::parse(*answer.body)["error"];
    EXPECT_EQ(error["kind"], kind);
    EXPECT_EQ(error["message"], "why");
    EXPECT_EQ(error["remedy"], "what to do");
    EXPECT_EQ(error["limit"], "time");
  }
}

TEST_F(ServiceTest, WhoFindsTheQueueFullMayAskAgain) {
  compiler.result = Submitted::Full;
  Answer full = ask("POST", "/v1/compile", "{}");
  EXPECT_EQ(full.status, 429u);
  EXPECT_EQ(kindOf(full), "busy");
  EXPECT_GE(std::stoi(headerOf(full, "Retry-After")), 1);
  compiler.result = Submitted::Draining;
  Answer draining = ask("POST", "/v1/compile", "{}");
  EXPECT_EQ(draining.status, 503u);
  EXPECT_EQ(kindOf(draining), "draining");
  EXPECT_GE(std::stoi(headerOf(draining, "Retry-After")), 1);
}

TEST_F(ServiceTest, ARequestToCompileIsHandedOnAsItIs) {
  ask("POST", "/v1/compile", R"({"spec": "causal"})");
  EXPECT_THAT(compiler.requests, testing::ElementsAre(R"({"spec": "causal"})"));
  EXPECT_EQ(ask("POST", "/v1/compile", std::string(maxCompileBytes + 1, ' ')).status, 413u);
  EXPECT_EQ(compiler.requests.size(), 1u);
}

TEST_F(ServiceTest, WithoutAWorkerItIsNotReady) {
  EXPECT_EQ(ask("GET", "/readyz").status, 200u);
  compiler.alive = 0;
  EXPECT_EQ(ask("GET", "/readyz").status, 503u);
  EXPECT_EQ(ask("GET", "/healthz").status, 200u);
}

TEST_F(ServiceTest, AnswersWhileItDrainsAreTheirConnectionsLast) {
  EXPECT_FALSE(ask("GET", "/healthz").closes);
  service.drain();
  EXPECT_TRUE(ask("GET", "/healthz").closes);
  EXPECT_TRUE(ask("GET", "/v1/status").closes);
  EXPECT_EQ(ask("GET", "/readyz").status, 503u);
}

TEST_F(ServiceTest, WhatIsUsedInMemoryIsUsedOnDiskAtTimes) {
  std::shared_ptr<cache::Store> store = openStore(folder + "/other");
  std::string key = cache::KeyBuilder().add("a", "d").finish();
  store->put(cache::Tier::Image, key, "value");
  SealedEntries always(store, keys, metrics, 1 << 20, std::chrono::nanoseconds(0));
  SealedEntries later(store, keys, metrics, 1 << 20, std::chrono::hours(1));
  for (SealedEntries *one : {&always, &later}) {
    EXPECT_FALSE(one->find(cache::Tier::Image, key));
    EXPECT_TRUE(one->load(cache::Tier::Image, key));
    EXPECT_TRUE(one->find(cache::Tier::Image, key));
  }
  EXPECT_TRUE(always.find(cache::Tier::Image, key)->needsTouch);
  EXPECT_FALSE(later.find(cache::Tier::Image, key)->needsTouch);
}

TEST_F(ServiceTest, WhatCannotBeStoredIsSaid) {
  std::string key = cache::KeyBuilder().add("a", "c").finish();
  std::string sealed = remote::seal(keys, cache::encodeEntry(cache::Tier::Image, key, "value"));
  std::filesystem::remove_all(folder + "/cache");
  std::ofstream(folder + "/cache") << "no folder";
  Answer answer = ask("PUT", "/v1/image/" + key, sealed);
  EXPECT_EQ(answer.status, 507u);
  EXPECT_EQ(kindOf(answer), "environment");
}

TEST_F(ServiceTest, TextThatIsNoUtf8IsAnsweredAsJson) {
  compiler.answer.failure = CompileFailure{"spec", "bad \xff byte", "", ""};
  EXPECT_EQ(kindOf(ask("POST", "/v1/compile", "{}")), "spec");
}

} // namespace
