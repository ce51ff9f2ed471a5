// Polynomials and the theory of sizes.
#include "compiler/frontend/bounds/size_facts.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

Polynomial times(const Polynomial &a, const Polynomial &b) { return *Polynomial::multiply(a, b); }
Polynomial plus(const Polynomial &a, const Polynomial &b) { return *Polynomial::add(a, b); }
Polynomial number(int64_t n) { return Polynomial(n); }

TEST(Polynomial, Arithmetic) {
  Polynomial x = Polynomial::atom(0), y = Polynomial::atom(1);
  Polynomial square = times(plus(x, y), plus(x, y));
  EXPECT_EQ(square, plus(plus(times(x, x), times(number(2), times(x, y))), times(y, y)));
  EXPECT_TRUE(Polynomial::subtract(square, square)->isZero());
  EXPECT_EQ(*square.substitute(0, number(3)),
            plus(plus(number(9), times(number(6), y)), times(y, y)));
  auto name = [](Atom a) { return std::string(1, static_cast<char>('x' + a)); };
  EXPECT_EQ(plus(times(number(-2), times(x, y)), plus(x, number(-7))).print(name),
            "-2*x*y + x - 7");
}

TEST(Polynomial, DivisionLeavesTheRest) {
  Polynomial x = Polynomial::atom(0), y = Polynomial::atom(1);
  auto division = plus(times(number(6), times(x, y)), plus(times(number(3), y), number(5)))
                      .divide(times(number(3), y));
  ASSERT_TRUE(division);
  EXPECT_EQ(division->quotient, plus(times(number(2), x), number(1)));
  EXPECT_EQ(division->rest, number(5));
}

TEST(Polynomial, RefusesWhatWouldGrow) {
  Polynomial big = number(Polynomial::maxCoefficient);
  EXPECT_FALSE(Polynomial::multiply(big, number(2)));
  EXPECT_FALSE(Polynomial::add(big, number(1)));
  Polynomial power = Polynomial::atom(0);
  for (size_t i = 1; i < Polynomial::maxDegree; ++i)
    power = times(power, Polynomial::atom(0));
  EXPECT_FALSE(Polynomial::multiply(power, Polynomial::atom(0)));
}

class Facts : public ::testing::Test {
protected:
  Polynomial size(const char *dim) { return facts.size(dim, std::nullopt); }
  SizeFacts facts;
};

TEST_F(Facts, SizesArePositive) {
  EXPECT_TRUE(facts.provesAtMost(number(1), size("i")));
  EXPECT_FALSE(facts.provesAtMost(number(2), size("i")));
  EXPECT_FALSE(facts.provesAtMost(size("i"), size("j")));
  EXPECT_TRUE(facts.provesAtMost(size("i"), times(size("i"), size("j"))));
  EXPECT_EQ(facts.size("d", 64), number(64));
}

TEST_F(Facts, InequalitiesChain) {
  facts.assumeNotNegative(*Polynomial::subtract(size("j"), size("i")));
  EXPECT_TRUE(facts.provesAtMost(size("i"), size("j")));
  EXPECT_FALSE(facts.provesAtMost(size("j"), size("i")));
  facts.assumeNotNegative(*Polynomial::subtract(size("n"), size("j")));
  EXPECT_TRUE(facts.provesAtMost(size("i"), size("n")));
}

TEST_F(Facts, EqualitiesAreSolved) {
  facts.assumeEqual(size("i"), times(size("m"), size("r")));
  EXPECT_TRUE(facts.provesAtMost(size("i"), times(size("m"), size("r"))));
  EXPECT_TRUE(facts.provesAtMost(times(size("m"), size("r")), size("i")));
  facts.assumeEqual(size("m"), number(4));
  EXPECT_TRUE(facts.provesAtMost(times(number(4), size("r")), size("i")));
}

TEST_F(Facts, QuotientsOfDivisibleSizesAreExact) {
  auto before = facts.quotient(size("h"), size("k"));
  ASSERT_TRUE(before);
  EXPECT_FALSE(facts.provesAtMost(number(1), *before));
  EXPECT_TRUE(facts.provesAtMost(times(*before, size("k")), size("h")));
  facts.assumeDivides(size("h"), size("k"));
  auto ratio = facts.quotient(size("h"), size("k"));
  ASSERT_TRUE(ratio);
  EXPECT_TRUE(facts.provesAtMost(number(1), *ratio));
  EXPECT_TRUE(facts.provesAtMost(size("h"), times(*ratio, size("k"))));
}

TEST_F(Facts, NoQuotientByWhatMayBeZero) {
  auto difference = *Polynomial::subtract(size("i"), size("j"));
  EXPECT_FALSE(facts.quotient(size("h"), difference));
}

} // namespace
} // namespace attnc
