// Fused nests with other states than one softmax, and programs of several nests.
#include "cpu_program.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace attnc::cpu {
namespace {

using Type = HostTensor::Type;

// Two softmaxes over one pass, a plain sum and a count as states, and an epilogue over all of them;
// the scores themselves are stored too.
const char *kTwoStates = R"(
attn.program @two dims [h, i, j, e] {
  %x = attn.input "x" : !attn.array<[h, i, j], f32>
  %y = attn.input "y" : !attn.array<[h, i, j], f32>
  %v = attn.input "v" : !attn.array<[j, e], f32>
  %lambda = attn.param "lambda" -> !attn.array<[], f32>
  %o, %n, %t = red.nest grid [h] row [i] stream [j] inner [e] : !attn.array<[h, i, e], f32>, !attn.array<[h, i], i64>, !attn.array<[h, i, j], f32> {
    %0 = attn.read %x[h, i, j] : (!attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32>
    %1 = attn.read %y[h, i, j] : (!attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32>
    %2 = attn.read %v[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
    %mx = red.fold max over [j] (%0) : (!attn.array<[h, i, j], f32>) -> !attn.array<[h, i], f32>
    %my = red.fold max over [j] (%1) : (!attn.array<[h, i, j], f32>) -> !attn.array<[h, i], f32>
    %zx = red.fold add over [j] () exp(%0 - %mx) : (!attn.array<[h, i, j], f32>, !attn.array<[h, i], f32>) -> !attn.array<[h, i], f32>
    %zy = red.fold add over [j] () exp(%1 - %my) : (!attn.array<[h, i, j], f32>, !attn.array<[h, i], f32>) -> !attn.array<[h, i], f32>
    %cx = red.fold add over [j] (%2) exp(%0 - %mx) : (!attn.array<[j, e], f32>, !attn.array<[h, i, j], f32>, !attn.array<[h, i], f32>) -> !attn.array<[h, i, e], f32>
    %cy = red.fold add over [j] (%2) exp(%1 - %my) : (!attn.array<[j, e], f32>, !attn.array<[h, i, j], f32>, !attn.array<[h, i], f32>) -> !attn.array<[h, i, e], f32>
    %more = attn.map (%a = %0 : !attn.array<[h, i, j], f32>, %b = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], i64> {
      %q = arith.cmpf ogt, %a, %b : f32
      %w = arith.extui %q : i1 to i64
      attn.yield %w : i64
    }
    %count = red.fold add over [j] (%more) : (!attn.array<[h, i, j], i64>) -> !attn.array<[h, i], i64>
    %total = attn.map (%a = %0 : !attn.array<[h, i, j], f32>, %b = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
      %w = arith.addf %a, %b : f32
      attn.yield %w : f32
    }
    %r = attn.map (%a = %cx : !attn.array<[h, i, e], f32>, %za = %zx : !attn.array<[h, i], f32>, %b = %cy : !attn.array<[h, i, e], f32>, %zb = %zy : !attn.array<[h, i], f32>, %l = %lambda : !attn.array<[], f32>) -> !attn.array<[h, i, e], f32> {
      %p = arith.divf %a, %za : f32
      %q = arith.divf %b, %zb : f32
      %g = arith.mulf %l, %q : f32
      %w = attn.sub %p, %g : f32
      attn.yield %w : f32
    }
    red.yield %r, %count, %total : !attn.array<[h, i, e], f32>, !attn.array<[h, i], i64>, !attn.array<[h, i, j], f32>
  }
  attn.output "o" [i, h, e] %o as f32 : !attn.array<[h, i, e], f32>
  attn.output "n" [h, i] %n as i32 : !attn.array<[h, i], i64>
  attn.output "t" [h, i, j] %t as f32 : !attn.array<[h, i, j], f32>
})";

TEST(CpuFused, TwoSoftmaxesACountAndAStreamedOutput) {
  const int64_t h = 2, i = 70, j = 150, e = 5;
  CpuProgram program(kTwoStates);
  HostTensor x(Type::F32, {h, i, j}), y(Type::F32, {h, i, j}), v(Type::F32, {j, e});
  x.randomise(1);
  y.randomise(2);
  v.randomise(3);
  program.params["lambda"] = 0.5;
  program.tensors = {{"x", x},
                     {"y", y},
                     {"v", v},
                     {"o", HostTensor(Type::F32, {i, h, e}, 1)},
                     {"n", HostTensor(Type::I32, {h, i})},
                     {"t", HostTensor(Type::F32, {h, i, j})}};
  program.run();
  auto softmaxSum = [&](const HostTensor &s, int64_t a, int64_t b, int64_t c) {
    double z = 0, w = 0;
    for (int64_t k = 0; k < j; ++k) {
      z += std::exp(s.get({a, b, k}));
      w += std::exp(s.get({a, b, k})) * v.get({k, c});
    }
    return w / z;
  };
  // Weights are within e^2 of one another and |v| <= 1: j + 20 roundings bound each mean.
  double bound = 2 * (j + 20) * std::ldexp(1.0, -24);
  const auto &t = program.tensors;
  t.at("o").forEach([&](const auto &at) {
    double expected = softmaxSum(x, at[1], at[0], at[2]) - 0.5 * softmaxSum(y, at[1], at[0], at[2]);
    EXPECT_NEAR(t.at("o").get(at), expected, bound);
  });
  t.at("n").forEach([&](const auto &at) {
    int64_t count = 0;
    for (int64_t k = 0; k < j; ++k)
      count += x.get({at[0], at[1], k}) > y.get({at[0], at[1], k});
    EXPECT_EQ(t.at("n").get(at), count);
  });
  t.at("t").forEach([&](const auto &at) {
    EXPECT_EQ(t.at("t").get(at), static_cast<float>(x.get(at)) + static_cast<float>(y.get(at)));
  });
}

// Two row dims, an inner dim of dynamic extent, and an epilogue that folds it:
// y[i, l] = sum over d of q[i, l, d] * softmax(q k)[i, l, j] k[j, d].
TEST(CpuFused, TwoRowDimsAndAFoldInTheEpilogue) {
  CpuProgram program(R"(
attn.program @rows dims [b, i, l, d, j] {
  %q = attn.input "q" : !attn.array<[b, i, l, d], f32>
  %k = attn.input "k" : !attn.array<[b, j, d], f32>
  %y = red.nest grid [b] row [i, l] stream [j] inner [d] : !attn.array<[b, i, l], f32> {
    %0 = attn.read %q[b, i, l, d] : (!attn.array<[b, i, l, d], f32>) -> !attn.array<[b, i, l, d], f32>
    %1 = attn.read %k[b, j, d] : (!attn.array<[b, j, d], f32>) -> !attn.array<[b, d, j], f32>
    %s = red.fold add over [d] (%0, %1) : (!attn.array<[b, i, l, d], f32>, !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, l, j], f32>
    %m = red.fold max over [j] (%s) : (!attn.array<[b, i, l, j], f32>) -> !attn.array<[b, i, l], f32>
    %z = red.fold add over [j] () exp(%s - %m) : (!attn.array<[b, i, l, j], f32>, !attn.array<[b, i, l], f32>) -> !attn.array<[b, i, l], f32>
    %c = red.fold add over [j] (%1) exp(%s - %m) : (!attn.array<[b, d, j], f32>, !attn.array<[b, i, l, j], f32>, !attn.array<[b, i, l], f32>) -> !attn.array<[b, i, l, d], f32>
    %t = red.fold add over [d] (%c, %0) : (!attn.array<[b, i, l, d], f32>, !attn.array<[b, i, l, d], f32>) -> !attn.array<[b, i, l], f32>
    %r = attn.map (%a = %t : !attn.array<[b, i, l], f32>, %b = %z : !attn.array<[b, i, l], f32>) -> !attn.array<[b, i, l], f32> {
      %w = arith.divf %a, %b : f32
      attn.yield %w : f32
    }
    red.yield %r : !attn.array<[b, i, l], f32>
  }
  attn.output "y" [b, i, l] %y as f32 : !attn.array<[b, i, l], f32>
})");
  const int64_t b = 2, i = 19, l = 70, j = 66, d = 11;
  HostTensor q(Type::F32, {b, i, l, d}, 2), k(Type::F32, {b, j, d});
  q.randomise(1);
  k.randomise(2);
  program.tensors = {{"q", q}, {"k", k}, {"y", HostTensor(Type::F32, {b, i, l})}};
  program.run();
  const HostTensor &y = program.tensors["y"];
  y.forEach([&](const auto &at) {
    double z = 0, sum = 0, size = 0;
    for (int64_t n = 0; n < j; ++n) {
      double s = 0;
      for (int64_t x = 0; x < d; ++x)
        s += q.get({at[0], at[1], at[2], x}) * k.get({at[0], n, x});
      z += std::exp(s);
      sum += std::exp(s) * s;
      size += std::exp(s) * d; // |s| <= sum over d of |q k| <= d
    }
    // Weights are off by twice the error of a score, (d + 2) u d, and by the rounding of two sums.
    double relative = 2 * ((d + 2) * d + j + d + 10) * std::ldexp(1.0, -24);
    EXPECT_NEAR(y.get(at), sum / z, relative * size / z);
  });
}

// The exponential of a fold over an inner dim belongs to the step.
TEST(CpuFused, ALogSumExpOverAnInnerDimInsideTheStep) {
  CpuProgram program(R"(
attn.program @inner dims [i, d, j] {
  %q = attn.input "q" : !attn.array<[i, d], f32>
  %k = attn.input "k" : !attn.array<[j, d], f32>
  %y = red.nest grid [] row [i] stream [j] inner [d] : !attn.array<[i], f32> {
    %0 = attn.read %q[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %k[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
    %s = attn.map (%a = %0 : !attn.array<[i, d], f32>, %b = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
      %w = arith.addf %a, %b : f32
      attn.yield %w : f32
    }
    %m = red.fold max over [d] (%s) : (!attn.array<[i, d, j], f32>) -> !attn.array<[i, j], f32>
    %z = red.fold add over [d] () exp(%s - %m) : (!attn.array<[i, d, j], f32>, !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %l = attn.map (%a = %m : !attn.array<[i, j], f32>, %b = %z : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
      %n = math.log %b : f32
      %w = arith.addf %a, %n : f32
      attn.yield %w : f32
    }
    %t = red.fold min over [j] (%l) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    red.yield %t : !attn.array<[i], f32>
  }
  attn.output "y" [i] %y as f32 : !attn.array<[i], f32>
})");
  HostTensor q(Type::F32, {21, 6}), k(Type::F32, {90, 6});
  q.randomise(1);
  k.randomise(2);
  program.tensors = {{"q", q}, {"k", k}, {"y", HostTensor(Type::F32, {21})}};
  program.run();
  program.tensors["y"].forEach([&](const auto &at) {
    double least = INFINITY;
    for (int64_t j = 0; j < 90; ++j) {
      double z = 0;
      for (int64_t d = 0; d < 6; ++d)
        z += std::exp(q.get({at[0], d}) + k.get({j, d}));
      least = std::min(least, std::log(z));
    }
    // |s| <= 2 and |log z| <= 4: a dozen roundings of numbers below 4.
    EXPECT_NEAR(program.tensors["y"].get(at), least, 12 * std::ldexp(4.0, -24));
  });
}

// Nests that follow one another: the second reads the first one's result in memory.
TEST(CpuNests, AnIntermediateGoesThroughMemory) {
  CpuProgram program(R"(
attn.program @chain dims [b, m, n] {
  %x = attn.input "x" : !attn.array<[b, m, n], f32>
  %s = red.nest grid [b, m] row [] stream [n] inner [] : !attn.array<[b, m], f32> {
    %0 = attn.read %x[b, m, n] : (!attn.array<[b, m, n], f32>) -> !attn.array<[b, m, n], f32>
    %1 = red.fold add over [n] (%0) : (!attn.array<[b, m, n], f32>) -> !attn.array<[b, m], f32>
    red.yield %1 : !attn.array<[b, m], f32>
  }
  %y = red.nest grid [b, m, n] row [] stream [] inner [] : !attn.array<[b, m, n], f32> {
    %0 = attn.read %x[b, m, n] : (!attn.array<[b, m, n], f32>) -> !attn.array<[b, m, n], f32>
    %1 = attn.read %s[b, m] : (!attn.array<[b, m], f32>) -> !attn.array<[b, m], f32>
    %2 = attn.map (%a = %0 : !attn.array<[b, m, n], f32>, %t = %1 : !attn.array<[b, m], f32>) -> !attn.array<[b, m, n], f32> {
      %w = arith.divf %a, %t : f32
      attn.yield %w : f32
    }
    red.yield %2 : !attn.array<[b, m, n], f32>
  }
  attn.output "y" [b, m, n] %y as f32 : !attn.array<[b, m, n], f32>
})");
  HostTensor x(Type::F32, {2, 19, 33});
  x.fill([](const auto &at) { return at[2] % 2 + 1.0; }); // 16 twos and 17 ones: the sum is 49
  program.tensors = {{"x", x},
                     {"value", HostTensor(Type::F32, {2, 19})},
                     {"y", HostTensor(Type::F32, {2, 19, 33})}};
  program.run();
  const HostTensor &y = program.tensors["y"];
  y.forEach([&](const auto &at) { EXPECT_EQ(y.get(at), static_cast<float>(x.get(at)) / 49.0f); });
}

TEST(CpuNests, ASecondPassOverTheStreamIsRefused) {
  EXPECT_NE(compileError(R"(
attn.program @softmax dims [i, j] {
  %x = attn.input "x" : !attn.array<[i, j], f32>
  %p = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i, j], f32> {
    %0 = attn.read %x[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %1 = red.fold max over [j] (%0) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %2 = attn.map (%a = %0 : !attn.array<[i, j], f32>, %m = %1 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
      %w = attn.sub %a, %m : f32
      attn.yield %w : f32
    }
    red.yield %2 : !attn.array<[i, j], f32>
  }
  attn.output "p" [i, j] %p as f32 : !attn.array<[i, j], f32>
})")
                .find("second pass"),
            std::string::npos);
}

} // namespace
} // namespace attnc::cpu
