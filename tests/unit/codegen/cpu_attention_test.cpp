// Fused nests against loops in double precision.
#include "cpu_program.h"
#include <cmath>
#include <gtest/gtest.h>

namespace attnc::cpu {
namespace {

using Type = HostTensor::Type;

struct Case {
  Type type = Type::BF16;
  int64_t b = 2, h = 2, i = 65, j = 65, d = 64, e = 64;
  int64_t offset = 1 << 20; ///< key j is seen by row i if j <= i + offset
  int64_t padding = 0;
  double scale = 0.125;
};

const char *typeName(Type type) {
  return type == Type::BF16 ? "bf16" : type == Type::F16 ? "f16" : "f32";
}

/// Attention with weights as softmax over keys j <= i + offset; the domain ends the stream there.
std::string attentionText(const Case &c) {
  std::string text = R"(
attn.program @attention dims [b, h, i, d = D, j, e = E] {
  %q = attn.input "q" : !attn.array<[b, h, i, d], T>
  %k = attn.input "k" : !attn.array<[b, h, j, d], T>
  %v = attn.input "v" : !attn.array<[b, h, j, e], T>
  %scale = attn.param "scale" -> !attn.array<[], f32>
  %offset = attn.param "offset" -> !attn.array<[], i64>
  %o, %lse = red.nest grid [b, h] row [i] stream [j] inner [d, e] : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32> {
    %0 = attn.read %q[b, h, i, d] : (!attn.array<[b, h, i, d], T>) -> !attn.array<[b, h, i, d], f32>
    %1 = attn.read %k[b, h, j, d] : (!attn.array<[b, h, j, d], T>) -> !attn.array<[b, h, d, j], f32>
    %2 = attn.read %v[b, h, j, e] : (!attn.array<[b, h, j, e], T>) -> !attn.array<[b, h, j, e], f32>
    %3 = red.fold add over [d] (%0, %1) : (!attn.array<[b, h, i, d], f32>, !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, j], f32>
    %rows = attn.index i : !attn.array<[i], i64>
    %keys = attn.index j : !attn.array<[j], i64>
    %s = attn.map (%a = %3 : !attn.array<[b, h, i, j], f32>, %c = %scale : !attn.array<[], f32>, %i = %rows : !attn.array<[i], i64>, %j = %keys : !attn.array<[j], i64>, %w = %offset : !attn.array<[], i64>) -> !attn.array<[b, h, i, j], f32> {
      %inf = arith.constant 0xFF800000 : f32
      %x = arith.mulf %a, %c : f32
      %last = arith.addi %i, %w : i64
      %seen = arith.cmpi sle, %j, %last : i64
      %y = arith.select %seen, %x, %inf {red.full = true} : f32
      attn.yield %y : f32
    }
    %m = red.fold max over [j] (%s) : (!attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i], f32>
    %z = red.fold add over [j] () exp(%s - %m) : (!attn.array<[b, h, i, j], f32>, !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i], f32>
    %c = red.fold add over [j] (%2) exp(%s - %m) : (!attn.array<[b, h, j, e], f32>, !attn.array<[b, h, i, j], f32>, !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i, e], f32>
    %o = attn.map (%n = %c : !attn.array<[b, h, i, e], f32>, %t = %z : !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i, e], f32> {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %empty = arith.cmpf oeq, %t, %zero : f32
      %r = arith.divf %one, %t : f32
      %f = arith.select %empty, %zero, %r : f32
      %y = arith.mulf %f, %n : f32
      attn.yield %y : f32
    }
    %l = attn.map (%x = %m : !attn.array<[b, h, i], f32>, %t = %z : !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i], f32> {
      %y = math.log %t : f32
      %w = arith.addf %x, %y : f32
      attn.yield %w : f32
    }
    red.yield %o, %l : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32>
  } domain {
  ^bb0(%b: i64, %h: i64, %i0: i64, %i1: i64, %j0: i64, %j1: i64):
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %w = red.scalar %offset : !attn.array<[], i64> -> i64
    %last = arith.addi %i1, %w : i64
    %hi = arith.addi %last, %one : i64
    %first = arith.addi %i0, %w : i64
    %full = arith.cmpi sle, %j1, %first : i64
    red.bounds lo(%zero) hi(%hi) full %full
  }
  attn.output "o" [b, h, i, e] %o as T : !attn.array<[b, h, i, e], f32>
  attn.output "lse" [b, h, i] %lse as f32 : !attn.array<[b, h, i], f32>
})";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace(", T>", std::string(", ") + typeName(c.type) + ">");
  replace(" as T ", std::string(" as ") + typeName(c.type) + " ");
  replace("d = D", "d = " + std::to_string(c.d));
  replace("e = E", "e = " + std::to_string(c.e));
  return text;
}

void bind(CpuProgram &program, const Case &c) {
  auto &t = program.tensors;
  t["q"] = HostTensor(c.type, {c.b, c.h, c.i, c.d}, c.padding);
  t["k"] = HostTensor(c.type, {c.b, c.h, c.j, c.d}, c.padding);
  t["v"] = HostTensor(c.type, {c.b, c.h, c.j, c.e}, c.padding);
  t["o"] = HostTensor(c.type, {c.b, c.h, c.i, c.e}, c.padding);
  t["lse"] = HostTensor(Type::F32, {c.b, c.h, c.i}, c.padding);
  unsigned seed = 1;
  for (const char *name : {"q", "k", "v"})
    t[name].randomise(seed++);
  program.params = {{"scale", c.scale}, {"offset", static_cast<double>(c.offset)}};
}

/// One row in double precision, with the bounds that f32 arithmetic may differ by.
///
/// A score is a sum of d products: |error| <= (d + 2) u sum|q k| |scale|. It moves a weight by its
/// own relative amount, and exp adds 3 ulp and the rescaling one more exponential a tile; a sum of
/// n terms adds n u (recursive summation). All weights are positive, so z and each |v|-weighted sum
/// have the same relative bound.
struct Row {
  std::vector<double> o;
  std::vector<double> oBound;
  double lse, lseBound;
};

Row reference(const CpuProgram &program, const Case &c, int64_t b, int64_t h, int64_t i) {
  const double u = std::ldexp(1.0, -24);
  const auto &t = program.tensors;
  int64_t keys = std::clamp<int64_t>(i + c.offset + 1, 0, c.j);
  std::vector<double> s(keys);
  double scoreError = 0, m = -INFINITY;
  for (int64_t j = 0; j < keys; ++j) {
    double sum = 0, size = 0;
    for (int64_t d = 0; d < c.d; ++d) {
      double product = t.at("q").get({b, h, i, d}) * t.at("k").get({b, h, j, d});
      sum += product;
      size += std::fabs(product);
    }
    s[j] = sum * static_cast<float>(c.scale);
    scoreError =
        std::max(scoreError, (c.d + 2) * u * size * std::fabs(c.scale) + u * std::fabs(s[j]));
    m = std::max(m, s[j]);
  }
  double z = 0, spread = 0;
  for (double x : s) {
    z += std::exp(x - m);
    spread = std::max(spread, m - x);
  }
  // The difference s - m is rounded too, relative to its size.
  double tiles = c.j / 64 + 1;
  double weightError = 2 * scoreError + u * spread + 4 * u * (1 + tiles) + (c.j + 2) * u;
  Row row{{},
          {},
          m + std::log(z),
          weightError + scoreError + 4 * u * (std::fabs(m) + std::fabs(std::log(z)))};
  for (int64_t e = 0; e < c.e; ++e) {
    double sum = 0, size = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double term = std::exp(s[j] - m) * t.at("v").get({b, h, j, e});
      sum += term;
      size += std::fabs(term);
    }
    row.o.push_back(keys ? sum / z : 0);
    double storage = c.type == Type::BF16 ? 1 / 256.0 : c.type == Type::F16 ? 1 / 2048.0 : u;
    row.oBound.push_back(keys ? 2 * (weightError + 2 * u) * size / z + storage * std::fabs(sum / z)
                              : 0);
  }
  return row;
}

/// One program for each text, as lengths are dynamic. They go before LLVM's own globals do.
class CpuAttention : public testing::Test {
protected:
  static void TearDownTestSuite() { programs.clear(); }
  void check(const Case &c);

private:
  static std::map<std::string, CpuProgram> programs;
};
std::map<std::string, CpuProgram> CpuAttention::programs;

void CpuAttention::check(const Case &c) {
  std::string text = attentionText(c);
  CpuProgram &program = programs.try_emplace(text, text).first->second;
  bind(program, c);
  program.run();
  const HostTensor &o = program.tensors["o"], &lse = program.tensors["lse"];
  int64_t wrong = 0;
  lse.forEach([&](const HostTensor::Indices &at) {
    Row row = reference(program, c, at[0], at[1], at[2]);
    double got = lse.get(at);
    if (std::isinf(row.lse) ? got != row.lse : !(std::fabs(got - row.lse) <= row.lseBound))
      if (++wrong < 5)
        ADD_FAILURE() << "lse of row " << at[2] << " is " << got << ", not " << row.lse;
    for (int64_t e = 0; e < c.e; ++e) {
      double value = o.get({at[0], at[1], at[2], e});
      if (!(std::fabs(value - row.o[e]) <= row.oBound[e]) && ++wrong < 5)
        ADD_FAILURE() << "o of row " << at[2] << ", " << e << " is " << value << ", not "
                      << row.o[e] << " +- " << row.oBound[e];
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(o.paddingUntouched());
  EXPECT_TRUE(lse.paddingUntouched());
}

TEST_F(CpuAttention, LengthsOnAndOffTheTileSizes) {
  for (auto [i, j] :
       {std::pair{1, 1}, {1, 300}, {17, 64}, {64, 65}, {65, 17}, {129, 300}, {300, 129}}) {
    SCOPED_TRACE(std::to_string(i) + " rows, " + std::to_string(j) + " keys");
    check({.i = i, .j = j});
  }
}

TEST_F(CpuAttention, EveryStorageType) {
  for (Type type : {Type::F16, Type::BF16, Type::F32})
    check({.type = type, .i = 70, .j = 90, .d = 24, .e = 40});
}

TEST_F(CpuAttention, StridedTensorsKeepTheirPadding) {
  check({.i = 33, .j = 77, .d = 16, .e = 16, .padding = 3});
}

TEST_F(CpuAttention, ADomainEndsTheStream) {
  check({.i = 130, .j = 130, .offset = 0});
  check({.i = 100, .j = 200, .offset = 100});
}

TEST_F(CpuAttention, RowsWithoutKeysAreZeroWithLseOfMinusInfinity) {
  check({.i = 150, .j = 80, .offset = -70});
  check({.i = 5, .j = 5, .offset = -5});
}

TEST_F(CpuAttention, LargeScoresStayInRange) {
  check({.type = Type::F32, .i = 40, .j = 200, .d = 8, .e = 8, .scale = 3e3});
}

TEST_F(CpuAttention, ManyTilesOnFewThreadsAndFewTilesOnManyThreads) {
  check({.b = 3, .h = 5, .i = 9, .j = 40, .d = 8, .e = 8});
  check({.b = 1, .h = 1, .i = 1, .j = 40, .d = 8, .e = 8});
}

TEST_F(CpuAttention, EmptyExtents) {
  check({.i = 0, .j = 30, .d = 8, .e = 8});
  check({.b = 0, .i = 3, .j = 30, .d = 8, .e = 8});
  check({.i = 3, .j = 0, .d = 8, .e = 8}); // no keys: every row is empty
}

// Scores that grow along the stream move the maximum at every tile.
TEST_F(CpuAttention, AscendingScores) {
  Case c{.type = Type::F32, .b = 1, .h = 1, .i = 3, .j = 300, .d = 1, .e = 1, .scale = 1};
  CpuProgram program(attentionText(c));
  bind(program, c);
  program.tensors["q"].fill([](const auto &) { return 1; });
  program.tensors["k"].fill([](const auto &at) { return at[2] * 8.0; });
  program.tensors["v"].fill([](const auto &at) { return at[2]; });
  program.run();
  // Key 299 has all the weight but e^-8 times 298 and smaller ones.
  double small = std::exp(-8.0);
  double expected = 299 - small * (1 - small) / ((1 - small) * (1 - small));
  EXPECT_NEAR(program.tensors["o"].get({0, 0, 1, 0}), expected, 299 * std::ldexp(1.0, -20));
}

TEST_F(CpuAttention, ANanAmongTheScoresReachesItsRowOnly) {
  Case c{.type = Type::F32, .b = 1, .h = 1, .i = 4, .j = 100, .d = 2, .e = 2};
  CpuProgram program(attentionText(c));
  bind(program, c);
  program.tensors["q"].set({0, 0, 2, 1}, NAN);
  program.run();
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::isnan(program.tensors["o"].get({0, 0, i, 0})), i == 2) << "row " << i;
  EXPECT_TRUE(std::isnan(program.tensors["lse"].get({0, 0, 2})));
}

} // namespace
} // namespace attnc::cpu
