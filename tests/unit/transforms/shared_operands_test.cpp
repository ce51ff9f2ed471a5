// Values that are used more than once, in chains: the number of paths doubles with each statement,
// so that a walk over paths instead of values would not end. The limits are far above what the
// walks take and far below what paths would.
#include "compiler/evaluator/float64/host_expression.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "tests/unit/transforms/fused_program.h"
#include <chrono>
#include <gtest/gtest.h>

namespace attnc {
namespace {

constexpr int kLength = 60;
constexpr std::chrono::seconds kLimit(20);

class SharedOperands : public testing::Test {
protected:
  SharedOperands() : begin(std::chrono::steady_clock::now()) {}
  ~SharedOperands() override { EXPECT_LT(std::chrono::steady_clock::now() - begin, kLimit); }

private:
  std::chrono::steady_clock::time_point begin;
};

std::string quoted(const std::string &text) { return "\"" + text + "\""; }

// The body of a spec: `statement` many times between what comes before and after it.
std::string body(const std::string &before, const std::string &statement,
                 const std::string &after) {
  std::string text = R"j("s = sum(d, q[i,d] * k[j,d])", )j" + quoted(before);
  for (int n = 0; n < kLength; ++n)
    text += ", " + quoted(statement);
  return text + ", " + quoted(after);
}

// The number of nests of a spec with this body, all of them offered to the portable form.
size_t nestsOf(const std::string &body, const std::string &more = "") {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 16, "e": 16},
    "inputs": {"q": "f16[i,d]", "k": "f16[j,d]", "v": "f16[j,e]"},
    "body": [)j" + body +
                       R"j(], "outputs": {"o": "f32"})j" + more + "}");
  std::vector<red::NestOp> nests = program.nests();
  std::string why;
  for (red::NestOp nest : nests)
    (void)schedule::canLowerPortable(nest, why);
  return nests.size();
}

const char kAttention[] = "o[i,e] = sum(j, softmax(j, s) * v[j,e])";
const char kWeighted[] = "o[i,e] = sum(j, w * v[j,e])";

TEST_F(SharedOperands, InScores) {
  EXPECT_EQ(nestsOf(body("s = s / 9", "s = s * s", kAttention)), 1u);
  EXPECT_EQ(nestsOf(body("s = s / 9", "s = 2 * s - s", kAttention)), 1u);
  EXPECT_EQ(nestsOf(body("s = s / 9", "s = where(j <= i, s, s / 2)", kAttention)), 1u);
}

TEST_F(SharedOperands, InWeightsThatAreMultipliedOut) {
  EXPECT_GE(nestsOf(body("w = softmax(j, s)", "w = w * w", kWeighted)), 1u);
  EXPECT_GE(nestsOf(body("w = softmax(j, s)", "w = 2 * w - w", kWeighted)), 1u);
  EXPECT_GE(nestsOf(body("w = softmax(j, s)", "w = where(j <= i, w, w / 2)", kWeighted)), 1u);
}

TEST_F(SharedOperands, InExponentsThatAreAddedUp) {
  const char weighted[] = "o[i,e] = sum(j, exp(w) * v[j,e])";
  EXPECT_GE(nestsOf(body("w[i,j] = s - max(j, s)", "w = 2 * w - w", weighted)), 1u);
  EXPECT_GE(nestsOf(body("w[i,j] = s - max(j, s)", "w = (w + w) / 2", weighted)), 1u);
}

TEST_F(SharedOperands, InWeightsThatAreLiterals) {
  EXPECT_EQ(
      nestsOf(body("w[i,j] = where(j <= i, 1.0, 0.0)", "w = where(j <= i, w, w * w)", kWeighted)),
      1u);
}

TEST_F(SharedOperands, AfterTheStream) {
  EXPECT_EQ(nestsOf(body("z = logsumexp(j, s)", "z = (z + z) / 2", "o[i] = z + z")), 1u);
}

TEST_F(SharedOperands, InTheLengthOfAMask) {
  std::string lets = R"j("w0": "size(j)", "w1": "size(j) + 1")j";
  for (int n = 2; n < kLength; ++n)
    lets += ", \"w" + std::to_string(n) + "\": \"w" + std::to_string(n - 1) + " + w" +
            std::to_string(n - 2) + "\"";
  std::string last = "w" + std::to_string(kLength - 1);
  EXPECT_EQ(nestsOf(body("s = where(i - j < " + last + ", s, -inf)", "s = s + 1", kAttention),
                    R"(, "let": {)" + lets + "}"),
            1u);
}

// Such an expression cannot be written down for the host.
TEST_F(SharedOperands, InARequirement) {
  std::string lets = R"j("w0": "size(j)")j";
  for (int n = 1; n < kLength; ++n)
    lets += ", \"w" + std::to_string(n) + "\": \"w" + std::to_string(n - 1) + " * w" +
            std::to_string(n - 1) + " + size(i)\"";
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 16, "e": 16},
    "inputs": {"q": "f16[i,d]", "k": "f16[j,d]", "v": "f16[j,e]"}, "let": {)j" +
                       lets + R"j(}, "require": ["w)j" + std::to_string(kLength - 1) + R"j( > 0"],
    "body": ["s = sum(d, q[i,d] * k[j,d])", ")j" +
                       kAttention + R"j("], "outputs": {"o": "f32"}})j");
  auto requirements = program.original().getBodyBlock()->getOps<attn::RequireOp>();
  ASSERT_FALSE(requirements.empty());
  Result<Expr> condition = hostExpression((*requirements.begin()).getCondition());
  ASSERT_FALSE(condition);
  EXPECT_NE(condition.error().message.find("operations"), std::string::npos);
}

} // namespace
} // namespace attnc
