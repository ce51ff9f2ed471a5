// The derived tolerances: every f32 implementation stays within them, and a wrong one does not.
#include "program_text.h"

#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/evaluator/tolerance/error_rules.h"
#include "runtime/program/dtype.h"

#include <cmath>
#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

float toF32(float x) { return x; }
float toBF16(float x) { return bfloatToFloat(floatToBFloat(x)); }
float toF16(float x) { return halfToFloat(floatToHalf(x)); }

/// How an emulated implementation computes.
struct Style {
  const char *name;
  int64_t tile;    // keys folded at a time, with a running maximum
  bool backwards;  // order of the keys
  bool exp2;       // exp as 2^(x log2 e) with a folded scale
  int64_t dropped; // a key that is left out, or -1
  int64_t doubled; // a key that counts twice, or -1
};

/// What differs between the storage types.
struct Format {
  const char *name;
  float (*round)(float);
};
constexpr Format kFormats[] = {{"f32", toF32}, {"bf16", toBF16}, {"f16", toF16}};

/// Streaming softmax attention in f32, the weights rounded to the storage type.
class Emulation {
public:
  Emulation(const EvalInputs &inputs, Format format, Style style)
      : q(inputs.tensors.at("q")), k(inputs.tensors.at("k")), v(inputs.tensors.at("v")),
        format(format), style(style), D(q.shape[3]), J(k.shape[2]), E(v.shape[3]) {}

  /// o and lse of every row; row i sees the keys j <= i if `causal`.
  std::pair<Array, Array> run(bool causal) {
    Array o, lse;
    o.shape = {q.shape[0], q.shape[1], q.shape[2], E};
    lse.shape = {q.shape[0], q.shape[1], q.shape[2]};
    for (int64_t b = 0; b < q.shape[0] * q.shape[1]; ++b)
      for (int64_t i = 0; i < q.shape[2]; ++i)
        row(b, i, causal ? std::min(i + 1, J) : J, o.value, lse.value);
    return {o, lse};
  }

private:
  float weight(float difference) const {
    constexpr float log2e = 1.44269504f;
    return style.exp2 ? std::exp2(difference * log2e) : std::exp(difference);
  }

  float score(int64_t b, int64_t i, int64_t j) const {
    float s = 0;
    for (int64_t d = 0; d < D; ++d)
      s += float(q.value[(b * q.shape[2] + i) * D + d]) * float(k.value[(b * J + j) * D + d]);
    return s * (1 / std::sqrt(float(D)));
  }

  void row(int64_t b, int64_t i, int64_t keys, std::vector<double> &o, std::vector<double> &lse) {
    float m = -kInf, z = 0;
    std::vector<float> c(E, 0);
    for (int64_t start = 0; start < keys; start += style.tile)
      fold(b, i, start, std::min(keys, start + style.tile), keys, m, z, c);
    for (float x : c)
      o.push_back(format.round(x / z));
    lse.push_back(m + std::log(z));
  }

  void fold(int64_t b, int64_t i, int64_t start, int64_t end, int64_t keys, float &m, float &z,
            std::vector<float> &c) const {
    std::vector<std::pair<int64_t, float>> scores;
    float top = m;
    for (int64_t n = start; n < end; ++n) {
      int64_t j = style.backwards ? keys - 1 - n : n;
      if (j == style.dropped)
        continue;
      for (int copy = 0; copy < (j == style.doubled ? 2 : 1); ++copy)
        scores.push_back({j, score(b, i, j)});
      top = scores.empty() ? top : std::max(top, scores.back().second);
    }
    float rescale = m == -kInf ? 0 : weight(m - top);
    z *= rescale;
    for (float &x : c)
      x *= rescale;
    m = top;
    for (auto [j, s] : scores) {
      float p = weight(s - top);
      z += p;
      for (int64_t e = 0; e < E; ++e)
        c[e] += format.round(p) * float(v.value[(b * J + j) * E + e]);
    }
  }

  const Array &q, &k, &v;
  Format format;
  Style style;
  int64_t D, J, E;
};

constexpr Style kStyles[] = {{"two passes", 1 << 20, false, false, -1, -1},
                             {"two passes backwards", 1 << 20, true, true, -1, -1},
                             {"tiles of 16", 16, false, true, -1, -1},
                             {"one key at a time", 1, true, false, -1, -1}};

const char *kCausal = R"(
    %seen = arith.cmpi sle, %j, %i : i64
    %y = arith.select %seen, %x, %inf : f32)";

TEST(Bounds, HoldForEveryOrderOfAnF32Computation) {
  for (Format format : kFormats)
    for (InputKind kind : {InputKind::Random, InputKind::Planted, InputKind::LargeLogits,
                           InputKind::AscendingMaxima}) {
      Program program(attentionText(format.name, kCausal));
      EvalInputs inputs = llvm::cantFail(
          makeInputs(program.op(),
                     {{"b", 1}, {"h", 2}, {"i", 150}, {"j", 170}, {"d", 64}, {"e", 16}}, 3, kind));
      Outputs reference = program.run(inputs);
      for (Style style : kStyles) {
        SCOPED_TRACE(std::string(format.name) + ", " + inputKindName(kind).str() + ", " +
                     style.name);
        auto [o, lse] = Emulation(inputs, format, style).run(true);
        Comparison onO = compare(reference["o"], o), onLse = compare(reference["lse"], lse);
        EXPECT_TRUE(onO.passed()) << summary(reference["o"], o, onO);
        EXPECT_TRUE(onLse.passed()) << summary(reference["lse"], lse, onLse);
        EXPECT_EQ(onO.undecided + onLse.undecided, 0);
        // The worst element uses a good part of its tolerance: the bound is no blank cheque.
        if (kind == InputKind::Random) {
          EXPECT_GT(onO.maxRatio, 0.003) << summary(reference["o"], o, onO);
          EXPECT_GT(onLse.maxRatio, 0.003) << summary(reference["lse"], lse, onLse);
        }
      }
    }
}

TEST(Bounds, APlantedKeyThatIsDroppedOrDoubledFails) {
  std::map<std::string, int64_t> extents{{"b", 1},   {"h", 2},  {"i", 100},
                                         {"j", 130}, {"d", 32}, {"e", 16}};
  for (Format format : kFormats)
    for (uint64_t seed : {1, 2, 3}) {
      Program program(attentionText(format.name));
      EvalInputs inputs =
          llvm::cantFail(makeInputs(program.op(), extents, seed, InputKind::Planted));
      int64_t key = llvm::cantFail(plantedIndices(program.op(), extents, seed)).at("j");
      Outputs reference = program.run(inputs);
      auto failures = [&](int64_t dropped, int64_t doubled) {
        Style style{"", 16, false, true, dropped, doubled};
        return compare(reference["o"], Emulation(inputs, format, style).run(false).first).failures;
      };
      SCOPED_TRACE(format.name);
      EXPECT_EQ(failures(-1, -1), 0);
      int64_t size = reference["o"].size();
      EXPECT_GT(failures(key, -1), size * 9 / 10);
      EXPECT_GT(failures(-1, key), size / 2);
    }
}

TEST(Bounds, RoundingOfTheWeightsIsAllowedOnlyBesideA16BitOperand) {
  // With f32 inputs, weights that are rounded to bf16 break the tolerance.
  Program program(attentionText("f32"));
  EvalInputs inputs =
      randomInputs(program, {{"b", 1}, {"h", 1}, {"i", 50}, {"j", 60}, {"d", 16}, {"e", 16}});
  Array o = Emulation(inputs, {"", toBF16}, kStyles[0]).run(false).first;
  EXPECT_GT(compare(program.run(inputs)["o"], o).failures, 700);
}

// Rounded to bf16, the weights of many keys err like a random walk, and equal ones alike.
TEST(Bounds, RoundingsOfManyWeightsSpread) {
  Program program(attentionText("bf16"));
  std::map<std::string, int64_t> extents{{"b", 1},    {"h", 1},  {"i", 8},
                                         {"j", 2048}, {"d", 16}, {"e", 64}};
  for (bool equal : {false, true}) {
    EvalInputs inputs = randomInputs(program, extents);
    if (equal) // all keys but the first
      std::fill(inputs.tensors["k"].value.begin() + 16, inputs.tensors["k"].value.end(), 0.0);
    Outputs reference = program.run(inputs);
    // Without the rounding of the result, which is as large.
    Array o = Emulation(inputs, {"", toF32}, kStyles[0]).run(false).first;
    Array rounded = Emulation(inputs, kFormats[1], kStyles[0]).run(false).first;
    EXPECT_GT(compare(o, rounded).maxError, 0) << "no weight was rounded";
    Comparison comparison = compare(reference["o"], rounded);
    EXPECT_TRUE(comparison.passed()) << summary(reference["o"], rounded, comparison);
    // A third of what the roundings come to if all have one sign.
    double magnitude = 0.8; // the mean of |v|
    for (double error : reference["o"].error)
      EXPECT_LT(error, kUnitBF16 * magnitude / 3);
  }
}

TEST(Bounds, TheReferenceOfALogarithmOfExponentialsCancels) {
  Program program(R"(
attn.program @shifted dims [j] {
  %x = attn.input "x" : !attn.array<[j], f32>
  %r = attn.read %x[j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %y = attn.map (%a = %r : !attn.array<[j], f32>) -> !attn.array<[j], f32> {
    %three = arith.constant 3.0 : f32
    %b = arith.mulf %a, %three : f32
    attn.yield %b : f32
  }
  %lse = attn.reduce logsumexp over [j] %y : !attn.array<[j], f32> -> !attn.array<[], f32>
  attn.output "lse" [] %lse as f32 : !attn.array<[], f32>
})");
  double x = 10000;
  Array lse = program.run(given({{"x", reals({4}, {x, x, x, x})}}))["lse"];
  // The elements' error and the last addition's; the maximum's, which is as large, is not added.
  double rounding = kUnitF32 * 3 * x;
  EXPECT_GT(lse.errorAt(0), 2 * rounding);
  EXPECT_LT(lse.errorAt(0), 2.1 * rounding);
}

TEST(Bounds, MaximumOfInexactElementsIsKnownAsWellAsItsCandidates) {
  // 1 +- 0.1 and 0.95 +- 0.3: the maximum lies in [0.9, 1.25].
  Real m = maximum({1, 0.1}, {0.95, 0.3});
  EXPECT_EQ(m.value, 1);
  EXPECT_NEAR(m.error, 0.25, 1e-15);
  EXPECT_NEAR(maximum({1, 0.1}, {0.2, 0.3}).error, 0.1, 1e-15);
  EXPECT_NEAR(minimum({-1, 0.1}, {-0.95, 0.3}).error, 0.25, 1e-15);
  EXPECT_NEAR(maximum({1, 0.1}, {-INFINITY, 0}).error, 0.1, 1e-15);
}

TEST(Bounds, ABranchThatRoundingMayTurnCostsTheDifferenceOfItsSides) {
  Whole doubt = compared(Real{1, 1e-6}, Real{1 + 1e-7, 0}, true);
  EXPECT_EQ(doubt.error, 1);
  EXPECT_EQ(select(doubt, Real{5, 0.5}, Real{7, 0.25}).error, 2.75);
  EXPECT_EQ(select(doubt, Real{5, 0}, Real{-INFINITY, 0}).error, INFINITY);
  Whole certain = compared(Real{1, 1e-6}, Real{1.1, 0}, true);
  EXPECT_EQ(select(certain, Real{5, 0.5}, Real{7, 0.25}).error, 0.5);
  EXPECT_EQ(compared(Real{1, 0}, Real{1, 0}, true).error, 0) << "exact operands are never in doubt";
}

TEST(Bounds, FloorIsExactAwayFromIntegers) {
  EXPECT_EQ(floorOf({2.5, 1e-3}).error, 0);
  EXPECT_EQ(floorOf({3.0 - 1e-4, 1e-3}).value, 2);
  EXPECT_EQ(floorOf({3.0 - 1e-4, 1e-3}).error, 1);
  EXPECT_EQ(truncated({2.9999, 1e-3}).error, 1);
  EXPECT_EQ(truncated({2.5, 1e-3}).error, 0);
}

TEST(Bounds, RoundingTo16BitsIsExactForExactNumbersAndReachesTheNeighbour) {
  auto asF16 = [](Real x) {
    return rounded(x, kUnitF16, 0x1p-24,
                   [](double v) { return double(toF16(static_cast<float>(v))); });
  };
  EXPECT_EQ(asF16({0.1, 0}).value, 0.0999755859375);
  EXPECT_EQ(asF16({0.1, 0}).error, 0);
  EXPECT_EQ(asF16({1 + 0x1p-11, 1e-6}).value, 1);
  EXPECT_GE(asF16({1 + 0x1p-11, 1e-6}).error, 0x1p-10);
  EXPECT_TRUE(unknown(asF16({65519, 10})));
  EXPECT_EQ(asF16({70000, 10}).value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(asF16({70000, 10}).error, 0);
}

/// `emulated(x)` in f32 stays within the bound of `rule` for inputs that are off by `error`.
template <class Rule, class Emulated>
void expectBounded(Rule rule, Emulated emulated, double lo, double hi, double error) {
  double worst = 0;
  for (int n = 0; n <= 2000; ++n) {
    double x = lo + (hi - lo) * n / 2000;
    Real bound = rule(Real{x, error + kUnitF32 * std::fabs(x)}, kUnitF32);
    for (double off : {-error, 0.0, error}) {
      double difference = std::fabs(double(emulated(float(x + off))) - bound.value);
      worst = std::max(worst, difference / (bound.error * (1 + 1e-6)));
    }
  }
  EXPECT_LE(worst, 1);
  EXPECT_GT(worst, 0.05);
}

TEST(Bounds, ElementaryFunctions) {
  for (double error : {0.0, 1e-5}) {
    expectBounded(exponential, [](float x) { return std::exp2(x * 1.44269504f); }, -80, 20, error);
    expectBounded(exponential2, [](float x) { return std::exp2(x); }, -80, 20, error);
    expectBounded(logarithm, [](float x) { return std::log(x); }, 0.01, 90, error);
    expectBounded(logarithm2, [](float x) { return std::log2(x); }, 0.01, 90, error);
    expectBounded(squareRoot, [](float x) { return std::sqrt(x); }, 0.01, 90, error);
    expectBounded(reciprocalRoot, [](float x) { return 1 / std::sqrt(x); }, 0.01, 90, error);
    expectBounded(hyperbolicTangent, [](float x) { return std::tanh(x); }, -3, 3, error);
    expectBounded(errorFunction, [](float x) { return std::erf(x); }, -2, 2, error);
    expectBounded(sine, [](float x) { return std::sin(x); }, -3, 3, error);
    expectBounded(cosine, [](float x) { return std::cos(x); }, -3, 3, error);
  }
}

// 1 / (1 + exp(200)) is 0 in f32, where exp(200) is infinite; -inf times it NaN.
TEST(Bounds, AProductOrQuotientBelowF32MayBeZero) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Real small = divide({1, 0}, {7e86, 0}, kUnitF32);
  EXPECT_TRUE(mayBeZero(small));
  EXPECT_TRUE(unknown(multiply({-inf, 0}, small, kUnitF32)));
  EXPECT_TRUE(mayBeZero(multiply({1e-30, 0}, {1e-30, 0}, kUnitF32)));
  // What f32 holds, float64, and an exact 0 are as before.
  EXPECT_FALSE(mayBeZero(divide({1, 0}, {7e36, 0}, kUnitF32)));
  EXPECT_FALSE(mayBeZero(divide({1, 0}, {7e86, 0}, kUnitF64)));
  EXPECT_EQ(multiply({0, 0}, {1e-30, 0}, kUnitF32).error, 0);
}

TEST(Compare, ANaNOrInfinityMatchesOnlyItself) {
  Array reference = reals({4}, {1, NAN, INFINITY, -INFINITY});
  reference.error = {10, 0, 0, 0};
  EXPECT_EQ(compare(reference, reals({4}, {2, NAN, INFINITY, -INFINITY})).failures, 0);
  Comparison wrong = compare(reference, reals({4}, {NAN, 1, -INFINITY, 1}));
  EXPECT_EQ(wrong.failures, 4);
  EXPECT_EQ(wrong.mismatches, 4);
  EXPECT_EQ(compare(reference, reals({3}, {1, 1, 1})).failures, 4) << "another shape";
}

TEST(Compare, OverflowOfTheStorageTypeIsARoundingToInfinity) {
  Array reference = reals({2}, {70000, 60000});
  reference.storeUnit = kUnitF16;
  reference.storeMax = 65504;
  EXPECT_EQ(compare(reference, reals({2}, {INFINITY, 60000})).failures, 0);
  EXPECT_EQ(compare(reference, reals({2}, {-INFINITY, INFINITY})).failures, 2);
}

TEST(Compare, IntegersMustBeEqual) {
  Array reference = wholes({2}, {3, 4});
  EXPECT_TRUE(compare(reference, wholes({2}, {3, 4})).passed());
  EXPECT_EQ(compare(reference, reals({2}, {3, 5})).failures, 1);
}

} // namespace
} // namespace attnc::evaluator
