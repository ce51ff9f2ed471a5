// Which computed weights are rounded to f16 beside the values that they weigh; the others multiply
// them in f32.
#include "compiler/schedule/stream/stream_plan.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

// The type of the products of these weights and the values, which the weights are rounded to.
std::string productType(const std::string &type, const std::string &weights) {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 16, "e": 16},
    "inputs": {"q": ")j" +
                       type + R"j([i,d]", "k": ")j" + type + R"j([j,d]", "v": ")j" + type +
                       R"j([j,e]"},
    "body": ["s = sum(d, q[i,d] * k[j,d])", "o[i,e] = sum(j, )j" +
                       weights + R"j( * v[j,e])"],
    "outputs": {"o": "f32"}})j");
  std::string text;
  auto plan = schedule::planStream(program.nests().front(), text);
  if (failed(plan))
    return text;
  llvm::raw_string_ostream stream(text);
  for (const schedule::StreamState &state : plan->states)
    if (state.streamed != -1)
      stream << plan->streamed[state.streamed].element;
  return text;
}

TEST(HalfRange, HoldsNormalisedWeights) {
  EXPECT_EQ(productType("f16", "softmax(j, s)"), "f16");
  EXPECT_EQ(productType("f16", "where(j <= i, softmax(j, s), 0)"), "f16");
  EXPECT_EQ(productType("f16", "softmax(j, s) * where(j % 3 == 0, 1.25, 0)"), "f16");
}

TEST(HalfRange, HoldsWeightsThatAreLiterals) {
  EXPECT_EQ(productType("f16", "where(j <= i, 1.0, 0.0)"), "f16");
  EXPECT_EQ(productType("f16", "where(j <= i, 0.5, -2.0)"), "f16");
}

TEST(HalfRange, DoesNotHoldWhatMayBeTooLargeOrTooSmall) {
  EXPECT_EQ(productType("f16", "abs(s)"), "f32");
  EXPECT_EQ(productType("f16", "sigmoid(s - 14)"), "f32");
  EXPECT_EQ(productType("f16", "where(j <= i, 1.0, 0.0001)"), "f32");
  EXPECT_EQ(productType("f16", "softmax(j, s) * where(j <= i, 1000, 0)"), "f32");
  EXPECT_EQ(productType("f16", "softmax(j, s) * exp(-abs(s))"), "f32");
}

TEST(HalfRange, IsNoMatterForTypesWithTheExponentOfF32) {
  EXPECT_EQ(productType("bf16", "abs(s)"), "bf16");
  EXPECT_EQ(productType("bf16", "sigmoid(s - 14)"), "bf16");
}

} // namespace
} // namespace attnc
