// The reverse mode's derivatives of scalar ops.
#include "gradient_check.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace attnc::evaluator {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// r[i] = %r, which `body` defines from %x and %y.
std::string mapText(const std::string &body) {
  return R"(
attn.program @p dims [i] {
  %a = attn.input "x" : !attn.array<[i], f32>
  %b = attn.input "y" : !attn.array<[i], f32>
  %0 = attn.read %a[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %1 = attn.read %b[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %2 = attn.map (%x = %0 : !attn.array<[i], f32>, %y = %1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    )" + body +
         R"(
    attn.yield %r : f32
  }
  attn.output "r" [i] %2 as f32 : !attn.array<[i], f32>
})";
}

std::string binary(const std::string &op) { return mapText("%r = " + op + " %x, %y : f32"); }
std::string unary(const std::string &op) { return mapText("%r = " + op + " %x : f32"); }

struct Slopes {
  double x, y;
};

/// The gradients at one point under the adjoint `g`.
Slopes slopesAt(const std::string &text, double x, double y, double g = 1) {
  Program program(text);
  EvalInputs inputs = given({{"x", reals({1}, {x})}, {"y", reals({1}, {y})}});
  Gradients gradients = gradientsOf(program.op(), inputs, {{"r", reals({1}, {g})}}, {"x", "y"});
  return {gradients.at("x").value[0], gradients.at("y").value[0]};
}

void expectSlopes(const Slopes &actual, double x, double y) {
  for (auto [is, expected] : {std::pair(actual.x, x), std::pair(actual.y, y)})
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(is)) << is;
    else
      EXPECT_DOUBLE_EQ(is, expected);
}

TEST(ReverseScalars, SumsAndProducts) {
  expectSlopes(slopesAt(binary("arith.addf"), 2, 3, 5), 5, 5);
  expectSlopes(slopesAt(binary("arith.subf"), 2, 3, 5), 5, -5);
  expectSlopes(slopesAt(binary("attn.sub"), 2, 3, 5), 5, -5);
  expectSlopes(slopesAt(binary("arith.mulf"), 2, 3, 5), 15, 10);
  expectSlopes(slopesAt(binary("arith.divf"), 2, 4, 5), 1.25, -0.625);
  expectSlopes(slopesAt(unary("arith.negf"), 2, 0, 5), -5, 0);
}

// -inf absorbs what is subtracted from it; the slope is that of a difference nonetheless.
TEST(ReverseScalars, DifferenceFromMinusInfinityIsADifference) {
  expectSlopes(slopesAt(binary("attn.sub"), -kInf, -kInf, 5), 5, -5);
}

TEST(ReverseScalars, ZeroAbsorbsInfiniteAndNaNSlopes) {
  expectSlopes(slopesAt(binary("arith.mulf"), kInf, kNaN, 0), 0, 0);
  expectSlopes(slopesAt(binary("arith.divf"), 0, 0, 0), 0, 0);
  expectSlopes(slopesAt(unary("math.sqrt"), 0, 0, 0), 0, 0);
  expectSlopes(slopesAt(unary("math.log"), 0, 0, 0), 0, 0);
  expectSlopes(slopesAt(unary("math.rsqrt"), -1, 0, 0), 0, 0);
  expectSlopes(slopesAt(binary("math.powf"), 0, -1, 0), 0, 0);
  // The side of a choice that is not taken has the adjoint 0.
  expectSlopes(slopesAt(mapText(R"(
    %s = math.sqrt %x : f32
    %c = arith.cmpf ogt, %x, %y : f32
    %r = arith.select %c, %s, %y : f32)"),
                        0, 0, 5),
               0, 5);
}

TEST(ReverseScalars, NothingElseIsGuarded) {
  expectSlopes(slopesAt(unary("math.sqrt"), 0, 0, 5), kInf, 0);
  expectSlopes(slopesAt(unary("math.log"), 0, 0, 5), kInf, 0);
  expectSlopes(slopesAt(binary("arith.mulf"), 0, kInf, 5), kInf, 0);
  expectSlopes(slopesAt(binary("arith.mulf"), 0, 1, kInf), kInf, kNaN);
  expectSlopes(slopesAt(binary("arith.divf"), 1, 0, 5), kInf, -kInf);
}

TEST(ReverseScalars, ExtremaGiveToTheResult) {
  expectSlopes(slopesAt(binary("arith.maximumf"), 2, 3, 5), 0, 5);
  expectSlopes(slopesAt(binary("arith.maximumf"), 3, 2, 5), 5, 0);
  expectSlopes(slopesAt(binary("arith.minimumf"), 2, 3, 5), 5, 0);
  expectSlopes(slopesAt(binary("arith.minimumf"), 3, 2, 5), 0, 5);
  expectSlopes(slopesAt(binary("arith.maximumf"), -kInf, 2, 5), 0, 5);
}

TEST(ReverseScalars, TiesAreSharedOrGoToTheOperandThatIsNamed) {
  for (const std::string op : {"arith.maximumf", "arith.minimumf"}) {
    expectSlopes(slopesAt(binary(op), 3, 3, 5), 2.5, 2.5);
    expectSlopes(slopesAt(binary(op), -0.0, 0.0, 5), 2.5, 2.5);
    expectSlopes(slopesAt(mapText("%r = " + op + " %x, %y {attn.tie = 0} : f32"), 3, 3, 5), 5, 0);
    expectSlopes(slopesAt(mapText("%r = " + op + " %x, %y {attn.tie = 1} : f32"), 3, 3, 5), 0, 5);
  }
  // Beside the tie the attribute says nothing.
  expectSlopes(slopesAt(mapText("%r = arith.maximumf %x, %y {attn.tie = 1} : f32"), 4, 3, 5), 5, 0);
}

// As PyTorch does: neither is less than the other.
TEST(ReverseScalars, ExtremaOfNaNGiveToBoth) {
  expectSlopes(slopesAt(binary("arith.maximumf"), kNaN, 3, 5), 5, 5);
  expectSlopes(slopesAt(binary("arith.minimumf"), 3, kNaN, 5), 5, 5);
}

TEST(ReverseScalars, MagnitudeHasSlopeZeroAtZero) {
  expectSlopes(slopesAt(unary("math.absf"), 0, 0, 5), 0, 0);
  expectSlopes(slopesAt(unary("math.absf"), -0.0, 0, 5), 0, 0);
  expectSlopes(slopesAt(unary("math.absf"), -2, 0, 5), -5, 0);
  expectSlopes(slopesAt(unary("math.absf"), 2, 0, 5), 5, 0);
}

TEST(ReverseScalars, Functions) {
  const double e = std::numbers::e, ln2 = std::numbers::ln2;
  expectSlopes(slopesAt(unary("math.exp"), 1, 0, 3), 3 * e, 0);
  expectSlopes(slopesAt(unary("math.exp2"), 3, 0, 3), 24 * ln2, 0);
  expectSlopes(slopesAt(unary("math.log"), 4, 0, 3), 0.75, 0);
  expectSlopes(slopesAt(unary("math.log2"), 4, 0, 3), 0.75 / ln2, 0);
  expectSlopes(slopesAt(unary("math.sqrt"), 16, 0, 3), 0.375, 0);
  expectSlopes(slopesAt(unary("math.rsqrt"), 4, 0, 3), -3. / 16, 0);
  expectSlopes(slopesAt(unary("math.tanh"), 0, 0, 3), 3, 0);
  expectSlopes(slopesAt(unary("math.tanh"), kInf, 0, 3), 0, 0);
  expectSlopes(slopesAt(unary("math.erf"), 0, 0, 3), 6 / std::sqrt(std::numbers::pi), 0);
  expectSlopes(slopesAt(unary("math.exp"), -kInf, 0, 3), 0, 0);
}

// 1 - tanh^2 would have lost nine digits.
TEST(ReverseScalars, TanhIsAccurateFarFromZero) {
  double t = std::exp(-20.0);
  expectSlopes(slopesAt(unary("math.tanh"), 10, 0), 4 * t / ((1 + t) * (1 + t)), 0);
}

TEST(ReverseScalars, Powers) {
  const std::string power = binary("math.powf");
  expectSlopes(slopesAt(power, 3, 2, 5), 30, 45 * std::log(3.0));
  expectSlopes(slopesAt(power, 0, 2, 5), 0, 0);
  expectSlopes(slopesAt(power, 0, 1, 5), 5, 0);
  expectSlopes(slopesAt(power, 0, 0, 5), 0, 0);
  expectSlopes(slopesAt(power, 0, -1, 5), -kInf, -kInf);
  expectSlopes(slopesAt(power, 3, 0, 5), 0, 5 * std::log(3.0));
  expectSlopes(slopesAt(power, kNaN, 0, 5), 0, kNaN);
  expectSlopes(slopesAt(power, 0, 0.5, 5), kInf, 0);
  expectSlopes(slopesAt(power, -2, 3, 5), 60, kNaN);
}

TEST(ReverseScalars, ChoicesGiveToTheSideThatIsTaken) {
  const std::string text = mapText(R"(
    %c = arith.cmpf ogt, %x, %y : f32
    %r = arith.select %c, %x, %y : f32)");
  expectSlopes(slopesAt(text, 3, 2, 5), 5, 0);
  expectSlopes(slopesAt(text, 2, 3, 5), 0, 5);
  expectSlopes(slopesAt(text, 2, 2, 5), 0, 5);
}

TEST(ReverseScalars, ConversionsBetweenFloatsPass) {
  for (const char *there : {"%n = arith.truncf %x : f32 to f16\n%r = arith.extf %n : f16 to f32",
                            "%n = arith.truncf %x : f32 to bf16\n%r = arith.extf %n : bf16 to f32",
                            "%n = arith.extf %x : f32 to f64\n%r = arith.truncf %n : f64 to f32"})
    expectSlopes(slopesAt(mapText(there), 0.3, 0, 5), 5, 0);
}

TEST(ReverseScalars, NothingPassesThroughStepsAndIntegers) {
  expectSlopes(slopesAt(unary("math.floor"), 2.5, 0, 5), 0, 0);
  expectSlopes(slopesAt(unary("math.ceil"), 2.5, 0, 5), 0, 0);
  expectSlopes(slopesAt(mapText("%n = arith.fptosi %x : f32 to i64\n"
                                "%r = arith.sitofp %n : i64 to f32"),
                        2.5, 0, 5),
               0, 0);
  expectSlopes(slopesAt(mapText("%c = arith.cmpf olt, %x, %y : f32\n"
                                "%r = arith.uitofp %c : i1 to f32"),
                        2, 3, 5),
               0, 0);
  // x - y * floor(x / y)
  expectSlopes(slopesAt(mapText("%q = arith.divf %x, %y : f32\n"
                                "%f = math.floor %q : f32\n"
                                "%m = arith.mulf %y, %f : f32\n"
                                "%r = attn.sub %x, %m : f32"),
                        7, 2, 5),
               5, -15);
}

TEST(ReverseScalars, AValueThatIsUsedTwiceGetsBothShares) {
  expectSlopes(slopesAt(mapText("%r = arith.mulf %x, %x : f32"), 3, 0, 5), 30, 0);
  expectSlopes(slopesAt(mapText("%m = arith.mulf %x, %y : f32\n"
                                "%r = arith.addf %m, %x : f32"),
                        3, 4, 5),
               25, 15);
}

TEST(ReverseScalars, AResultThatIsAnOperandPassesEverything) {
  EXPECT_DOUBLE_EQ(slopesAt(mapText("%r = arith.addf %x, %y : f32\n"), 3, 4, 5).x, 5);
}

struct SmoothOp {
  const char *name, *op;
  bool isBinary;
  double low, high; // where it is smooth
};

void PrintTo(const SmoothOp &op, std::ostream *os) { *os << op.name; }

class SmoothScalars : public testing::TestWithParam<SmoothOp> {};

TEST_P(SmoothScalars, AgreeWithDifferences) {
  const SmoothOp &op = GetParam();
  std::vector<double> x, y;
  for (int i = 0; i < 9; ++i) {
    x.push_back(op.low + (op.high - op.low) * (i + 0.3) / 9);
    y.push_back(op.low + (op.high - op.low) * (8 - i + 0.6) / 9);
  }
  Program program(op.isBinary ? binary(op.op) : unary(op.op));
  expectDifferences(program.op(), given({{"x", reals({9}, x)}, {"y", reals({9}, y)}}));
}

INSTANTIATE_TEST_SUITE_P(Ops, SmoothScalars,
                         testing::Values(SmoothOp{"add", "arith.addf", true, -2, 2},
                                         SmoothOp{"subtract", "arith.subf", true, -2, 2},
                                         SmoothOp{"difference", "attn.sub", true, -2, 2},
                                         SmoothOp{"multiply", "arith.mulf", true, -2, 2},
                                         SmoothOp{"divide", "arith.divf", true, 0.5, 3},
                                         SmoothOp{"power", "math.powf", true, 0.5, 3},
                                         SmoothOp{"maximum", "arith.maximumf", true, -2, 2},
                                         SmoothOp{"minimum", "arith.minimumf", true, -2, 2},
                                         SmoothOp{"negate", "arith.negf", false, -2, 2},
                                         SmoothOp{"absolute", "math.absf", false, -2, 2},
                                         SmoothOp{"exp", "math.exp", false, -3, 2},
                                         SmoothOp{"exp2", "math.exp2", false, -3, 2},
                                         SmoothOp{"log", "math.log", false, 0.2, 4},
                                         SmoothOp{"log2", "math.log2", false, 0.2, 4},
                                         SmoothOp{"sqrt", "math.sqrt", false, 0.2, 4},
                                         SmoothOp{"rsqrt", "math.rsqrt", false, 0.2, 4},
                                         SmoothOp{"tanh", "math.tanh", false, -3, 3},
                                         SmoothOp{"erf", "math.erf", false, -3, 3}),
                         [](const auto &info) { return info.param.name; });

TEST(ReverseScalars, AnOpWithoutARuleIsAnError) {
  Program program(unary("math.sin"));
  EvalInputs inputs = given({{"x", reals({1}, {1})}, {"y", reals({1}, {1})}});
  EXPECT_TRUE(llvm::StringRef(refusalOf(program.op(), inputs, {{"r", reals({1}, {1})}}, {"x"}))
                  .ends_with("-:8:10: the reverse mode has no rule for math.sin"));
  EXPECT_EQ(refusalOf(program.op(), inputs, {{"r", reals({1}, {1})}}, {"y"}), "differentiated")
      << "what is wanted does not reach it";
}

} // namespace
} // namespace attnc::evaluator
