// rand: its numbers, and every mistake in a call. In the texts, @@ marks where the one error is.
#include "dialects/Attn/Random.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "spec_fixture.h"
#include <cmath>

namespace attnc {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that Random123 ships for philox4x32-10 (Salmon et al. 2011).
TEST(Philox, knownAnswers) {
  EXPECT_EQ(attn::philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(attn::philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      attn::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, isTheTopOfAWord) {
  const Words words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const int64_t columns[] = {0, 1, 8, 9};
  for (size_t n = 0; n < words.size(); ++n)
    EXPECT_EQ(attn::uniform(0, 0, 0, 0, columns[n]), std::ldexp(float(words[n] >> 8), -24));
  EXPECT_EQ(attn::uniform(0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e,
                          4 * int64_t(0x03707344) + 8),
            std::ldexp(float(0x5001e4), -24));
  EXPECT_EQ(attn::uniform(-1, -1, -1, -1, -1), std::ldexp(float(0x6d5451), -24));
}

// As documented, computed another way.
TEST(Uniform, blocksHaveColumnsOfFragments) {
  for (int64_t j = 0; j < 64; ++j) {
    Words block = attn::philox({1, 2, 3, uint32_t(j / 16 * 4 + j % 8 / 2)}, {7, 0});
    EXPECT_EQ(attn::uniform(7, 1, 2, 3, j),
              std::ldexp(float(block[j % 2 + 2 * (j / 8 % 2)] >> 8), -24))
        << j;
  }
}

TEST(Uniform, indicesWrapAsWords) {
  EXPECT_EQ(attn::uniform(7, 1, 2, 3, 4), attn::uniform(7, (1ll << 32) + 1, 2, 3, 4));
  EXPECT_EQ(attn::uniform(7, 1, 2, 3, 4), attn::uniform(7, 1, 2, 3, (1ll << 34) + 4));
  EXPECT_NE(attn::uniform(7, 1, 2, 3, 4), attn::uniform(7, 1, 2, 3, (1ll << 32) + 4));
}

// 2^20 numbers over all four words: mean, variance, correlation of neighbours and the share of each
// of 16 bins, each within 5 standard deviations of what uniform numbers give.
TEST(Uniform, momentsOfALargeSample) {
  constexpr int64_t count = 1 << 20, columns = 1 << 10;
  double sum = 0, squares = 0, neighbours = 0, last = 0;
  std::array<int64_t, 16> bins = {};
  for (int64_t n = 0; n < count; ++n) {
    double u = attn::uniform(42, 0, 1, n / columns, n % columns);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    double centred = u - 0.5;
    sum += centred;
    squares += centred * centred;
    neighbours += centred * last;
    last = centred;
    ++bins[static_cast<size_t>(u * 16)];
  }
  // Var(u) = 1/12, Var((u - 1/2)^2) = 1/80 - 1/144, Var(product of two) = 1/144.
  const double root = std::sqrt(double(count));
  EXPECT_LT(std::abs(sum), 5 * root * std::sqrt(1.0 / 12));
  EXPECT_LT(std::abs(squares - count / 12.0), 5 * root * std::sqrt(1.0 / 80 - 1.0 / 144));
  EXPECT_LT(std::abs(neighbours), 5 * root / 12);
  for (int64_t bin : bins)
    EXPECT_LT(std::abs(bin - count / 16.0), 5 * root * std::sqrt(15.0) / 16);
}

class Rand : public SpecFixture {
protected:
  static std::string with(const std::string &expression) {
    return specOf("\"x\": \"f32[b, i]\", \"n\": \"i32[i]\"", "\"o = " + expression + "\"",
                  "\"o\": \"f32\"", "\"params\": {\"seed\": \"i64\", \"keep\": \"f32\"}");
  }

  void expectError(const std::string &marked, std::vector<std::string> pieces) {
    std::string text = with(marked);
    size_t place = text.find("@@");
    ASSERT_NE(place, std::string::npos);
    text.erase(place, 2);
    EXPECT_FALSE(parse(text)) << text;
    EXPECT_EQ(diagnostics.errorCount(), 1u) << rendered();
    EXPECT_EQ(diagnostics.all()[0].column, place + 1) << rendered();
    for (const std::string &piece : pieces)
      EXPECT_NE(rendered().find(piece), std::string::npos) << piece << "\nnot in\n" << rendered();
  }

  attn::RandOp only(Spec &spec) {
    attn::RandOp found;
    spec.module->walk([&](attn::RandOp op) { found = op; });
    EXPECT_TRUE(found);
    return found;
  }
};

TEST_F(Rand, isAScalarOfTheMap) {
  std::optional<Spec> spec = parse(with("where(rand(seed, b, 0, i, n[i]) < keep, x, 0)"));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_TRUE(isa<attn::MapOp>(only(*spec)->getParentOp()));
  EXPECT_EQ(opsOf<attn::MapOp>(*spec).size(), 1u);
}

TEST_F(Rand, leadingIndicesAreZero) {
  std::optional<Spec> spec = parse(with("x + rand(seed, i)"));
  ASSERT_TRUE(spec) << rendered();
  attn::RandOp op = only(*spec);
  for (mlir::Value index : {op.getX(), op.getY(), op.getZ()}) {
    auto constant = index.getDefiningOp<mlir::arith::ConstantOp>();
    ASSERT_TRUE(constant);
    EXPECT_EQ(cast<mlir::IntegerAttr>(constant.getValue()).getInt(), 0);
  }
  EXPECT_TRUE(isa<mlir::BlockArgument>(op.getColumn()));
}

TEST_F(Rand, ofConstantsIsAConstant) {
  std::optional<Spec> spec = parse(with("x * rand(0, 0, 0, 0, 1)"));
  ASSERT_TRUE(spec) << rendered();
  double found = -1;
  spec->module->walk([&](mlir::arith::ConstantOp op) {
    if (auto value = dyn_cast<mlir::FloatAttr>(op.getValue()))
      found = value.getValueAsDouble();
  });
  EXPECT_EQ(found, std::ldexp(double(0xe169c5), -24));
}

TEST_F(Rand, numberOfArguments) {
  expectError("x + @@rand()", {"a seed and 1 to 4 indices, here are 0", "rand(seed, b, h, i, j)"});
  expectError("x + @@rand(seed)", {"here is 1 argument", "\"seed\": \"i64\""});
  expectError("x + @@rand(seed, b, b, b, i, i)", {"here are 6 arguments", "join indices"});
}

TEST_F(Rand, typesOfArguments) {
  expectError("x + rand(@@keep, i)", {"the seed of rand is an integer, this is a real number"});
  expectError("x + rand(seed, @@x, i)", {"an index of rand is an integer, this is a real number"});
  expectError("x + rand(seed, b @@< i, i)", {"this is a condition"});
}

TEST_F(Rand, seedsThatVary) {
  expectError("x + rand(seed @@+ b, i)",
              {"the seed of rand depends on the dim 'b'", "rand(seed, b, ...)"});
}

TEST_F(Rand, belongsIntoTheBody) {
  EXPECT_FALSE(parse(specOf("\"x\": \"f32[b, i]\"", "\"o = x * g\"", "\"o\": \"f32\"",
                            "\"let\": {\"g\": \"rand(0, 1)\"}")));
  EXPECT_NE(rendered().find("rand belongs into the body"), std::string::npos) << rendered();
}

} // namespace
} // namespace attnc
