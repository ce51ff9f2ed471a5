// What the page may ask for.
#include "tools/explorer/command_request.h"

#include <gmock/gmock.h>

namespace attnc::explorer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CommandRequest, IsACommandLine) {
  Result<CommandRequest> request = readCommandRequest(
      "compile", R"({"spec": "{}", "target": "sm_90a", "emit": "cuda", "grad": "q,k",
                     "set": {"d": 64, "T": "f16"}, "schedule": {"stages": 2}})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_THAT(request->arguments,
              ElementsAre("compile", "-", "--json", "--target", "sm_90a", "--emit", "cuda",
                          "--lines", "--grad", "q,k", "--set", "d=64", "--set", "T=f16",
                          "--schedule", "schedule.json"));
  EXPECT_EQ(request->spec, "{}");
  EXPECT_EQ(request->schedule, "{\n  \"stages\": 2\n}");
}

TEST(CommandRequest, LinesOnlyOfWhatHasSome) {
  Result<CommandRequest> request = readCommandRequest("compile", R"({"spec": "", "emit": "llvm"})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_THAT(request->arguments, ElementsAre("compile", "-", "--json", "--emit", "llvm"));
}

TEST(CommandRequest, Flags) {
  Result<CommandRequest> request = readCommandRequest(
      "run", R"({"spec": "", "check": true, "time": false, "shape": {"b": 2}, "seed": 7,
                 "param": {"scale": 0.5}})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_THAT(request->arguments, ElementsAre("run", "-", "--json", "--check", "--shape", "b=2",
                                              "--seed", "7", "--param", "scale=0.5"));
}

TEST(CommandRequest, NothingBecomesAnOptionOrAFile) {
  std::pair<const char *, const char *> cases[] = {
      {R"({"spec": "", "target": "--out"})", "'target' has to be one word"},
      {R"({"spec": "", "target": "a/b"})", "'target' has to be one word"},
      {R"({"spec": "", "target": ""})", "'target' has to be one word"},
      {R"({"spec": "", "grad": "-q"})", "'grad' has to be names"},
      {R"({"spec": "", "set": {"--out": 3}})", "'set' has to be an object"},
      {R"({"spec": "", "set": {"d": [3]}})", "'set' has to be an object"},
      {R"({"spec": "", "schedule": "/etc/passwd"})", "'schedule' has to be the object"},
      {R"({"spec": "", "emit": 3})", "'emit' has to be one word"},
      {R"({"spec": 3})", "'spec' has to be the text of a spec"},
      {R"({"spec": "", "out": "x"})", "compile knows no 'out'"},
      {R"({"spec": "", "tagret": "cpu"})", "compile knows no 'tagret'"},
      {R"({"spec": "", "check": true})", "compile knows no 'check'"},
      {R"({"target": "cpu"})", "the member 'spec'"},
      {R"([])", "the member 'spec'"},
      {"{", "the member 'spec'"}};
  for (auto [body, message] : cases) {
    Result<CommandRequest> request = readCommandRequest("compile", body);
    ASSERT_FALSE(request) << body;
    EXPECT_THAT(request.error().message, HasSubstr(message)) << body;
  }
}

TEST(CommandRequest, NothingNestsWithoutEnd) {
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  Result<CommandRequest> request =
      readCommandRequest("check", R"({"spec": "", "schedule": {"a": )" + deep + "}}");
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error().message, HasSubstr("nested"));
}

TEST(CommandRequest, OnlyTheseCommands) {
  for (const char *command : {"", "cache", "serve", "compile explain", "COMPILE", " run"})
    EXPECT_FALSE(readCommandRequest(command, R"({"spec": ""})")) << command;
}

} // namespace
} // namespace attnc::explorer
