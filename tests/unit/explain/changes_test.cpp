#include "tools/attnc/page/explain_changes.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace attnc::cli {
namespace {

/// " a", "+b", "-c": the lines of a comparison, a mark before each.
std::string marked(const Comparison &comparison) {
  std::string text;
  for (const ComparedLine &line : comparison.lines)
    text += std::string(1, " +-"[line.change]) + std::string(line.text) + "\n";
  return text;
}

TEST(Changes, marksWhatWasAddedAndRemoved) {
  EXPECT_EQ(marked(compareLines("a\nb\nc\nd\n", "a\nx\nc\nd\ny\n")), " a\n-b\n+x\n c\n d\n+y\n");
}

TEST(Changes, countsThem) {
  Comparison comparison = compareLines("a\nb\nc\n", "a\nc\nd\ne\n");
  EXPECT_EQ(comparison.added, 2U);
  EXPECT_EQ(comparison.removed, 1U);
}

TEST(Changes, leavesIndentationAndNumbersOfValuesOut) {
  EXPECT_EQ(marked(compareLines("%s_3 = f %12\n", "  %s = f %7\n")), "   %s = f %7\n");
}

TEST(Changes, namesAndOtherNumbersCount) {
  EXPECT_EQ(marked(compareLines("a\n%s = 1\n", "a\n%t = 1\n")), " a\n-%s = 1\n+%t = 1\n");
  EXPECT_EQ(marked(compareLines("a\n%s = 1\n", "a\n%s = 2\n")), " a\n-%s = 1\n+%s = 2\n");
  EXPECT_EQ(marked(compareLines("a\n%q2\n", "a\n%q3\n")), " a\n-%q2\n+%q3\n");
}

TEST(Changes, anotherTextIsNotMarked) {
  Comparison comparison = compareLines("a\nb\n", "c\nd\n");
  EXPECT_TRUE(comparison.rewritten);
  EXPECT_EQ(marked(comparison), " c\n d\n");
}

TEST(Changes, ofEmptyTexts) {
  EXPECT_EQ(marked(compareLines("", "a\n")), "+a\n");
  EXPECT_EQ(marked(compareLines("", "")), "");
  EXPECT_FALSE(compareLines("a\n", "").rewritten);
}

/// Both texts follow from a comparison, whatever they are.
void expectBothTexts(const std::vector<std::string> &before,
                     const std::vector<std::string> &after) {
  auto join = [](const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &line : lines)
      text += line + "\n";
    return text;
  };
  std::string a = join(before), b = join(after);
  Comparison comparison = compareLines(a, b);
  std::string old, now;
  for (const ComparedLine &line : comparison.lines) {
    if (line.change != ComparedLine::Added)
      old += std::string(line.text) + "\n";
    if (line.change != ComparedLine::Removed)
      now += std::string(line.text) + "\n";
  }
  EXPECT_EQ(now, b);
  if (!comparison.rewritten)
    EXPECT_EQ(old, a);
}

TEST(Changes, giveBothTextsBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> before(random() % 20), after(random() % 20);
    for (std::string &line : before)
      line = std::string(1, static_cast<char>('a' + random() % 4));
    for (std::string &line : after)
      line = std::string(1, static_cast<char>('a' + random() % 4));
    expectBothTexts(before, after);
  }
}

// 3000 x 3000 lines that differ are more than are compared in full.
TEST(Changes, ofLongTextsAreFoundAtBothEnds) {
  std::vector<std::string> before(1000, "same"), after = before;
  for (int i = 0; i < 3000; ++i) {
    before.push_back("old " + std::to_string(i));
    after.push_back("new " + std::to_string(i));
  }
  before.push_back("end");
  after.push_back("end");
  expectBothTexts(before, after);
}

} // namespace
} // namespace attnc::cli
