// Pure maps: reads, subscripts, storage types and scalar functions.
#include "cpu_program.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace attnc::cpu {
namespace {

using Type = HostTensor::Type;

/// y[n] = f(x[n]) with the body `f` from %x to %y, from and to the given types.
std::string elementwise(const std::string &from, const std::string &to, const std::string &f,
                        const std::string &compute = "f32") {
  return "attn.program @map dims [n] {\n"
         "  %in = attn.input \"x\" : !attn.array<[n], " +
         from +
         ">\n"
         "  %r = red.nest grid [n] row [] stream [] inner [] : !attn.array<[n], " +
         compute +
         "> {\n"
         "    %0 = attn.read %in[n] : (!attn.array<[n], " +
         from + ">) -> !attn.array<[n], " + compute +
         ">\n"
         "    %1 = attn.map (%x = %0 : !attn.array<[n], " +
         compute + ">) -> !attn.array<[n], " + compute + "> {\n" + f +
         "\n      attn.yield %y : " + compute +
         "\n    }\n"
         "    red.yield %1 : !attn.array<[n], " +
         compute +
         ">\n  }\n"
         "  attn.output \"y\" [n] %r as " +
         to + " : !attn.array<[n], " + compute + ">\n}\n";
}

const char *kSame = "%zero = arith.constant -0.0 : f32\n %y = arith.addf %x, %zero : f32";

HostTensor floats(const std::vector<float> &values) {
  HostTensor tensor(Type::F32, {static_cast<int64_t>(values.size())});
  tensor.fill([&](const auto &at) { return values[at[0]]; });
  return tensor;
}

/// Values over the whole range of exponents, and the special ones.
std::vector<float> sweep() {
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
  for (uint64_t bits = 0; bits < 0x100000000; bits += 0x10000 + 0x1F3)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return values;
}

HostTensor apply(const std::string &text, HostTensor x, Type to) {
  CpuProgram program(text);
  program.tensors["y"] = HostTensor(to, x.shape);
  program.tensors["x"] = std::move(x);
  program.run();
  return program.tensors["y"];
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(CpuStorage, EverySixteenBitFloatIsReadExactly) {
  for (auto [type, name] : {std::pair{Type::BF16, "bf16"}, {Type::F16, "f16"}}) {
    HostTensor x(type, {65536});
    for (unsigned bits = 0; bits < 65536; ++bits) {
      x.bytes[2 * bits] = bits & 0xFF;
      x.bytes[2 * bits + 1] = bits >> 8;
    }
    HostTensor y = apply(elementwise(name, "f32", kSame), x, Type::F32);
    for (int64_t n = 0; n < 65536; ++n)
      ASSERT_TRUE(same(x.get({n}), y.get({n}))) << name << " pattern " << n;
  }
}

/// Those, halves between two bf16 numbers and between two f16 numbers, and their neighbours.
std::vector<float> valuesToRound() {
  std::vector<float> values = sweep();
  for (uint32_t high = 0; high < 0x10000; high += 7)
    for (uint32_t low : {0x7FFF, 0x8000, 0x8001, 0x0FFF, 0x1000, 0x1001, 0x3000})
      values.push_back(std::bit_cast<float>(high << 16 | low));
  return values;
}

TEST(CpuStorage, FloatsAreRoundedToNearestEven) {
  HostTensor x = floats(valuesToRound());
  for (auto [type, name] : {std::pair{Type::BF16, "bf16"}, {Type::F16, "f16"}}) {
    HostTensor y = apply(elementwise("f32", name, kSame), x, type);
    HostTensor expected(type, x.shape);
    expected.fill([&](const auto &at) { return x.get(at); });
    x.forEach([&](const auto &at) {
      EXPECT_TRUE(same(expected.get(at), y.get(at))) << name << " of " << x.get(at);
    });
  }
}

// Also below the normal range, and on machines without an instruction for it.
TEST(CpuScalar, CastsRoundAsStoresDo) {
  HostTensor x = floats(valuesToRound());
  for (auto [type, name] : {std::pair{Type::BF16, std::string("bf16")}, {Type::F16, "f16"}}) {
    std::string cast = "%narrow = arith.truncf %x : f32 to " + name +
                       "\n %y = arith.extf %narrow : " + name + " to f32";
    HostTensor y = apply(elementwise("f32", "f32", cast), x, Type::F32);
    HostTensor expected(type, x.shape);
    expected.fill([&](const auto &at) { return x.get(at); });
    x.forEach([&](const auto &at) {
      EXPECT_TRUE(same(expected.get(at), y.get(at))) << name << " of " << x.get(at);
    });
  }
}

TEST(CpuStorage, IntegersWidenWithTheirSign) {
  HostTensor x(Type::I8, {5});
  x.fill([](const auto &at) { return at[0] * 60.0 - 128; });
  HostTensor y = apply(elementwise("i8", "i32",
                                   "%one = arith.constant 1 : i64\n"
                                   "%y = arith.addi %x, %one : i64",
                                   "i64"),
                       x, Type::I32);
  for (int64_t n = 0; n < 5; ++n)
    EXPECT_EQ(y.get({n}), n * 60 - 127);
}

/// The distance of `got` from `exact` in units of the last place of the f32 nearest to `exact`.
double ulps(double got, double exact) {
  if (same(got, static_cast<float>(exact)))
    return 0;
  if (std::isinf(static_cast<float>(exact)) || std::isnan(exact) || std::isnan(got))
    return INFINITY;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

void checkFunction(const std::string &op, double (*exact)(double), double bound) {
  std::vector<float> values = sweep();
  for (float x = -110; x < 110; x += 0.0037f)
    values.push_back(x);
  HostTensor x = floats(values);
  HostTensor y = apply(elementwise("f32", "f32", "%y = " + op + " %x : f32"), x, Type::F32);
  double worst = 0, where = 0;
  x.forEach([&](const auto &at) {
    double distance = ulps(y.get(at), exact(x.get(at)));
    if (distance > worst)
      worst = distance, where = x.get(at);
  });
  EXPECT_LE(worst, bound) << op << " of " << where;
}

// The polynomial of degree 7 is within 0.3 ulp; reduction and evaluation round a few times.
TEST(CpuScalar, ExponentialsAreWithinTwoUlp) {
  checkFunction("math.exp", [](double x) { return std::exp(x); }, 2);
  checkFunction("math.exp2", [](double x) { return std::exp2(x); }, 2);
}

// The C library documents 1 to 2 ulp for these.
TEST(CpuScalar, OtherFunctionsAreWithinThreeUlp) {
  checkFunction("math.log", [](double x) { return std::log(x); }, 3);
  checkFunction("math.log2", [](double x) { return std::log2(x); }, 3);
  checkFunction("math.tanh", [](double x) { return std::tanh(x); }, 3);
  checkFunction("math.erf", [](double x) { return std::erf(x); }, 3);
  checkFunction("math.sqrt", [](double x) { return std::sqrt(x); }, 0.51);
  checkFunction("math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 2);
  checkFunction("math.floor", [](double x) { return std::floor(x); }, 0);
  checkFunction("math.absf", [](double x) { return std::fabs(x); }, 0);
}

TEST(CpuScalar, FloorDivisionAndModulusWithAnySigns) {
  for (auto [op, expected] : {std::pair<const char *, double (*)(double)>{
                                  "arith.floordivsi", [](double x) { return std::floor(x / -7); }},
                              {"attn.mod", [](double x) { return x + 7 * std::floor(x / -7); }}}) {
    HostTensor x(Type::I64, {41});
    x.fill([](const auto &at) { return at[0] - 20.0; });
    HostTensor y = apply(
        elementwise("i64", "i64",
                    std::string("%c = arith.constant -7 : i64\n %y = ") + op + " %x, %c : i64",
                    "i64"),
        x, Type::I64);
    x.forEach([&](const auto &at) { EXPECT_EQ(y.get(at), expected(x.get(at))) << op; });
  }
}

TEST(CpuScalar, DivisionByZeroDoesNotTrap) {
  HostTensor x(Type::I64, {70});
  x.fill([](const auto &) { return 0; });
  HostTensor y = apply(elementwise("i64", "i64",
                                   "%c = arith.constant 5 : i64\n"
                                   "%a = arith.floordivsi %c, %x : i64\n"
                                   "%b = attn.mod %a, %x : i64\n"
                                   "%d = arith.divsi %b, %x : i64\n"
                                   "%y = arith.muli %d, %x : i64",
                                   "i64"),
                       x, Type::I64);
  EXPECT_EQ(y.get({3}), 0);
}

TEST(CpuScalar, SubtractionAbsorbsMinusInfinity) {
  HostTensor x = floats({-INFINITY, INFINITY, 1});
  HostTensor y = apply(elementwise("f32", "f32",
                                   "%c = arith.constant 0xFF800000 : f32\n"
                                   "%y = attn.sub %x, %c : f32"),
                       x, Type::F32);
  EXPECT_EQ(y.get({0}), -INFINITY);
  EXPECT_EQ(y.get({1}), INFINITY);
  EXPECT_EQ(y.get({2}), INFINITY);
}

TEST(CpuRead, AWindowReadsElseOutside) {
  CpuProgram program(R"(
attn.program @window dims [n, r] {
  %x = attn.input "x" : !attn.array<[n], f32>
  %w = attn.input "w" : !attn.array<[r], f32>
  %y = red.nest grid [n, r] row [] stream [] inner [] : !attn.array<[n, r], f32> {
    %n = attn.index n : !attn.array<[n], i64>
    %r = attn.index r : !attn.array<[r], i64>
    %at = attn.map (%a = %n : !attn.array<[n], i64>, %b = %r : !attn.array<[r], i64>) -> !attn.array<[n, r], i64> {
      %two = arith.constant 2 : i64
      %s = arith.addi %a, %b : i64
      %t = arith.subi %s, %two : i64
      attn.yield %t : i64
    }
    %0 = attn.read %x[%at] else 7.5 : (!attn.array<[n], f32>, !attn.array<[n, r], i64>) -> !attn.array<[n, r], f32>
    %1 = attn.read %w[r] : (!attn.array<[r], f32>) -> !attn.array<[r], f32>
    %2 = attn.map (%a = %0 : !attn.array<[n, r], f32>, %b = %1 : !attn.array<[r], f32>) -> !attn.array<[n, r], f32> {
      %p = arith.mulf %a, %b : f32
      attn.yield %p : f32
    }
    red.yield %2 : !attn.array<[n, r], f32>
  }
  attn.output "y" [r, n] %y as f32 : !attn.array<[n, r], f32>
})");
  HostTensor x(Type::F32, {50}), w(Type::F32, {5});
  x.randomise(1);
  w.randomise(2);
  program.tensors = {{"x", x}, {"w", w}, {"y", HostTensor(Type::F32, {5, 50}, 2)}};
  program.run();
  const HostTensor &y = program.tensors["y"];
  y.forEach([&](const auto &at) {
    int64_t n = at[1] + at[0] - 2;
    float value = n < 0 || n >= 50 ? 7.5f : static_cast<float>(x.get({n}));
    EXPECT_EQ(y.get(at), value * static_cast<float>(w.get({at[0]})));
  });
  EXPECT_TRUE(y.paddingUntouched());
}

TEST(CpuRead, ATableOfAnyContentsIsRead) {
  CpuProgram program(R"(
attn.program @gather dims [n, p, c] {
  %table = attn.input "table" : !attn.array<[n], i32>
  %x = attn.input "x" : !attn.array<[p, c], bf16>
  %y = red.nest grid [n, c] row [] stream [] inner [] : !attn.array<[n, c], f32> {
    %0 = attn.read %table[n] : (!attn.array<[n], i32>) -> !attn.array<[n], i64>
    %1 = attn.read %x[%0, c] else 0.0 : (!attn.array<[p, c], bf16>, !attn.array<[n], i64>) -> !attn.array<[n, c], f32>
    red.yield %1 : !attn.array<[n, c], f32>
  }
  attn.output "y" [n, c] %y as f32 : !attn.array<[n, c], f32>
})");
  HostTensor table(Type::I32, {40}), x(Type::BF16, {9, 70});
  x.randomise(1);
  table.fill([](const auto &at) { return (at[0] * 7) % 13 - 2.0; });
  program.tensors = {{"x", x}, {"table", table}, {"y", HostTensor(Type::F32, {40, 70})}};
  program.run();
  const HostTensor &y = program.tensors["y"];
  y.forEach([&](const auto &at) {
    int64_t p = static_cast<int64_t>(table.get({at[0]}));
    EXPECT_EQ(y.get(at), p < 0 || p >= 9 ? 0.0 : x.get({p, at[1]}));
  });
}

} // namespace
} // namespace attnc::cpu
