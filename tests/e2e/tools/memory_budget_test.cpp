// What a shape may take between kernels: with a budget, and without the memory for it.
#include "tests/e2e/tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// p goes through memory, because o reads it at a table of positions: 4 * b * i * j bytes. Its
/// maxima and sums are 4 * b * i bytes each.
constexpr const char *tableSpec = R"json({
  "attnc": 1, "name": "table", "types": {"T": "f32"},
  "inputs": {"s": "T[b, i, j]", "top": "i32[b, r]"},
  "body": [
    "p[b,i,j] = softmax(j, s)",
    "o[b,i,r] = p[b,i,top[b,r]]"],
  "outputs": {"o": "T"},
  "reference": {"shape": {"b": 2, "i": 30, "j": 40, "r": 5}}
})json";
constexpr int64_t atReference = 4 * 2 * 30 * (40 + 1 + 1);

class MemoryBudget : public testing::Test {
protected:
  Ended run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, file);
    return attnc(arguments);
  }

  TemporaryFolder folder;
  std::string file = folder.write("table.json", tableSpec);
};

/// On the processor, and kernels of a GPU in the tile interpreter.
class MemoryBudgetOf : public MemoryBudget,
                       public testing::WithParamInterface<std::vector<std::string>> {
protected:
  Ended run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), GetParam().begin(), GetParam().end());
    return MemoryBudget::run(std::move(arguments));
  }
};

TEST_P(MemoryBudgetOf, allowsWhatFitsToTheByte) {
  std::string bytes = std::to_string(atReference);
  EXPECT_EQ(run({"run", "--memory-budget", bytes, "--check"}).exit, 0);
  Ended ended = run({"run", "--memory-budget", std::to_string(atReference - 1)});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, AllOf(HasSubstr("10080 bytes go through memory between kernels at b=2, "
                                         "i=30, j=40, r=5; the memory budget is 10079 bytes"),
                               HasSubstr("p: f32[b, i, j], 9.4 KiB, table:5:"),
                               HasSubstr("o reads it at subscripts of its own, table:6:"),
                               HasSubstr("allow more memory")));
}

TEST_P(MemoryBudgetOf, refusesHugeShapesBeforeAnythingIsMade) {
  Ended ended = run({"run", "--shape", "i=1000000,j=1000000", "--memory-budget", "2GiB"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("7.3 TiB go through memory between kernels at b=2, i=1000000, "
                                   "j=1000000, r=5; the memory budget is 2.0 GiB"));
}

// No process is ended by the system: what is not there is counted before.
TEST_P(MemoryBudgetOf, withoutOneIsTheMemoryThatThereIs) {
  Ended ended = run({"run", "--shape", "i=1000000,j=1000000"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("b=2, i=1000000, j=1000000, r=5 needs about "),
                               HasSubstr("available"), HasSubstr("p: f32[b, i, j], 7.3 TiB"),
                               HasSubstr("smaller --shape")));
}

TEST_P(MemoryBudgetOf, isCheckedByCheck) {
  EXPECT_EQ(run({"check", "--memory-budget", "1MiB"}).exit, 0);
  Ended ended = run({"check", "--memory-budget", "0", "--json"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.json().at("checks").at(0).at("error").at("message").get<std::string>(),
              HasSubstr("the memory budget is 0 bytes"));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, MemoryBudgetOf,
    testing::Values(std::vector<std::string>{"--target", "cpu"},
                    std::vector<std::string>{"--target", "sm_80", "--interpret"}),
    [](const auto &target) { return target.param.back() == "cpu" ? "cpu" : "gpu"; });

TEST_F(MemoryBudget, isComparedByExplain) {
  Ended ended = run({"explain", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("o reads it at subscripts of its own, table:6:"),
                               HasSubstr("; computed at table:5:"),
                               HasSubstr("p needs it once the pass over j has ended"),
                               Not(HasSubstr("budget"))));
  ended = run({"explain", "--target", "cpu", "--memory-budget", "1MiB"});
  EXPECT_THAT(ended.out, HasSubstr("9.8 KiB of the memory budget of 1.0 MiB.\n"));
  ended =
      run({"explain", "--target", "cpu", "--memory-budget", "1MiB", "--shape", "i=1000,j=1000"});
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.out,
              HasSubstr("7.6 MiB of the memory budget of 1.0 MiB: this shape is refused."));
  auto json = run({"explain", "--target", "cpu", "--memory-budget", "1MiB", "--json"}).json();
  EXPECT_EQ(json.at("memory_budget"), 1 << 20);
  EXPECT_EQ(json.at("materialised_bytes"), atReference);
  EXPECT_THAT(json.at("materialised").at(2).at("place").get<std::string>(), HasSubstr("table:5:"));
}

TEST_F(MemoryBudget, ofNothingAllowsWhatIsFused) {
  EXPECT_EQ(attnc({"run", "full", "--target", "cpu", "--memory-budget", "0"}).exit, 0);
}

TEST_F(MemoryBudget, thatIsNoNumberOfBytesIsWrongUsage) {
  for (const char *command : {"run", "check", "explain"}) {
    Ended ended = run({command, "--target", "cpu", "--memory-budget", "2G"});
    EXPECT_EQ(ended.exit, 2) << command;
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr("--memory-budget: '2G' is no number of bytes"), HasSubstr("2GiB")));
  }
  Ended ended = run({"compile", "--target", "cpu", "--emit", "red", "--memory-budget", "2GiB"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("kept in a program, not in 'red'"));
}

} // namespace
} // namespace attnc::e2e
