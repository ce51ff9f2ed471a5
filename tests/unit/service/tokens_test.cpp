#include "tools/attncd/http/tokens.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <set>

using namespace attnc;
using namespace attnc::service;
using testing::HasSubstr;

namespace {

class TokensTest : public testing::Test {
protected:
  void TearDown() override { std::filesystem::remove(file); }

  Result<Tokens> read(const std::string &text) const {
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_read |
                                           std::filesystem::perms::owner_write);
    return Tokens::read(file);
  }
  std::string errorOf(const std::string &text) const {
    Result<Tokens> tokens = read(text);
    return tokens ? "" : tokens.error().text();
  }

  std::string file = testing::TempDir() + "tokens-" + std::to_string(::getpid());
};

TEST_F(TokensTest, ALineNamesACallerByTheDigestOfItsToken) {
  Result<Tokens> tokens = read("# who may what\n\n" + tokenLine("ci.1", AllScopes, "secret") +
                               "  # comment\n" + tokenLine("web", ReadEntries, "other") + "\r\n");
  ASSERT_TRUE(tokens) << tokens.error().text();
  EXPECT_EQ(tokens->size(), 2u);
  EXPECT_EQ(tokens->find("secret")->name, "ci.1");
  EXPECT_EQ(tokens->find("secret")->scopes, AllScopes);
  EXPECT_EQ(tokens->find("other")->scopes, ReadEntries);
  for (std::string_view unknown : {"", "Secret", "secret ", "secre", "ci.1"})
    EXPECT_FALSE(tokens->find(unknown)) << unknown;
}

TEST_F(TokensTest, AWrongLineIsNamed) {
  std::string good = tokenLine("a", ReadEntries, "1") + "\n";
  std::string digest = "sha256:" + std::string(64, '0');
  EXPECT_THAT(errorOf(good + "b read\n"), HasSubstr(file + ":2: this is no token"));
  EXPECT_THAT(errorOf("b read secret\n"), HasSubstr(":1: this is no token"));
  EXPECT_THAT(errorOf("b read sha256:123\n"), HasSubstr(":1: this is no token"));
  EXPECT_THAT(errorOf("b read " + digest + " more\n"), HasSubstr(":1: this is no token"));
  EXPECT_THAT(errorOf("b/ read " + digest), HasSubstr(":1: this is no token"));
  EXPECT_THAT(errorOf("b all " + digest), HasSubstr(":1: 'all' is no scope"));
  EXPECT_THAT(errorOf("b read,read " + digest), HasSubstr(":1: the scope read is there twice"));
  EXPECT_THAT(errorOf("b read, " + digest), HasSubstr(":1: '' is no scope"));
  EXPECT_THAT(errorOf(good + tokenLine("a", ReadEntries, "2")), HasSubstr(":2: a is there twice"));
  EXPECT_THAT(errorOf(good + tokenLine("b", ReadEntries, "1")),
              HasSubstr(":2: a and b have the same token"));
  EXPECT_THAT(errorOf("# nobody\n"), HasSubstr("has no token"));
}

TEST_F(TokensTest, EachOneThatIsMadeIsAnother) {
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) {
    Result<std::string> token = makeToken();
    ASSERT_TRUE(token);
    EXPECT_EQ(token->size(), 43u);
    made.insert(*token);
  }
  EXPECT_EQ(made.size(), 100u);
}

TEST_F(TokensTest, ScopesAreReadAsTheyAreWritten) {
  for (unsigned scopes = ReadEntries; scopes <= AllScopes; ++scopes)
    EXPECT_EQ(*parseScopes(scopesText(scopes)), scopes);
}

} // namespace
