// Which sums leave the step of a nest, and that this means the same.
#include "compiler/driver/checks/verify_pass.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

// `scores` become a softmax over j; `result` is stored.
std::string attention(const std::string &scores,
                      const std::string &result = "sum(j, softmax(j, s) * v[b,h,j,e])") {
  return R"j({"attnc": 1, "name": "t", "dims": {"d": 64, "e": 8, "x": 8},
    "inputs": {"q": "f32[b,h,i,d]", "k": "f32[b,h,j,d]", "v": "f32[b,h,j,e]", "w": "f32[h,d]",
               "l": "f32[b,j,d]", "f": "f32[b,h,j,x]"},
    "body": ["s = )j" +
         scores + R"j(", "o[b,h,i,e] = )j" + result + R"j("], "outputs": {"o": "f32"}})j";
}

const std::string kProducts = "sum(d, q[b,h,i,d] * k[b,h,j,d])";

// The number of nests, if they mean what the spec means; the last one stores the output.
size_t nestsOf(const std::string &spec) {
  FusedProgram program(spec);
  auto verifier =
      driver::PassVerifier::create(program.original(), {{"b", 2}, {"h", 2}, {"i", 7}, {"j", 9}});
  EXPECT_TRUE(verifier) << verifier.error().text();
  Status status = verifier->check(program.fused(), "the passes");
  EXPECT_TRUE(status) << status.error().text();
  return program.nests().size();
}

TEST(HoistVectors, sumsOfRowsAndOfTheStreamAreComputedOnce) {
  EXPECT_EQ(nestsOf(attention(kProducts + " - sum(d, k[b,h,j,d] * k[b,h,j,d])")), 2u);
  EXPECT_EQ(nestsOf(attention(kProducts + " * sum(d, q[b,h,i,d] * q[b,h,i,d])")), 2u);
  EXPECT_EQ(nestsOf(attention(kProducts + " - sum(d, q[b,h,i,d] * q[b,h,i,d])"
                                          " - sum(d, k[b,h,j,d] * k[b,h,j,d])")),
            3u);
}

TEST(HoistVectors, weightsOfValuesAreVectorsToo) {
  EXPECT_EQ(nestsOf(attention(kProducts, "sum(j, softmax(j, s) * v[b,h,j,e] * "
                                         "sum(d, abs(k[b,h,j,d])))")),
            2u);
}

TEST(HoistVectors, noSumOverAnInnerDimIsLeftButTheScores) {
  FusedProgram program(attention(kProducts + " - sum(d, k[b,h,j,d] * k[b,h,j,d])"));
  red::NestOp last = program.nests().back();
  size_t others = 0;
  for (auto fold : last.getBodyBlock()->getOps<red::FoldOp>())
    others += !llvm::is_contained(last.states(), fold);
  EXPECT_EQ(others, 1u);
}

TEST(HoistVectors, scoresStay) { EXPECT_EQ(nestsOf(attention(kProducts)), 1u); }

TEST(HoistVectors, sumsOfFewTermsStay) {
  EXPECT_EQ(nestsOf(attention(kProducts + " - sum(x, f[b,h,j,x] * f[b,h,j,x])")), 1u);
}

TEST(HoistVectors, whatOnlyTheEpilogueReadsStays) {
  EXPECT_EQ(nestsOf(attention(kProducts, "sum(j, softmax(j, s) * v[b,h,j,e]) / "
                                         "(1 + sum(d, q[b,h,i,d] * q[b,h,i,d]))")),
            1u);
}

// With values for each h, [b, h, j] is no more than they are. Where all h share their values, h may
// be positions as well as j, and [b, h, j] an element for each pair.
TEST(HoistVectors, whatMayBeAnElementForEachPairStays) {
  const std::string scores = kProducts + " + sum(d, l[b,j,d] * w[h,d])";
  EXPECT_EQ(nestsOf(attention(scores)), 2u);
  EXPECT_EQ(nestsOf(attention(scores, "sum(j, softmax(j, s) * l[b,j,e])")), 1u);
}

} // namespace
} // namespace attnc
