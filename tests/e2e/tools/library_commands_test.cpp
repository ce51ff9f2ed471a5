// Specs to start from: attnc show, attnc new; and attnc completion.
#include "tests/e2e/tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace attnc::e2e {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Show, printsASpecAsItStandsInTheLibrary) {
  for (const char *name : {"causal", "nystrom", "causal.json"}) {
    Ended ended = attnc({"show", name});
    EXPECT_EQ(ended.exit, 0) << ended.err;
    std::string file = std::filesystem::path(name).stem().string() + ".json";
    EXPECT_EQ(ended.out, readText(std::filesystem::path(ATTNC_LIBRARY) / file));
  }
}

TEST(Show, namesTheNearestOfAnUnknownSpec) {
  Ended ended = attnc({"show", "casual"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no spec 'casual' in the library"));
  EXPECT_THAT(ended.err, HasSubstr("did you mean 'causal'?"));
  EXPECT_EQ(ended.out, "");
}

TEST(New, writesASpecThatIsCorrectAsItIs) {
  TemporaryFolder folder;
  std::string file = folder.file("decay.json");
  Ended ended = attnc({"new", "-o", file});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("attnc check " + file));
  EXPECT_THAT(readText(file), HasSubstr("\"name\": \"decay\""));
  Ended check = attnc({"check", file, "--target", "cpu"});
  EXPECT_EQ(check.exit, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("decay"));
  EXPECT_EQ(check.err, "") << "a spec to start from gives no warnings";
}

TEST(New, leavesAFileThatIsThere) {
  TemporaryFolder folder;
  std::string file = folder.write("mine.json", "mine");
  Ended ended = attnc({"new", "mine", "-o", file});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("is there already"));
  EXPECT_EQ(readText(file), "mine");
}

TEST(New, saysWhatANameIs) {
  TemporaryFolder folder;
  Ended ended = attnc({"new", "two words", "-o", folder.file("x.json")});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("'two words' cannot be the name of a spec"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("x.json")));
}

/// What bash offers for the last of `words`, in a folder.
std::vector<std::string> completed(const TemporaryFolder &folder, const std::string &words) {
  folder.write("complete.bash", attnc({"completion", "bash"}).out);
  Ended ended = runProgram(
      "bash", {"-euc", "cd " + folder.path.string() + "; source complete.bash; COMP_WORDS=(" +
                           words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _attnc; " +
                           "printf '%s\\n' \"${COMPREPLY[@]}\""});
  EXPECT_EQ(ended.exit, 0) << words << ": " << ended.err;
  EXPECT_EQ(ended.err, "");
  std::vector<std::string> lines;
  std::istringstream out(ended.out);
  for (std::string line; std::getline(out, line);)
    if (!line.empty())
      lines.push_back(line);
  return lines;
}

TEST(Completion, bashCompletesCommandsOptionsAndTheirValues) {
  TemporaryFolder folder;
  folder.write("cause.json", "{}");
  EXPECT_THAT(completed(folder, "attnc comp"), ElementsAre("compile", "completion"));
  EXPECT_THAT(completed(folder, "attnc --ver"), ElementsAre("--version"));
  EXPECT_THAT(completed(folder, "attnc compile --emit p"), ElementsAre("ptx", "program"));
  EXPECT_THAT(completed(folder, "attnc compile --target sm_9"), ElementsAre("sm_90", "sm_90a"));
  EXPECT_THAT(completed(folder, "attnc compile --target = sm_90a"), ElementsAre("sm_90a"));
  EXPECT_THAT(completed(folder, "attnc compile --target ="), Contains("cpu"));
  EXPECT_THAT(completed(folder, "attnc compile causal --launch"), ElementsAre("--launch-json"));
  EXPECT_THAT(completed(folder, "attnc check caus"),
              ElementsAre("causal", "causal_bottom_right", "cause.json"));
  EXPECT_THAT(completed(folder, "attnc show caus"), ElementsAre("causal", "causal_bottom_right"));
  EXPECT_THAT(completed(folder, "attnc run full --target ref"), ElementsAre("reference"));
  EXPECT_THAT(completed(folder, "attnc explain full --schedule cau"), ElementsAre("cause.json"));
  EXPECT_THAT(completed(folder, "attnc compile full --set d"), IsEmpty());
  EXPECT_THAT(completed(folder, "attnc completion ''"), ElementsAre("bash", "fish", "zsh"));
  EXPECT_THAT(completed(folder, "attnc cache st"), ElementsAre("stats"));
  EXPECT_THAT(completed(folder, "attnc cache export --ti"), ElementsAre("--tier"));
}

TEST(Completion, everyShellKnowsEveryCommandAndOption) {
  for (const char *shell : {"bash", "zsh", "fish"}) {
    std::string script = attnc({"completion", shell}).out;
    for (const char *command : {"compile", "run", "check", "explain", "tune", "list", "show", "new",
                                "doctor", "completion"}) {
      EXPECT_THAT(script, HasSubstr(command)) << shell;
      std::istringstream help(attnc({command, "--help"}).out);
      for (std::string word; help >> word;)
        if (word.starts_with("-") && word.find("--") != std::string::npos) {
          std::string option = word.substr(word.find("--") + 2);
          option = option.substr(0, option.find(','));
          EXPECT_THAT(script, HasSubstr(option)) << shell << " " << command;
        }
    }
    for (const char *value : {"causal_bottom_right", "sm_90a", "cubin"})
      EXPECT_THAT(script, HasSubstr(value)) << shell;
  }
}

TEST(Completion, namesTheShellsThatThereAre) {
  Ended ended = attnc({"completion", "tcsh"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no completion for 'tcsh'"));
  EXPECT_THAT(attnc({"completion", "--help"}).out, Not(HasSubstr("--json")));
}

} // namespace
} // namespace attnc::e2e
