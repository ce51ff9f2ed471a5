// What the commands report of gradients, take for them and refuse.
#include "tests/e2e/tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace attnc::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

//===--- times -----------------------------------------------------------------------------===//

std::map<std::string, double> timesOf(const json &report) {
  std::map<std::string, double> times;
  for (const json &time : report.at("timing"))
    times[time.at("name")] = time.at("seconds");
  return times;
}

TEST(GradientTimes, areOfBothPrograms) {
  json report = attnc({"compile", "causal", "--grad", "q,k", "--target", "sm_80", "--emit", "cuda",
                       "--timing", "--json"})
                    .json();
  ASSERT_TRUE(report.is_object());
  std::map<std::string, double> times = timesOf(report);
  EXPECT_GT(times.at("gradients"), 0);
  EXPECT_GT(times.at("backward.fuse-nests"), 0);
  EXPECT_GT(times.at("backward.emit-cuda"), 0);
  double passes = 0;
  for (const auto &[name, seconds] : times)
    if (name != "ours" && name != "total")
      passes += seconds;
  EXPECT_LE(passes, times.at("total") * 1.001);
  EXPECT_EQ(times.at("ours"), times.at("total")); // no NVRTC for CUDA C++
  EXPECT_THAT(report.at("kernels").dump(), HasSubstr("\"causal_grad_grad_q\""));
}

TEST(GradientTimes, areThoseOfOneProgramWithoutGradients) {
  json report =
      attnc({"compile", "causal", "--target", "sm_80", "--emit", "cuda", "--timing", "--json"})
          .json();
  ASSERT_TRUE(report.is_object());
  for (const auto &[name, seconds] : timesOf(report))
    EXPECT_TRUE(name != "gradients" && !name.starts_with("backward.")) << name;
}

TEST(GradientTimes, standInTheTable) {
  Ended ended =
      attnc({"compile", "causal", "--grad", "q", "--target", "cpu", "--emit", "red", "--timing"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("\n  gradients  "));
  EXPECT_THAT(ended.err, HasSubstr("\n  backward.fuse-nests  "));
  EXPECT_THAT(ended.err, HasSubstr("\n  backward.choose-schedules  "));
}

//===--- schedules -------------------------------------------------------------------------===//

/// The schedules of all kernels by name, as `explain` prints them.
std::map<std::string, std::string> schedulesOf(const json &explained) {
  std::map<std::string, std::string> schedules;
  for (const json &program : {explained, explained.at("backward")})
    for (const json &kernel : program.at("kernels"))
      schedules[kernel.at("kernel")] = kernel.at("schedule");
  return schedules;
}

/// Of causal attention with gradients, in a program whose kernels have tiles.
class GradientSchedules : public testing::Test {
protected:
  Ended explained(const std::vector<std::string> &more = {}, const std::string &spec = "causal",
                  const std::string &input = "") {
    std::vector<std::string> arguments = {"explain",  spec,    "--grad", "q,k,v",
                                          "--target", "sm_80", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return attnc(arguments, input);
  }

  /// Whether the two kernels have what `keys` says, and the others what they had.
  void expectChanged(const Ended &ended) {
    ASSERT_EQ(ended.exit, 0) << ended.err;
    std::map<std::string, std::string> now = schedulesOf(ended.json());
    ASSERT_EQ(now.size(), before.size());
    for (const auto &[kernel, schedule] : now)
      if (kernel == forward)
        EXPECT_THAT(schedule, HasSubstr("stream_tile = 32"));
      else if (kernel == backward)
        EXPECT_THAT(schedule, HasSubstr("row_tile = 64"));
      else
        EXPECT_EQ(schedule, before.at(kernel));
  }

  void SetUp() override {
    json report = explained().json();
    ASSERT_TRUE(report.is_object());
    before = schedulesOf(report);
    forward = report.at("kernels").at(0).at("kernel");
    keys = {{forward, {{"stream_tile", 32}}}, {backward, {{"row_tile", 64}}}};
    ASSERT_THAT(before.at(forward), testing::Not(HasSubstr("stream_tile = 32")));
    ASSERT_THAT(before.at(backward), testing::Not(HasSubstr("row_tile = 64")));
  }

  TemporaryFolder folder;
  std::map<std::string, std::string> before;
  std::string forward;
  const std::string backward = "causal_grad_grad_q";
  json keys;
};

TEST_F(GradientSchedules, nameKernelsOfEitherProgram) {
  expectChanged(explained({"--schedule", folder.write("s.json", keys.dump())}));
}

TEST_F(GradientSchedules, ofTheSpecNameThemToo) {
  json spec = json::parse(attnc({"show", "causal"}).out);
  spec["schedule"] = keys;
  expectChanged(explained({}, "-", spec.dump()));
}

TEST_F(GradientSchedules, ofKernelsThatNeitherHasAreRefusedWithThoseOfBoth) {
  std::string file = folder.write("s.json", R"({"causal_grad_q": {"row_tile": 64}})");
  for (const char *target : {"sm_80", "cpu"}) {
    Ended ended =
        attnc({"explain", "causal", "--grad", "q", "--target", target, "--schedule", file});
    EXPECT_EQ(ended.exit, 2) << ended.err;
    EXPECT_THAT(ended.err,
                HasSubstr("there is no kernel 'causal_grad_q'; there is causal_o_saved"));
    EXPECT_THAT(ended.err, HasSubstr("causal_grad_grad_q"));
  }
}

//===--- what is 0, and what is refused ----------------------------------------------------===//

std::string specOf(const std::string &inputs, const std::string &body, const std::string &outputs,
                   const std::string &more = "") {
  return R"({"attnc": 1, "name": "t",)"
         "\n"
         R"("inputs": {)" +
         inputs + "},\n\"body\": [" + body + "],\n\"outputs\": {" + outputs + "}" + more + "}";
}

TEST(GradientsThatAre0, areNotedForEachGradientThatIsAskedFor) {
  std::string text =
      specOf(R"("x": "f32[n]", "w": "f32[n]")", R"j("z = floor(x) * w")j", R"("z": "f32")");
  Ended ended = attnc(
      {"run", "-", "--grad", "x", "--grad", "w,x", "--shape", "n=5", "--target", "cpu", "--check"},
      text);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no output of t changes with 'x', or only in steps"));
  EXPECT_THAT(ended.err, HasSubstr("no output of t_grad changes with 'x', or only in steps"));
  EXPECT_THAT(ended.err, testing::Not(HasSubstr("'w'")));
}

Ended explainGradients(const std::string &text) {
  return attnc({"explain", "-", "--grad", "x", "--target", "cpu"}, text);
}

TEST(GradientNames, thatAreTakenAreSaidToBeOfWhatAndWhere) {
  const std::string x = R"("x": "f32[n]")", y = R"("y = x * x")";
  for (auto [text, says] : std::map<std::string, std::string>{
           {specOf(x + R"(, "grad_x": "f32[n]")", R"("y = x * grad_x")", R"("y": "f32")"),
            "'grad_x', which a gradient is to have, is taken\n  rename the input at <stdin>:2:"},
           {specOf(x, y + R"(, "grad_x = x")", R"("y": "f32", "grad_x": "f32")"),
            "'grad_x', which a gradient is to have, is taken\n  rename the output at <stdin>:4:"},
           {specOf(x, R"("y = x * grad_y")", R"("y": "f32")",
                   ",\n\"params\": {\"grad_y\": \"f32 = 2\"}"),
            "'grad_y', which a gradient is to have, is taken\n  rename the param at <stdin>:5:"}}) {
    Ended ended = explainGradients(text);
    EXPECT_EQ(ended.exit, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(says));
  }
}

TEST(Gradients, ofOutputsWithoutRealNumbersAreRefusedWithTheirTypes) {
  Ended ended = explainGradients(specOf(R"("x": "f32[n]")", R"j("y = x > 0", "m = cast(x, i32)")j",
                                        R"("y": "bool", "m": "i32")"));
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no output of real numbers"));
  EXPECT_THAT(ended.err, HasSubstr("it has y of bool, m of i32; gradients are those of outputs"));
}

TEST(Gradients, ofAllInputsAreAskedForInASpec) {
  std::string text = specOf(R"("x": "f32[n]", "w": "f32[n]", "m": "i32[n]")", R"("y = x * w * m")",
                            R"("y": "f32")", R"(, "grad": ["all"])");
  Ended ended = attnc({"run", "-", "--shape", "n=5", "--target", "cpu", "--check", "--json"}, text);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\"grad_x\""));
  EXPECT_THAT(ended.out, HasSubstr("\"grad_w\""));
}

// A weight meets the gradient of the output by a quotient that two sums use: kernels take the
// divisor out and round the weight, as they may.
TEST(Gradients, ofQuotientsAllowTheRoundingOfWeights) {
  Ended checked = attnc({"check", "dropout", "--grad", "q,v", "--target", "sm_80", "--emulate"});
  EXPECT_EQ(checked.exit, 0) << checked.out;
}

} // namespace
} // namespace attnc::e2e
