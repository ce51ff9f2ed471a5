#include "compiler/driver/report/nest_work.h"
#include "compiler/transforms/mask_intervals.h"
#include "tests/unit/transforms/fused_program.h"
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace attnc::driver {
namespace {

using Kind = WorkTerm::Kind;

std::string librarySpec(const std::string &name) {
  std::ifstream file(std::string(ATTNC_SPEC_DIR) + "/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "2 b h i j d" for each term of a kind.
std::vector<std::string> termsOf(const NestWork &work, Kind kind) {
  std::vector<std::string> texts;
  for (const WorkTerm &term : work.terms) {
    if (term.kind != kind)
      continue;
    texts.push_back(std::to_string(term.count));
    for (const std::string &dim : term.dims)
      texts.back() += " " + dim;
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(NestWork, attentionHasTwoProducts) {
  FusedProgram program(librarySpec("full"));
  NestWork work = countNestWork(program.nests().front(), {});
  EXPECT_EQ(termsOf(work, Kind::Products), (Texts{"2 b h i d j", "2 b h i j e"}));
}

// One exponential for each score, however many sums have it, and one quotient for each row.
TEST(NestWork, anExponentialThatTwoSumsHaveCountsOnce) {
  FusedProgram program(librarySpec("full"));
  NestWork work = countNestWork(program.nests().front(), {});
  EXPECT_EQ(termsOf(work, Kind::Special), (Texts{"1 b h i j", "1 b h i"}));
}

TEST(NestWork, aFunctionOfTheScoresCountsForEach) {
  FusedProgram program(librarySpec("softcap"));
  NestWork work = countNestWork(program.nests().front(), {});
  bool twoForEachScore = false; // tanh and exp, or more
  for (const WorkTerm &term : work.terms)
    twoForEachScore |= term.kind == Kind::Special && term.dims.size() == 4 && term.count >= 2;
  EXPECT_TRUE(twoForEachScore);
}

TEST(NestWork, withoutAMaskAllIsVisited) {
  FusedProgram program(librarySpec("full"));
  NestWork work = countNestWork(program.nests().front(), {});
  EXPECT_EQ(work.visited, 1);
}

// Row i of n sees i + 1 of n keys.
TEST(NestWork, aCausalMaskLeavesHalfAndHalfTheDiagonal) {
  FusedProgram program(librarySpec("causal"));
  NestWork work = countNestWork(program.nests().front(), {{"i", 64}, {"j", 64}});
  ASSERT_TRUE(work.visited);
  EXPECT_DOUBLE_EQ(*work.visited, 65.0 / 128);
  ASSERT_FALSE(work.parts.empty());
  EXPECT_EQ(work.parts.front().lo, 0);
  EXPECT_LT(work.parts.front().hi, 0.2);
  EXPECT_EQ(work.parts.back().hi, 1);
}

// Each of four parts computes what it visits, and together they visit each pair once.
TEST(NestWork, partsOfAStreamShareItsWork) {
  FusedProgram program(librarySpec("full"));
  program.splitStreams(4, 1);
  maskIntervals(program.fused());
  NestWork work =
      countNestWork(program.nests().front(), {{"b", 1}, {"h", 1}, {"i", 512}, {"j", 512}});
  EXPECT_EQ(termsOf(work, Kind::Products), (Texts{"2 j_part b h i d j", "2 j_part b h i j e"}));
  ASSERT_TRUE(work.visited);
  EXPECT_DOUBLE_EQ(*work.visited, 0.25);
}

TEST(NestWork, aRandomNumberCountsForEachScore) {
  FusedProgram program(librarySpec("dropout"));
  NestWork work = countNestWork(program.nests().front(), {});
  EXPECT_EQ(termsOf(work, Kind::Special).front(), "1 b h i j"); // the exponential
  // 5 of the softmax, and the number: a quarter of a block of Philox.
  EXPECT_EQ(termsOf(work, Kind::Other), (Texts{"20 b h i j", "1 b h i e"}));
}

TEST(NestWork, theVisitedPartIsNotKnownWithoutExtents) {
  FusedProgram program(librarySpec("causal"));
  EXPECT_FALSE(countNestWork(program.nests().front(), {}).visited);
}

// A window whose width the caller gives: it bounds the keys, but not by a number that is known.
TEST(NestWork, theVisitedPartIsNotKnownWhereAParamHasNoDefault) {
  auto window = [](const std::string &param) {
    return R"j({"attnc": 1, "name": "t", "dims": {"d": 8}, "params": {"w": ")j" + param +
           R"j("}, "inputs": {"q": "f32[i,d]", "k": "f32[j,d]"},
      "body": ["s = sum(d, q[i,d] * k[j,d])",
               "o[i] = logsumexp(j, where(i - j < w and j <= i, s, -inf))"],
      "outputs": {"o": "f32"}})j";
  };
  std::map<std::string, int64_t> extents = {{"i", 32}, {"j", 32}};
  FusedProgram open(window("i64 > 0")), closed(window("i64 > 0 = 1"));
  EXPECT_FALSE(countNestWork(open.nests().front(), extents).visited);
  EXPECT_EQ(countNestWork(closed.nests().front(), extents).visited, 1.0 / 32);
}

} // namespace
} // namespace attnc::driver
