// Commands in processes of their own. This binary is the command, as attnc is.
#include "tools/attnc/command_line.h"
#include "tools/explorer/run_command.h"

#include <chrono>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace attnc::explorer {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char *spec = R"({"attnc": 1, "inputs": {"x": "f32[i]"}, "body": ["o = 2 * x"],
  "outputs": {"o": "f32"}, "reference": {"shape": {"i": 5}}})";

CommandRequest requestFor(const char *command, const std::string &text, const char *more = "") {
  Json body = Json::parse(*more ? more : "{}");
  body["spec"] = text;
  Result<CommandRequest> request = readCommandRequest(command, body.dump());
  EXPECT_TRUE(request);
  return *request;
}

TEST(RunCommand, AnswersWhatTheCommandPrints) {
  Reply reply = runCommand(requestFor("check", spec, R"({"target": "cpu"})"), {}, {});
  EXPECT_EQ(reply.status, 200u) << reply.body;
  EXPECT_EQ(Json::parse(reply.body)["checks"][0]["verdict"], "ok");
}

TEST(RunCommand, AMistakeIsAnAnswer) {
  Reply reply = runCommand(
      requestFor("compile", "{\"attnc\": 1}", R"({"target": "cpu", "emit": "attn"})"), {}, {});
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(Json::parse(reply.body)["exit"], 3);
  EXPECT_EQ(Json::parse(reply.body)["diagnostics"][0]["line"], 1);
}

TEST(RunCommand, HasAScheduleOfItsOwn) {
  Reply reply =
      runCommand(requestFor("compile", spec,
                            R"({"target": "cpu", "emit": "red", "schedule": {"no_such_key": 1}})"),
                 {}, {});
  EXPECT_THAT(reply.body, HasSubstr("no_such_key"));
}

TEST(RunCommand, EndsAtItsLimitOfSeconds) {
  std::string slow(1 << 19, ' '); // more than a pipe holds, to a command that reads it all
  CommandLimits limits;
  limits.seconds = 0.0;
  Reply reply = runCommand(requestFor("check", spec + slow), limits, {});
  EXPECT_EQ(reply.status, 504u);
  EXPECT_THAT(reply.body, HasSubstr("longer than 0 s"));
}

TEST(RunCommand, EndsWhereItPrintsTooMuch) {
  CommandLimits limits;
  limits.outputBytes = 100;
  Reply reply = runCommand(requestFor("explain", spec, R"({"target": "cpu"})"), limits, {});
  EXPECT_EQ(reply.status, 500u);
  EXPECT_THAT(reply.body, HasSubstr("more than 100 bytes"));
}

TEST(RunCommand, EndsWhenNobodyWaits) {
  std::stop_source stop;
  std::jthread soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  auto start = std::chrono::steady_clock::now();
  Reply reply = runCommand(
      requestFor("run", spec, R"({"target": "cpu", "shape": {"i": 300000000}, "check": true})"),
      {.seconds = 100, .memoryBytes = std::uint64_t(64) << 30}, stop.get_token());
  EXPECT_EQ(reply.status, 500u) << reply.body;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(RunCommand, ALongSpecGoesThrough) {
  std::string text = spec + std::string(900000, ' ');
  Reply reply = runCommand(requestFor("check", text, R"({"target": "cpu"})"), {}, {});
  EXPECT_EQ(reply.status, 200u) << reply.body;
}

} // namespace
} // namespace attnc::explorer

int main(int argc, char **argv) {
  if (argc > 1 && argv[1] == std::string_view(attnc::explorer::commandWord))
    return attnc::cli::runCommandLine(argc - 1, argv + 1);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
