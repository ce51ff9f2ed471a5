// attnc cache, and commands that find what others have compiled.
#include "tests/e2e/tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;

/// A cache of its own for each test; the commands are processes, which have the environment.
class CacheCommand : public testing::Test {
protected:
  void SetUp() override {
    if (const char *value = std::getenv("ATTNC_CACHE_DIR"))
      before = value;
    use("cache");
  }
  void TearDown() override {
    if (before)
      ::setenv("ATTNC_CACHE_DIR", before->c_str(), 1);
    else
      ::unsetenv("ATTNC_CACHE_DIR");
  }
  void use(const std::string &name) { ::setenv("ATTNC_CACHE_DIR", folder.file(name).c_str(), 1); }
  static bool hasNvrtc() {
    const nlohmann::json report = attnc({"doctor", "--json"}).json();
    for (const auto &finding : report.at("findings"))
      if (finding.at("subject") == "nvrtc")
        return finding.at("works");
    return false;
  }
  Ended compile(const char *spec, const char *set = "d=64") const {
    return attnc({"compile", spec, "--target", "sm_80", "--emit", "ptx", "--set", set, "--json"});
  }

  TemporaryFolder folder;
  std::optional<std::string> before;
};

TEST_F(CacheCommand, isEmptyAtFirst) {
  auto stats = attnc({"cache", "stats", "--json"}).json();
  EXPECT_EQ(stats.at("directory"), folder.file("cache"));
  EXPECT_EQ(stats.at("image").at("entries"), 0);
  EXPECT_EQ(attnc({"cache", "ls"}).out, "");
  EXPECT_THAT(attnc({"cache", "stats"}).out, HasSubstr("image      0 entries"));
}

TEST_F(CacheCommand, whereThereIsNoneSaysSo) {
  ::setenv("ATTNC_CACHE", "off", 1);
  Ended ended = attnc({"cache", "stats"});
  auto findings = attnc({"doctor", "--json"}).json().at("findings");
  ::unsetenv("ATTNC_CACHE");
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("ATTNC_CACHE"));
  EXPECT_EQ(findings.back().at("subject"), "cache");
  EXPECT_THAT(findings.back().at("text").get<std::string>(), HasSubstr("off"));
}

TEST_F(CacheCommand, doctorSaysWhyItCannotBeUsed) {
  folder.write("cache", "a file");
  auto findings = attnc({"doctor", "--json"}).json().at("findings");
  EXPECT_EQ(findings.back().at("works"), false);
  EXPECT_THAT(findings.back().at("text").get<std::string>(), HasSubstr("is a file"));
}

TEST_F(CacheCommand, aBrokenPackIsRefused) {
  Ended ended = attnc({"cache", "import", folder.write("broken.pack", "no pack")});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("broken.pack"));
}

TEST_F(CacheCommand, theSecondProcessCompilesNothing) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC";
  auto first = compile("full").json(), second = compile("full").json();
  EXPECT_GE(first.at("images_compiled"), 1);
  EXPECT_EQ(first.at("images_cached"), 0);
  EXPECT_EQ(first.at("tier"), "compiler");
  EXPECT_EQ(second.at("images_compiled"), 0);
  EXPECT_EQ(second.at("tier"), "disk");
  EXPECT_EQ(second.at("texts"), first.at("texts"));
  EXPECT_EQ(second.at("kernels"), first.at("kernels"));
}

TEST_F(CacheCommand, imagesServeAnotherSpecWithTheSameKernels) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC";
  auto first = compile("full").json();
  // Its places are others, and its kernels are not.
  std::string moved = "\n" + readText(std::string(ATTNC_LIBRARY) + "/full.json");
  auto second = compile(folder.write("full.json", moved).c_str()).json();
  EXPECT_EQ(second.at("tier"), "compiler");
  EXPECT_EQ(second.at("images_compiled"), 0);
  EXPECT_EQ(second.at("images_cached"), first.at("images_compiled"));
  EXPECT_EQ(second.at("texts"), first.at("texts"));
}

TEST_F(CacheCommand, aPackServesAMachineWithoutNvrtc) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC";
  auto made = compile("full").json();
  Ended written = attnc({"cache", "export", folder.file("kernels.pack")});
  EXPECT_EQ(written.exit, 0) << written.err;
  use("other");
  auto added = attnc({"cache", "import", folder.file("kernels.pack"), "--json"}).json();
  EXPECT_GE(added.at("added"), 1);
  EXPECT_EQ(added.at("refused"), 0);
  ::setenv("ATTNC_NVRTC", "/nonexistent/libnvrtc.so", 1);
  Ended found = compile("full"), missing = compile("causal");
  ::unsetenv("ATTNC_NVRTC");
  EXPECT_EQ(found.exit, 0) << found.err;
  EXPECT_EQ(found.json().at("texts"), made.at("texts"));
  EXPECT_EQ(missing.exit, 4);
  EXPECT_THAT(missing.err, HasSubstr("NVRTC"));
}

TEST_F(CacheCommand, processesThatStartTogetherCompileEachSpecOnce) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC";
  std::vector<Ended> ended(6);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < ended.size(); ++i)
      threads.emplace_back([&, i] { ended[i] = compile(i % 2 ? "full" : "bias"); });
  }
  std::map<std::string, int> compiled; // how often each spec was
  for (const Ended &one : ended) {
    ASSERT_EQ(one.exit, 0) << one.err;
    compiled[one.json().at("spec")] += one.json().at("tier") == "compiler";
  }
  EXPECT_EQ(compiled, (std::map<std::string, int>{{"bias", 1}, {"full", 1}}));
}

TEST_F(CacheCommand, verifyPruneAndClear) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC";
  compile("full");
  auto entries = attnc({"cache", "ls", "--json"}).json().at("entries");
  ASSERT_GE(entries.size(), 2u);
  std::filesystem::resize_file(folder.file("cache/" + entries[0].at("tier").get<std::string>() +
                                           "/" + entries[0].at("key").get<std::string>()),
                               50);
  auto verified = attnc({"cache", "verify", "--json"}).json();
  EXPECT_EQ(verified.at("dropped"), 1);
  EXPECT_EQ(verified.at("good"), entries.size() - 1);
  EXPECT_EQ(attnc({"cache", "prune", "--size", "0", "--json"}).json().at("removed"), 0)
      << "it was just used";
  EXPECT_EQ(attnc({"cache", "clear", "--json"}).json().at("removed"), entries.size() - 1);
  EXPECT_EQ(attnc({"cache", "prune", "--size", "many"}).exit, 2);
}

} // namespace
} // namespace attnc::e2e
