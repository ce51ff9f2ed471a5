// The JSON of a request: each member, each mistake by its name, and any bytes.
#include "compiler/jit/program_key.h"
#include "compiler/jit/remote_compile.h"
#include "tests/unit/jit/parsed_spec.h"
#include "tests/unit/service/requests.h"
#include "tools/attncd/workers/compile_request.h"

#include <gmock/gmock.h>
#include <random>

using namespace attnc;
using namespace attnc::service;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Expects that a request with these members is refused with this text.
void expectRefused(const nlohmann::json &members, const std::string &message) {
  nlohmann::json request = {{"text", "{}"}, {"target", "sm_90a"}};
  request.update(members);
  for (const auto &[name, value] : members.items())
    if (value.is_null())
      request.erase(name);
  Result<CompileRequest> refused = readCompileRequest(request.dump());
  ASSERT_FALSE(refused) << request.dump().substr(0, 200);
  EXPECT_EQ(refused.error().kind, ErrorKind::InvalidArgument);
  EXPECT_THAT(refused.error().text(), HasSubstr(message));
}

std::string tuningText() {
  schedule::TuningDatabase builtin;
  schedule::addBuiltinTuning(builtin);
  return builtin.all().front().second.text();
}

std::string fullRequest() {
  return nlohmann::json{{"build", "b"},
                        {"name", "n.json"},
                        {"text", smallSpec()},
                        {"target", "sm_80"},
                        {"set", {{"d", "64"}, {"T", "f16"}}},
                        {"schedule", {{"stages", 3}, {"nest", {{"rows", 64.5}}}}},
                        {"tuned", {{{"origin", "here"}, {"text", tuningText()}}}},
                        {"memory_budget", 1 << 20},
                        {"keep_texts", false}}
      .dump();
}

TEST(CompileRequest, EveryMemberIsTaken) {
  Result<CompileRequest> request = readCompileRequest(fullRequest());
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->build, "b");
  EXPECT_EQ(request->name, "n.json");
  EXPECT_EQ(request->text, smallSpec());
  EXPECT_EQ(request->overrides.values,
            (std::map<std::string, std::string>{{"d", "64"}, {"T", "f16"}}));
  driver::CompileOptions options = request->options();
  EXPECT_EQ(options.target, "sm_80");
  EXPECT_EQ(options.schedule.dump(), R"({"nest":{"rows":64.5},"stages":3})");
  EXPECT_EQ(options.tuned->text(), tuningText());
  EXPECT_EQ(options.memoryBudget, 1 << 20);
  EXPECT_FALSE(options.keepTexts);
}

TEST(CompileRequest, WhatIsNotSaidIsAsForTheCommandLine) {
  Result<CompileRequest> request = readCompileRequest(R"({"spec": "causal", "target": "sm_90a"})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->name, "causal.json");
  EXPECT_THAT(request->text, HasSubstr("\"causal\""));
  schedule::TuningDatabase builtin;
  schedule::addBuiltinTuning(builtin);
  EXPECT_EQ(request->tuned.text(), builtin.text());
  EXPECT_TRUE(request->schedule.is_null());
  EXPECT_FALSE(request->memoryBudget);
  EXPECT_TRUE(request->keepTexts);
  EXPECT_EQ(
      readCompileRequest(R"({"spec": "causal", "target": "sm_90a", "tuned": []})")->tuned.text(),
      "");
}

// The client's request is read back as what it was made from: both have the same key.
TEST(CompileRequest, IsWhatTheClientSends) {
  test::ParsedSpec parsed;
  schedule::TuningDatabase builtin;
  schedule::addBuiltinTuning(builtin);
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.tuned = &builtin;
  options.schedule = {{"stages", 2}};
  options.memoryBudget = 77;
  options.keepTexts = false;
  Result<CompileRequest> request = readCompileRequest(compileRequest(*parsed.spec, options));
  ASSERT_TRUE(request) << request.error().text();
  test::ParsedSpec there(request->text, request->name, request->overrides);
  EXPECT_EQ(programKey(*there.spec, request->options()), programKey(*parsed.spec, options));
}

TEST(CompileRequest, AMistakeIsSaidWithItsMember) {
  expectRefused({{"txt", ""}}, "txt: a request has no such member\n  did you mean 'text'?");
  expectRefused({{"target", nullptr}}, "target: it is missing");
  expectRefused({{"target", "cpu"}}, "target: code for the cpu depends on the processor");
  expectRefused({{"target", "sm_9"}}, "target: there is no target 'sm_9'");
  expectRefused({{"target", 90}}, "target: this is an integer and has to be a string");
  expectRefused({{"text", nullptr}}, "text: it is missing");
  expectRefused({{"spec", "causal"}}, "text, spec: there are both");
  expectRefused({{"text", nullptr}, {"spec", "casual"}},
                "spec: there is no 'casual' in the library\n  did you mean 'causal'?");
  expectRefused({{"text", std::string(maxSpecBytes + 1, ' ')}},
                "text: 1048577 bytes are too many, it may have 1048576");
  expectRefused({{"name", std::string(5000, 'n')}}, "name: 5000 bytes are too many");
  expectRefused({{"set", {{"d", 64}}}}, "set.d: this is an integer and has to be a string");
  expectRefused({{"set", nlohmann::json::array()}}, "set: this is a list");
  expectRefused({{"schedule", "fast"}}, "schedule: this is a string and has to be an object");
  expectRefused({{"tuned", {{{"text", "{}"}}}}}, "tuned[0].text: not a tuning file");
  expectRefused({{"tuned", {{{"file", "x"}}}}}, "tuned[0]: there is no 'file'");
  expectRefused({{"memory_budget", -1}}, "memory_budget: -1 bytes are no budget");
  expectRefused({{"memory_budget", 1.5}}, "memory_budget: this is a number");
  expectRefused({{"keep_texts", 1}}, "keep_texts: this is an integer and has to be a boolean");
  expectRefused({{"build", 1}}, "build: this is an integer");
}

TEST(CompileRequest, WhatIsNoObjectIsRefused) {
  for (std::string text : {"", "[]", "{", "nonsense", "{\"text\": \"\xff", "\0"}) {
    Result<CompileRequest> refused = readCompileRequest(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message, StartsWith("the request is ")) << text;
  }
  std::string deep = std::string(100'000, '[');
  EXPECT_FALSE(readCompileRequest("{\"schedule\": " + deep));
  std::string large(maxRequestBytes + 1, ' ');
  EXPECT_THAT(readCompileRequest(large).error().message, HasSubstr("2097153 bytes"));
}

// Bytes are changed, cut out and doubled at random: each request is read or refused with a message.
TEST(CompileRequest, AnyBytesAreReadOrRefused) {
  std::mt19937 random(15);
  std::string start = nlohmann::json{{"name", "n"},
                                     {"text", smallSpec()},
                                     {"target", "sm_80"},
                                     {"set", {{"d", "64"}}},
                                     {"schedule", {{"stages", 3}}},
                                     {"memory_budget", 5},
                                     {"keep_texts", true},
                                     {"tuned", nlohmann::json::array()}}
                          .dump();
  auto below = [&](std::size_t end) { return random() % end; };
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = start;
    for (std::size_t change = below(4); change-- > 0 && !text.empty();) {
      std::size_t at = below(text.size()), count = below(20);
      switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, count);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), count));
        break;
      default:
        text.insert(at, 1, "{}[]\",:0-e\\"[below(11)]);
      }
    }
    Result<CompileRequest> request = readCompileRequest(text);
    taken += request.ok();
    if (!request)
      ASSERT_FALSE(request.error().message.empty()) << text;
  }
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 20'000);
}

} // namespace
