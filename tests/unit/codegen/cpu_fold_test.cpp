// Unfused folds of every kind, and contractions.
#include "cpu_program.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace attnc::cpu {
namespace {

using Type = HostTensor::Type;

/// y[b, kept] = fold over `folded` of x[b, m, n].
std::string foldText(const std::string &kind, const std::string &folded, const std::string &storage,
                     const std::string &compute) {
  std::string kept = folded == "n" ? "m" : "n";
  std::string result = "!attn.array<[b, " + kept + "], " + compute + ">";
  return "attn.program @fold dims [b, m, n] {\n"
         "  %x = attn.input \"x\" : !attn.array<[b, m, n], " +
         storage +
         ">\n"
         "  %y = red.nest grid [b, " +
         kept + "] row [] stream [" + folded + "] inner [] : " + result +
         " {\n"
         "    %0 = attn.read %x[b, m, n] : (!attn.array<[b, m, n], " +
         storage + ">) -> !attn.array<[b, m, n], " + compute +
         ">\n"
         "    %1 = red.fold " +
         kind + " over [" + folded + "] (%0) : (!attn.array<[b, m, n], " + compute + ">) -> " +
         result +
         "\n"
         "    red.yield %1 : " +
         result +
         "\n  }\n"
         "  attn.output \"y\" [b, " +
         kept + "] %y as " + compute + " : " + result + "\n}\n";
}

struct Fold {
  const char *kind;
  double identity;
  double (*combine)(double, double);
};

const Fold kFolds[] = {
    {"add", 0, [](double a, double b) { return a + b; }},
    {"mul", 1, [](double a, double b) { return a * b; }},
    {"max", -INFINITY, [](double a, double b) { return std::max(a, b); }},
    {"min", INFINITY, [](double a, double b) { return std::min(a, b); }},
};

void checkFold(const Fold &fold, const char *folded, Type storage, const char *storageName,
               Type compute, const char *computeName, int64_t m, int64_t n, unsigned modulus) {
  SCOPED_TRACE(std::string(fold.kind) + " of " + storageName + " over " + folded + ", " +
               std::to_string(m) + " x " + std::to_string(n));
  bool overN = folded[0] == 'n';
  CpuProgram program(foldText(fold.kind, folded, storageName, computeName));
  HostTensor x(storage, {3, m, n}, 1);
  unsigned state = 1;
  // Small powers of two and small integers: every order of the fold gives the same result.
  x.fill([&](const auto &) {
    state = state * 1664525 + 1013904223;
    return storage == Type::Bool ? (state >> 20) % modulus == 0
           : fold.kind[1] == 'u' ? ((state >> 20) % 2 ? 1.0 : -1.0)
                                 : static_cast<double>((state >> 20) % modulus) - modulus / 2;
  });
  program.tensors = {{"x", x}, {"y", HostTensor(compute, {3, overN ? m : n})}};
  program.run();
  const HostTensor &y = program.tensors["y"];
  y.forEach([&](const auto &at) {
    double expected = fold.identity;
    for (int64_t i = 0; i < (overN ? n : m); ++i)
      expected =
          fold.combine(expected, overN ? x.get({at[0], at[1], i}) : x.get({at[0], i, at[1]}));
    EXPECT_EQ(y.get(at), expected);
  });
}

TEST(CpuFold, FloatsAlongAndAcrossMemory) {
  for (const Fold &fold : kFolds)
    for (const char *folded : {"m", "n"})
      for (auto [m, n] : {std::pair{1, 1}, {5, 130}, {200, 67}, {0, 4}, {4, 0}})
        checkFold(fold, folded, Type::F32, "f32", Type::F32, "f32", m, n, 1000);
}

TEST(CpuFold, IntegersKeepAll64Bits) {
  for (Fold fold : kFolds) {
    if (std::isinf(fold.identity)) // over at least one element the identity does not show
      fold.identity = fold.identity < 0 ? -1e18 : 1e18;
    for (const char *folded : {"m", "n"})
      checkFold(fold, folded, Type::I32, "i32", Type::I64, "i64", 100, 67, 2000);
  }
}

TEST(CpuFold, DoublesStayDoubles) {
  checkFold(kFolds[0], "n", Type::F64, "f64", Type::F64, "f64", 7, 90, 2000);
  checkFold(kFolds[2], "m", Type::F64, "f64", Type::F64, "f64", 7, 90, 2000);
}

TEST(CpuFold, BooleansAndOr) {
  Fold all{"and", 1, [](double a, double b) { return std::min(a, b); }};
  Fold any{"or", 0, [](double a, double b) { return std::max(a, b); }};
  for (const char *folded : {"m", "n"})
    for (const Fold &fold : {all, any})
      for (unsigned modulus : {1u, 2u, 400u})
        checkFold(fold, folded, Type::Bool, "i1", Type::Bool, "i1", 70, 66, modulus);
}

TEST(CpuFold, MaximaAndMinimaPropagateNan) {
  for (const char *kind : {"max", "min"})
    for (const char *folded : {"m", "n"}) {
      CpuProgram program(foldText(kind, folded, "f32", "f32"));
      HostTensor x(Type::F32, {1, 80, 80});
      x.randomise(3);
      x.set({0, 77, 5}, NAN);
      program.tensors = {{"x", x}, {"y", HostTensor(Type::F32, {1, 80})}};
      program.run();
      for (int64_t i = 0; i < 80; ++i)
        EXPECT_EQ(std::isnan(program.tensors["y"].get({0, i})), i == (folded[0] == 'n' ? 77 : 5));
    }
}

// y[m, n] = sum over k and r of a[m, k, r] * w[n, k, r]: two stream dims, both operands strided.
TEST(CpuFold, AContractionOverTwoDims) {
  CpuProgram program(R"(
attn.program @contract dims [m, k, r, n] {
  %a = attn.input "a" : !attn.array<[m, k, r], f32>
  %w = attn.input "w" : !attn.array<[n, k, r], f32>
  %y = red.nest grid [m, n] row [] stream [k, r] inner [] : !attn.array<[m, n], f32> {
    %0 = attn.read %a[m, k, r] : (!attn.array<[m, k, r], f32>) -> !attn.array<[m, k, r], f32>
    %1 = attn.read %w[n, k, r] : (!attn.array<[n, k, r], f32>) -> !attn.array<[k, r, n], f32>
    %2 = red.fold add over [k, r] (%0, %1) : (!attn.array<[m, k, r], f32>, !attn.array<[k, r, n], f32>) -> !attn.array<[m, n], f32>
    red.yield %2 : !attn.array<[m, n], f32>
  }
  attn.output "y" [n, m] %y as f32 : !attn.array<[m, n], f32>
})");
  HostTensor a(Type::F32, {35, 3, 70}, 2), w(Type::F32, {67, 3, 70});
  a.randomise(1);
  w.randomise(2);
  program.tensors = {{"a", a}, {"w", w}, {"y", HostTensor(Type::F32, {67, 35}, 1)}};
  program.run();
  const HostTensor &y = program.tensors["y"];
  y.forEach([&](const auto &at) {
    double sum = 0, size = 0;
    for (int64_t k = 0; k < 3; ++k)
      for (int64_t r = 0; r < 70; ++r) {
        double term = a.get({at[1], k, r}) * w.get({at[0], k, r});
        sum += term;
        size += std::fabs(term);
      }
    EXPECT_NEAR(y.get(at), sum, (210 + 1) * std::ldexp(size, -24));
  });
  EXPECT_TRUE(y.paddingUntouched());
}

// All of an array folded into a scalar, over two stream dims.
TEST(CpuFold, EverythingIntoAScalar) {
  CpuProgram program(R"(
attn.program @all dims [m, n] {
  %x = attn.input "x" : !attn.array<[m, n], f32>
  %y = red.nest grid [] row [] stream [m, n] inner [] : !attn.array<[], f32> {
    %0 = attn.read %x[m, n] : (!attn.array<[m, n], f32>) -> !attn.array<[m, n], f32>
    %1 = red.fold add over [m, n] (%0) : (!attn.array<[m, n], f32>) -> !attn.array<[], f32>
    red.yield %1 : !attn.array<[], f32>
  }
  attn.output "y" [] %y as f32 : !attn.array<[], f32>
})");
  HostTensor x(Type::F32, {13, 130}, 1);
  x.fill([](const auto &at) { return at[0] * 130 + at[1]; });
  program.tensors = {{"x", x}, {"y", HostTensor(Type::F32, {})}};
  program.run();
  EXPECT_EQ(program.tensors["y"].get({}), 1690 * 1689 / 2);
}

// A domain whose bounds depend on a grid index, in a nest without rows.
TEST(CpuFold, ADomainBoundsTheStreamOfEachCell) {
  CpuProgram program(R"(
attn.program @window dims [b, n] {
  %x = attn.input "x" : !attn.array<[b, n], f32>
  %length = attn.input "length" : !attn.array<[b], i32>
  %y = red.nest grid [b] row [] stream [n] inner [] : !attn.array<[b], f32> {
    %0 = attn.read %x[b, n] : (!attn.array<[b, n], f32>) -> !attn.array<[b, n], f32>
    %1 = red.fold add over [n] (%0) : (!attn.array<[b, n], f32>) -> !attn.array<[b], f32>
    red.yield %1 : !attn.array<[b], f32>
  } domain {
  ^bb0(%b: i64, %n0: i64, %n1: i64):
    %l = attn.read %length[b] : (!attn.array<[b], i32>) -> !attn.array<[b], i64>
    %t = attn.map (%a = %l : !attn.array<[b], i64>) -> !attn.array<[b], i64> {
      %two = arith.constant 2 : i64
      %w = arith.muli %a, %two : i64
      attn.yield %w : i64
    }
    %hi = red.scalar %t : !attn.array<[b], i64> -> i64
    %full = arith.cmpi slt, %n1, %hi : i64
    red.bounds lo(%b) hi(%hi) full %full
  }
  attn.output "y" [b] %y as f32 : !attn.array<[b], f32>
})");
  HostTensor x(Type::F32, {6, 100}), length(Type::I32, {6});
  x.fill([](const auto &) { return 1; });
  length.fill([](const auto &at) { return at[0] == 1 ? -4 : at[0] * 13; }); // doubled: 0 to 130
  program.tensors = {{"x", x}, {"length", length}, {"y", HostTensor(Type::F32, {6})}};
  program.run();
  program.tensors["y"].forEach([&](const auto &at) {
    int64_t high = std::min<int64_t>(100, static_cast<int64_t>(length.get(at)) * 2);
    EXPECT_EQ(program.tensors["y"].get(at), std::max<int64_t>(0, high - at[0]));
  });
}

} // namespace
} // namespace attnc::cpu
