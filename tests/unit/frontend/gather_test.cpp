// Subscripts that come from data: what is checked when the program runs, and what is not.
#include "dialects/Attn/Subscripts.h"
#include "spec_fixture.h"

namespace attnc {
namespace {

class Gathers : public SpecFixture {
protected:
  /// The read of x[n] or kp[p, t] in `o = expression`, with indices small[i] (i32), wide[i] (i64),
  /// and reals r[i].
  attn::ReadOp readIn(const std::string &expression, const std::string &more = "") {
    spec = parse(specOf("\"x\": \"f32[n]\", \"kp\": \"f32[p, t]\", \"small\": \"i32[i]\", "
                        "\"wide\": \"i64[i]\", \"r\": \"f32[i]\", \"c\": \"f32[j]\"",
                        "\"o = " + expression + " + 0 * x * kp * small * wide * r * c\"",
                        "\"o\": \"f32\"", more));
    if (!spec)
      return {};
    for (attn::ReadOp read : opsOf<attn::ReadOp>(*spec))
      if (!read.isPlain())
        return read;
    return {};
  }

  /// The texts of the subscripts that are checked, "" for the others.
  static std::vector<std::string> checkedIn(attn::ReadOp read) {
    std::vector<std::string> texts;
    if (auto checked = read->getAttrOfType<mlir::ArrayAttr>(attn::kCheckedAttr))
      for (auto text : checked.getAsRange<mlir::StringAttr>())
        texts.push_back(text.str());
    return texts;
  }

  /// Whether x is read at `subscript` without a check.
  bool isProven(const std::string &subscript, const std::string &more = "") {
    attn::ReadOp read = readIn("x[" + subscript + "]", more);
    EXPECT_TRUE(read) << rendered();
    return read && !read.getOtherwise() && checkedIn(read).empty();
  }

  std::optional<Spec> spec;
};

using Texts = std::vector<std::string>;

TEST_F(Gathers, ReadZeroOutsideUnlessElseSaysOtherwise) {
  attn::ReadOp read = readIn("x[small[i]]");
  ASSERT_TRUE(read) << rendered();
  ASSERT_TRUE(read.getOtherwise());
  EXPECT_TRUE(read.getOtherwise()->isZero());
  EXPECT_EQ(checkedIn(read), Texts{"small[i]"});

  read = readIn("x[small[i]] else -inf");
  ASSERT_TRUE(read) << rendered();
  EXPECT_TRUE(read.getOtherwise()->isInfinity());
}

TEST_F(Gathers, CheckTheAxesFromDataAlone) {
  attn::ReadOp read = readIn("kp[small[i], j % size(t)]");
  ASSERT_TRUE(read) << rendered();
  EXPECT_EQ(checkedIn(read), (Texts{"small[i]", ""}));

  EXPECT_FALSE(readIn("kp[small[i], j]"));
  EXPECT_NE(rendered().find("cannot show that the subscript `j` stays inside 't' of kp"),
            std::string::npos)
      << rendered();
  read = readIn("kp[small[i], j] else 0");
  ASSERT_TRUE(read) << rendered();
  EXPECT_EQ(checkedIn(read), (Texts{"small[i]", ""}));
}

TEST_F(Gathers, NeedNoCheckWhereArithmeticKeepsThemInside) {
  EXPECT_TRUE(isProven("small[i] % size(n)"));
  EXPECT_TRUE(isProven("wide[i] % size(n)"));
  EXPECT_TRUE(isProven("clamp(small[i], 0, size(n) - 1)"));
  EXPECT_TRUE(isProven("clamp(wide[i], 0, size(n) - 1)"));
  EXPECT_TRUE(isProven("where(small[i] > 3, 0, size(n) - 1)"));
  EXPECT_TRUE(isProven("minimum(abs(small[i]), size(n) - 1)"));
  EXPECT_TRUE(isProven("minimum(maximum(small[i], 0) * 4 + 1, size(n) - 1)"));
  EXPECT_TRUE(isProven("clamp(cast(r * 8, i32) + 3, 0, size(n) - 1)"));
  EXPECT_FALSE(isProven("maximum(small[i], 0)"));
  EXPECT_FALSE(isProven("minimum(small[i], size(n) - 1)"));
}

// With integers that have no end these would be inside; in 64 bits they may be anywhere.
TEST_F(Gathers, AreCheckedWhereTheProofWouldNeedMoreThan64Bits) {
  EXPECT_FALSE(isProven("minimum(abs(wide[i]), size(n) - 1)"));
  EXPECT_FALSE(isProven("minimum(maximum(wide[i], 0) * 4, size(n) - 1)"));
  EXPECT_FALSE(isProven("minimum(maximum(wide[i], 0) + 1, size(n) - 1)"));
  EXPECT_FALSE(isProven("minimum(maximum(cast(r, i64), 0) + 1, size(n) - 1)"));
  EXPECT_FALSE(isProven("minimum(small[i] * small[i] * small[i] * small[i], size(n) - 1)"));
}

TEST_F(Gathers, ThroughResultsOfTheBody) {
  spec = parse(specOf("\"x\": \"f32[n]\", \"wide\": \"i64[i]\"",
                      "\"twice[i] = maximum(wide, 0) * 2\", \"o = x[minimum(twice, size(n) - 1)]\"",
                      "\"o\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  attn::ReadOp gather;
  for (attn::ReadOp read : opsOf<attn::ReadOp>(*spec))
    if (!read.isPlain())
      gather = read;
  ASSERT_TRUE(gather);
  EXPECT_EQ(checkedIn(gather), Texts{"minimum(twice, size(n) - 1)"});
}

TEST_F(Gathers, OfAnIndexOfTheirOwn) {
  attn::ReadOp read = readIn("x[small[clamp(wide[i], 0, size(i) - 1)]]");
  ASSERT_TRUE(read) << rendered();
  EXPECT_FALSE(readIn("x[r]"));
  EXPECT_NE(rendered().find("a subscript is an integer"), std::string::npos) << rendered();
}

} // namespace
} // namespace attnc
