// Which nests a program is divided into, what goes through memory between them, and that it means
// the same.
#include "compiler/driver/checks/verify_pass.h"
#include "compiler/driver/report/stored_values.h"
#include "compiler/transforms/outline_epilogue.h"
#include "mlir/IR/Verifier.h"
#include "tests/unit/transforms/fused_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc {
namespace {

struct PartitionCase {
  const char *name;
  const char *dims; // static ones
  const char *body;
  const char *outputs;
  size_t nests;
  const char *stored; // dims of what goes through memory, in order
  int64_t queries = 13;
};

std::string specOf(const PartitionCase &c) {
  return std::string(R"j({"attnc": 1, "name": "t", "dims": )j") + c.dims +
         R"j(, "inputs": {"q": "f32[b,h,i,d]", "k": "f32[b,h,j,d]", "v": "f32[b,h,j,e]",
              "x": "f32[b,h,i,e]", "z": "f32[b,j,c]", "wk": "f32[h,c,d]", "wv": "f32[h,c,e]",
              "pair": "f32[b,h,i,j,c]", "u": "f32[c,d]"},
              "body": )j" +
         c.body + R"j(, "outputs": )j" + c.outputs +
         R"j(, "reference": {"shape": {"b": 2, "h": 2, "i": )j" + std::to_string(c.queries) +
         R"j(, "j": 17}}})j";
}

// "[b, h, d, j] [b, h, i]": dims in the order of the program, whatever the layout.
std::string storedBy(std::vector<red::NestOp> nests) {
  std::string text;
  for (red::NestOp nest : nests)
    for (mlir::Value result : nest.getResults()) {
      if (llvm::any_of(result.getUsers(),
                       [](mlir::Operation *user) { return llvm::isa<attn::OutputOp>(user); }))
        continue;
      std::string dims;
      for (mlir::StringAttr dim : attn::unionDims(attn::programOf(nest), result))
        dims += (dims.empty() ? "" : ", ") + dim.getValue().str();
      text += (text.empty() ? "[" : " [") + dims + "]";
    }
  return text;
}

void expectSameMeaning(FusedProgram &program) {
  auto verifier = driver::PassVerifier::create(program.original(), program.referenceShape());
  ASSERT_TRUE(verifier) << verifier.error().text();
  Status status = verifier->check(program.fused(), "the passes");
  EXPECT_TRUE(status) << status.error().text();
}

class Partitions : public testing::TestWithParam<PartitionCase> {};

TEST_P(Partitions, HaveTheseNestsAndKeepTheMeaning) {
  const PartitionCase &c = GetParam();
  FusedProgram program(specOf(c));
  EXPECT_EQ(program.nests().size(), c.nests);
  EXPECT_EQ(storedBy(program.nests()), c.stored);
  expectSameMeaning(program);
}

#define DIMS R"j({"d": 10, "e": 12, "c": 9})j"
#define O R"j({"o": "f32"})j"
#define WEIGHTS R"j("p = softmax(j, sum(d, q[b,h,i,d] * k[b,h,j,d]))")j"
const char *const kLatent =
    R"j(["p = softmax(j, sum(d, q[b,h,i,d] * sum(c, z[b,j,c] * wk[h,c,d])))",
         "o[b,h,i,e] = sum(j, p * sum(c, z[b,j,c] * wv[h,c,e]))"])j";

INSTANTIATE_TEST_SUITE_P(
    Programs, Partitions,
    testing::Values(
        // what follows the stream in tiles
        PartitionCase{"norm_of_rows", DIMS, "[" WEIGHTS R"j(, "a[b,h,i,e] = sum(j, p * v[b,h,j,e])",
          "o[b,h,i,e] = a * rsqrt(mean(e, a * a) + 1)"])j",
                      O, 1, ""},
        PartitionCase{"norm_about_a_mean", DIMS,
                      "[" WEIGHTS R"j(, "a[b,h,i,e] = sum(j, p * v[b,h,j,e])", "m = mean(e, a)",
          "o[b,h,i,e] = (a - m) * rsqrt(mean(e, (a - m) * (a - m)) + 1)"])j",
                      O, 1, ""},
        PartitionCase{"product_behind_the_stream", DIMS,
                      "[" WEIGHTS R"j(, "a[b,h,i,e] = sum(j, p * v[b,h,j,e])",
          "o[b,h,i,c] = sum(e, tanh(a) * wv[h,c,e])"])j",
                      O, 2, "[b, h, i, e]"},
        // the order of passes
        PartitionCase{"weights_wait_for_another_pass", DIMS,
                      "[" WEIGHTS R"j(, "top[b,h,e] = max(i, x[b,h,i,e])",
          "o[b,h,i,e] = sum(j, p * tanh(v[b,h,j,e] + top))"])j",
                      O, 2, "[b, h, e]"},
        PartitionCase{"weights_that_the_other_pass_needs_cannot_wait", DIMS,
                      "[" WEIGHTS R"j(, "n[b,h,j] = sum(i, p)",
          "o[b,h,i,e] = sum(j, p * tanh(v[b,h,j,e] + n))"])j",
                      O, 3, "[b, h, i] [b, h, i] [b, h, j]"},
        PartitionCase{"numerator_and_denominator", DIMS,
                      R"j(["f = relu(q[b,h,i,d]) + 1", "g = relu(k[b,h,j,d]) + 1",
          "kv[b,h,d,e] = sum(j, g * v[b,h,j,e])", "n[b,h,d] = sum(j, g)",
          "o[b,h,i,e] = sum(d, f * kv) / sum(d, f * n)"])j",
                      O, 2, "[b, h, d, e] [b, h, d]"},
        // the order of products
        PartitionCase{"shared_weights_vanish_together", DIMS,
                      R"j(["a = sum(d, (relu(q[b,h,i,d]) + 1) * (relu(k[b,h,j,d]) + 1))",
          "o[b,h,i,e] = sum(j, a * v[b,h,j,e]) / sum(j, a)"])j",
                      O, 2, "[b, h, d, e] [b, h, d]"},
        PartitionCase{"shared_weights_stay_for_one_that_needs_them", DIMS,
                      R"j(["a = sum(d, q[b,h,i,d] * k[b,h,j,d])",
          "o[b,h,i,e] = sum(j, a * v[b,h,j,e]) / (1 + sum(j, abs(a)))"])j",
                      O, 1, ""},
        PartitionCase{"many_queries_have_keys_projected", DIMS, kLatent, O, 3,
                      "[b, h, d, j] [b, h, j, e]", 40},
        PartitionCase{"one_query_is_projected_itself", DIMS, kLatent, O, 3,
                      "[b, h, i, c] [b, h, i, c] [b, h, i]", 1},
        PartitionCase{"a_degree_less_whatever_the_reference_shape", DIMS,
                      "["
                      R"j("a = sum(d, q[b,h,i,d] * k[b,h,j,d])",
          "o[b,h,i,e] = sum(j, a * v[b,h,j,e])"])j",
                      O, 2, "[b, h, d, e]", 1},
        PartitionCase{"values_by_few_terms", R"j({"d": 10, "e": 12, "c": 8})j",
                      "[" WEIGHTS
                      R"j(, "o[b,h,i,e] = sum(j, p * sum(c, relu(z[b,j,c]) + wv[h,c,e]))"])j",
                      O, 2, "[b, h, j, e]"},
        PartitionCase{"values_by_more_terms", DIMS,
                      "[" WEIGHTS
                      R"j(, "o[b,h,i,e] = sum(j, p * sum(c, relu(z[b,j,c]) + wv[h,c,e]))"])j",
                      O, 2, "[b, h, j, e]"},
        PartitionCase{"features_of_elements", DIMS,
                      R"j(["a = where(j <= i, sum(d, exp(q[b,h,i,d]) * relu(k[b,h,j,d])), 0)",
          "o[b,h,i,e] = sum(j, a * v[b,h,j,e])"])j",
                      O, 2, "[b, h, i, d]"},
        // what is recomputed
        PartitionCase{"weights_by_few_terms", R"j({"d": 10, "e": 12, "c": 8})j",
                      R"j(["s = sum(d, q[b,h,i,d] * k[b,h,j,d]) + sum(c, relu(z[b,j,c]))",
          "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j",
                      O, 1, ""},
        PartitionCase{"features_of_pairs", DIMS,
                      R"j(["s = sum(d, relu(sum(c, pair[b,h,i,j,c] * u[c,d])) * q[b,h,i,d])",
          "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j",
                      O, 1, ""}),
    [](const auto &info) { return std::string(info.param.name); });

// Why each value goes through memory, by the last dim that tells it from others.
std::string whyStored(FusedProgram &program, llvm::StringRef dim) {
  for (red::NestOp nest : program.nests())
    for (mlir::Value result : nest.getResults())
      if (llvm::cast<attn::ArrayType>(result.getType())
              .hasDim(mlir::StringAttr::get(result.getContext(), dim)))
        return driver::whyStored(result);
  return "none";
}

TEST(StoredValues, saysThatOneIsForEachPairOfPositions) {
  FusedProgram program(R"j({"attnc": 1, "name": "t", "dims": {"d": 8},
    "inputs": {"q": "f32[b,i,d]", "k": "f32[b,j,d]", "z": "f32[b,j,l]", "y": "f32[b,l,d]"},
    "body": ["p = softmax(j, sum(d, q[b,i,d] * k[b,j,d]))", "r[b,i,l] = sum(j, p * tanh(z[b,j,l]))",
             "o[b,i,d] = sum(l, softmax(l, r) * y[b,l,d])"], "outputs": {"o": "f32"}})j");
  EXPECT_THAT(whyStored(program, "l"),
              testing::EndsWith("; one for each pair of i and l: N x N values"));
}

TEST(StoredValues, saysNoSuchThingOfOneSequence) {
  FusedProgram program(specOf({"", DIMS, kLatent, O, 0, "", 40}));
  EXPECT_THAT(whyStored(program, "j"), testing::Not(testing::HasSubstr("pair")));
  EXPECT_NE(whyStored(program, "j"), "none");
}

TEST(OutlineEpilogue, leavesOneNestForEachFoldAndForTheResult) {
  FusedProgram program(specOf({"", DIMS, "[" WEIGHTS R"j(, "a[b,h,i,e] = sum(j, p * v[b,h,j,e])",
      "m = mean(e, a)", "o[b,h,i,e] = (a - m) * rsqrt(mean(e, (a - m) * (a - m)) + 1)"])j",
                               O, 0, ""}));
  for (red::NestOp nest : program.nests())
    outlineEpilogue(nest);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(program.fused())));
  EXPECT_EQ(storedBy(program.nests()), "[b, h, i, e] [b, h, i] [b, h, i]");
  for (red::NestOp nest : program.nests())
    EXPECT_FALSE(foldsInEpilogue(nest));
  expectSameMeaning(program);
}

// Its elements may have another type and layout: what is read again is stored apart.
TEST(OutlineEpilogue, readsNoOutputAgain) {
  FusedProgram program(specOf({"", DIMS, "[" WEIGHTS R"j(, "a[b,h,i,e] = sum(j, p * v[b,h,j,e])",
      "o[b,h,i,e] = a * rsqrt(mean(e, a * a) + 1)"])j",
                               R"j({"a": "bf16", "o": "f32"})j", 0, ""}));
  ASSERT_EQ(program.nests().size(), 1u);
  outlineEpilogue(program.nests().front());
  ASSERT_TRUE(mlir::succeeded(mlir::verify(program.fused())));
  EXPECT_EQ(storedBy(program.nests()), "[b, h, i, e] [b, h, i]");
  expectSameMeaning(program);
}

TEST(OutlineEpilogue, leavesOtherNestsAlone) {
  FusedProgram program(
      specOf({"", DIMS, "[" WEIGHTS R"j(, "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"])j", O, 0, ""}));
  EXPECT_FALSE(foldsInEpilogue(program.nests().front()));
  outlineEpilogue(program.nests().front());
  EXPECT_EQ(program.nests().size(), 1u);
}

} // namespace
} // namespace attnc
