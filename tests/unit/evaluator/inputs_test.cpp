// What the generated inputs promise.
#include "program_text.h"

#include "compiler/evaluator/inputs/inputs.h"
#include "runtime/program/dtype.h"

#include <cmath>
#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

const std::map<std::string, int64_t> kExtents{{"b", 2},   {"h", 3},  {"i", 50},
                                              {"j", 300}, {"d", 64}, {"e", 8}};

EvalInputs make(const Program &program, uint64_t seed, InputKind kind) {
  return llvm::cantFail(makeInputs(program.op(), kExtents, seed, kind));
}

TEST(Inputs, AreSeededAndRoundedToTheStorageType) {
  Program program(attentionText("bf16"));
  EvalInputs a = make(program, 1, InputKind::Random), b = make(program, 1, InputKind::Random),
             c = make(program, 2, InputKind::Random);
  EXPECT_EQ(a.tensors["q"].value, b.tensors["q"].value);
  EXPECT_NE(a.tensors["q"].value, c.tensors["q"].value);
  EXPECT_NE(a.tensors["k"].value, a.tensors["v"].value);
  double sum = 0, squares = 0;
  const std::vector<double> &k = a.tensors["k"].value;
  for (double x : k) {
    ASSERT_EQ(x, bfloatToFloat(floatToBFloat(static_cast<float>(x))));
    sum += x;
    squares += x * x;
  }
  // 115200 numbers of mean 0 and variance 1: five standard deviations of each estimate.
  EXPECT_NEAR(sum / k.size(), 0, 5 / std::sqrt(double(k.size())));
  EXPECT_NEAR(squares / k.size(), 1, 5 * std::sqrt(2.0 / k.size()) + 0x1p-8);
}

/// The attention weights of one row, by loops.
std::vector<double> weights(const EvalInputs &inputs, int64_t b, int64_t i) {
  const Array &q = inputs.tensors.at("q"), &k = inputs.tensors.at("k");
  int64_t I = q.shape[2], D = q.shape[3], J = k.shape[2];
  std::vector<double> w(J);
  double sum = 0;
  for (int64_t j = 0; j < J; ++j) {
    double s = 0;
    for (int64_t d = 0; d < D; ++d)
      s += q.value[(b * I + i) * D + d] * k.value[(b * J + j) * D + d];
    sum += w[j] = std::exp(s / std::sqrt(double(D)));
  }
  for (double &x : w)
    x /= sum;
  return w;
}

TEST(Inputs, APlantedKeyCarriesMostOfTheWeightButNotAll) {
  Program program(attentionText("bf16"));
  for (uint64_t seed : {1, 2, 3}) {
    EvalInputs inputs = make(program, seed, InputKind::Planted);
    int64_t key = llvm::cantFail(plantedIndices(program.op(), kExtents, seed)).at("j");
    double sum = 0;
    for (int64_t i = 0; i < 50; ++i) {
      double w = weights(inputs, 1, i)[key];
      EXPECT_GT(w, 0.05);
      EXPECT_LT(w, 0.999);
      sum += w;
    }
    EXPECT_GT(sum / 50, 0.5);
  }
}

TEST(Inputs, LargeLogitsReachTenThousand) {
  Program program(attentionText("f32"));
  EvalInputs inputs = make(program, 1, InputKind::LargeLogits);
  Array lse = program.run(inputs)["lse"];
  EXPECT_GT(*llvm::max_element(lse.value), 1e4);
  EXPECT_LT(*llvm::max_element(lse.value), 1e5);
}

TEST(Inputs, MaximaAscendAlongTheStream) {
  Program program(attentionText("bf16"));
  EvalInputs inputs = make(program, 1, InputKind::AscendingMaxima);
  for (int64_t i = 0; i < 50; ++i) {
    std::vector<double> w = weights(inputs, 0, i);
    for (int64_t tile = 32; tile < 288; tile += 32)
      EXPECT_GT(*std::max_element(w.begin() + tile, w.begin() + tile + 32),
                *std::max_element(w.begin(), w.begin() + tile));
  }
}

TEST(Inputs, OnlyWhatIsAddedGetsInfinities) {
  Program program(R"(
attn.program @p dims [i, j] {
  %x = attn.input "x" : !attn.array<[i, j], f32>
  %bias = attn.input "bias" : !attn.array<[i, j], f16>
  %0 = attn.read %x[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %1 = attn.read %bias[i, j] : (!attn.array<[i, j], f16>) -> !attn.array<[i, j], f32>
  %s = attn.map (%a = %0 : !attn.array<[i, j], f32>, %b = %1 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %a, %two : f32
    %z = arith.addf %y, %b : f32
    attn.yield %z : f32
  }
  %r = attn.softmax over [j] %s : !attn.array<[i, j], f32> -> !attn.array<[i, j], f32>
  attn.output "r" [i, j] %r as f32 : !attn.array<[i, j], f32>
})");
  EvalInputs inputs =
      llvm::cantFail(makeInputs(program.op(), {{"i", 200}, {"j", 10}}, 5, InputKind::InfiniteBias));
  auto infinite = [&](const char *name) {
    return llvm::count(inputs.tensors[name].value, -std::numeric_limits<double>::infinity());
  };
  EXPECT_EQ(infinite("x"), 0);
  EXPECT_GT(infinite("bias"), 400);
  EXPECT_LT(infinite("bias"), 900);
  Array r = program.run(inputs)["r"];
  int64_t emptyRows = 0;
  for (int64_t i = 0; i < 200; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 10; ++j)
      sum += r.value[i * 10 + j];
    emptyRows += sum == 0;
    EXPECT_TRUE(sum == 0 || std::fabs(sum - 1) < 1e-12);
  }
  EXPECT_GT(emptyRows, 0);
}

TEST(Inputs, NamesOfKindsRoundTrip) {
  for (InputKind kind : kInputKinds)
    EXPECT_EQ(inputKindFromName(inputKindName(kind)), kind);
  EXPECT_EQ(inputKindFromName("other"), std::nullopt);
}

} // namespace
} // namespace attnc::evaluator
