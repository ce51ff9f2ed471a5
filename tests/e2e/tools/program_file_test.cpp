// Program files from the command line, and which tier a program comes from.
#include "tests/e2e/tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;

class ProgramFile : public testing::Test {
protected:
  void SetUp() override {
    Ended written = attnc({"compile", "causal", "--target", "cpu", "-o", file});
    ASSERT_EQ(written.exit, 0) << written.err;
  }

  TemporaryFolder folder;
  std::string file = folder.file("causal.program");
};

TEST_F(ProgramFile, RunsAndIsCheckedAgainstItsSpec) {
  Ended ran = attnc({"run", file, "--check", "--shape", "i=40,j=50", "--json"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  nlohmann::json report = ran.json();
  EXPECT_EQ(report.at("spec"), "causal");
  EXPECT_EQ(report.at("target"), "cpu");
  EXPECT_EQ(report.at("shape").at("i"), 40);
  EXPECT_EQ(report.at("check").at("ok"), true);
}

TEST_F(ProgramFile, GivesTheNumbersOfItsSpec) {
  auto output = [&](std::vector<std::string> command, const std::string &name) {
    std::string path = folder.file(name);
    command.insert(command.end(), {"--output", "o=" + path});
    Ended ran = attnc(command);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return readText(path);
  };
  EXPECT_EQ(output({"run", file}, "a.npy"), output({"run", "causal", "--target", "cpu"}, "b.npy"));
}

TEST_F(ProgramFile, WithGradientsRunsBothEntryPoints) {
  Ended written =
      attnc({"compile", "causal", "--grad", "q,v", "--grad", "q", "--target", "cpu", "-o", file});
  ASSERT_EQ(written.exit, 0) << written.err;
  Ended ran = attnc({"run", file, "--check", "--shape", "i=40,j=50", "--json"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.json().at("check").at("ok"), true);
  for (const char *name : {"\"grad_q\"", "\"grad_v\"", "\"grad2_q\""})
    EXPECT_THAT(ran.json().dump(), HasSubstr(name));
}

TEST_F(ProgramFile, SaysWhatExplainSaid) {
  Ended said = attnc({"explain", file});
  EXPECT_EQ(said.exit, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("Everything is computed by one kernel."));
  EXPECT_EQ(attnc({"explain", file, "--json"}).json().at("spec"), "causal");
}

TEST_F(ProgramFile, IsNotCompiledAgain) {
  for (const char *option : {"--target", "--schedule", "--memory-budget"}) {
    Ended refused = attnc({"run", file, option, "cpu"});
    EXPECT_EQ(refused.exit, 2) << option;
  }
  Ended refused = attnc({"run", file, "--set", "d=32"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("--set does not apply"));
  refused = attnc({"check", file});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("is a program, and this takes a spec"));
  refused = attnc({"explain", file, "--ir"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("--ir does not apply"));
}

TEST_F(ProgramFile, ThatIsDamagedIsRefusedWithItsName) {
  std::string bytes = readText(file);
  bytes[bytes.size() / 2] ^= 1;
  std::string damaged = folder.write("damaged.program", bytes);
  Ended refused = attnc({"run", damaged});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr(damaged + ": the program file is damaged"));
}

TEST_F(ProgramFile, HasTheSameBytesWhereverTheSpecLies) {
  std::string spec = readText(std::string(ATTNC_LIBRARY) + "/causal.json");
  std::string copy = folder.write("of_another_name.json", spec),
              other = folder.file("other.program");
  Ended written = attnc({"compile", copy, "--target", "cpu", "-o", other});
  ASSERT_EQ(written.exit, 0) << written.err;
  EXPECT_EQ(readText(other), readText(file));
}

TEST(Tier, IsDiskTheSecondTime) {
  TemporaryFolder folder;
  std::string spec = readText(std::string(ATTNC_LIBRARY) + "/full.json");
  // A spec that no other test compiles.
  spec.replace(spec.find("\"full\""), 6, "\"full_of_tiers\"");
  std::string path = folder.write("spec.json", spec);
  auto tier = [&] {
    Ended ran = attnc({"run", path, "--target", "cpu", "--json"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.json().at("tier");
  };
  EXPECT_EQ(tier(), "compiler");
  EXPECT_EQ(tier(), "disk");
}

} // namespace
} // namespace attnc::e2e
