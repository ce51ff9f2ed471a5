// Which computed weights may be rounded to f16 beside the values that they weigh.
#include "compiler/schedule/stream_plan.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

// Whether attention with these weights has the stream form, and if not, why.
std::string obstacle(const std::string &type, const std::string &weights) {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 16, "e": 16},
    "inputs": {"q": ")j" +
                       type + R"j([i,d]", "k": ")j" + type + R"j([j,d]", "v": ")j" + type +
                       R"j([j,e]"},
    "body": ["s = sum(d, q[i,d] * k[j,d])", "o[i,e] = sum(j, )j" +
                       weights + R"j( * v[j,e])"],
    "outputs": {"o": "f32"}})j");
  std::string why;
  (void)schedule::canLowerStream(program.nests().front(), why);
  return why;
}

TEST(HalfRange, HoldsNormalisedWeights) {
  EXPECT_EQ(obstacle("f16", "softmax(j, s)"), "");
  EXPECT_EQ(obstacle("f16", "where(j <= i, softmax(j, s), 0)"), "");
  EXPECT_EQ(obstacle("f16", "softmax(j, s) * where(j % 3 == 0, 1.25, 0)"), "");
}

TEST(HalfRange, HoldsWeightsThatAreLiterals) {
  EXPECT_EQ(obstacle("f16", "where(j <= i, 1.0, 0.0)"), "");
  EXPECT_EQ(obstacle("f16", "where(j <= i, 0.5, -2.0)"), "");
}

TEST(HalfRange, DoesNotHoldWhatMayBeTooLargeOrTooSmall) {
  const std::string why = "the weights of 'o' may leave the range of f16";
  EXPECT_EQ(obstacle("f16", "abs(s)"), why);
  EXPECT_EQ(obstacle("f16", "sigmoid(s - 14)"), why);
  EXPECT_EQ(obstacle("f16", "where(j <= i, 1.0, 0.0001)"), why);
  EXPECT_EQ(obstacle("f16", "softmax(j, s) * where(j <= i, 1000, 0)"), why);
  EXPECT_EQ(obstacle("f16", "softmax(j, s) * exp(-abs(s))"), why);
}

TEST(HalfRange, IsNoMatterForTypesWithTheExponentOfF32) {
  EXPECT_EQ(obstacle("bf16", "abs(s)"), "");
  EXPECT_EQ(obstacle("bf16", "sigmoid(s - 14)"), "");
}

} // namespace
} // namespace attnc
