// Which subscripts are proven to stay inside, and which are not.
#include "compiler/frontend/bounds/check_reads.h"
#include "spec_fixture.h"

namespace attnc {
namespace {

class Bounds : public SpecFixture {
protected:
  /// Parses `o = x[subscript]` for a one-dimensional x over n; q has the dims b, h, i, m, r.
  bool proves(const std::string &subscript, const std::string &more = "") {
    std::string inputs = "\"x\": \"f32[n]\", \"q\": \"f32[b, h, i, m, r]\"";
    bool accepted =
        parse(specOf(inputs, "\"o = x[" + subscript + "] + 0 * q\"", "\"o\": \"f32\"", more))
            .has_value();
    if (!accepted)
      EXPECT_NE(rendered().find("cannot show that the subscript"), std::string::npos) << rendered();
    EXPECT_EQ(provesInDialect(inputs, subscript, more), accepted) << subscript;
    return accepted;
  }

  /// The same proof for the program in the attn dialect, whose reads lost their `else`.
  bool provesInDialect(const std::string &inputs, const std::string &subscript,
                       const std::string &more) {
    std::optional<Spec> spec = parse(
        specOf(inputs, "\"o = (x[" + subscript + "] else 0) + 0 * q\"", "\"o\": \"f32\"", more));
    if (!spec) {
      ADD_FAILURE() << rendered();
      return false;
    }
    for (attn::ReadOp read : opsOf<attn::ReadOp>(*spec))
      read.removeOtherwiseAttr();
    return unprovenReads(programOf(*spec)).empty();
  }
  static std::string require(const std::string &fact) { return "\"require\": [\"" + fact + "\"]"; }
};

TEST_F(Bounds, PlainDims) {
  EXPECT_TRUE(proves("n"));
  EXPECT_FALSE(proves("i"));
  EXPECT_TRUE(proves("i", require("size(i) <= size(n)")));
  EXPECT_TRUE(proves("i", require("size(i) < size(n)")));
  EXPECT_TRUE(proves("i", require("size(n) == size(i)")));
  EXPECT_TRUE(proves("i", require("size(i) <= size(h) and size(h) <= size(n)")));
  EXPECT_FALSE(proves("i", require("size(n) <= size(i)")));
  EXPECT_FALSE(proves("i", require("size(i) <= size(n) or size(h) == 1")));
  EXPECT_FALSE(proves("i", require("size(i) != size(n)")));
}

TEST_F(Bounds, Constants) {
  EXPECT_TRUE(proves("0"));
  EXPECT_FALSE(proves("1"));
  EXPECT_FALSE(proves("-1"));
  EXPECT_TRUE(proves("3", require("size(n) >= 4")));
  EXPECT_TRUE(proves("3", "\"dims\": {\"n\": 4}"));
  EXPECT_FALSE(proves("4", "\"dims\": {\"n\": 4}"));
}

TEST_F(Bounds, GroupedHeads) {
  std::string group = "\"let\": {\"g\": \"size(h) // size(n)\"}";
  EXPECT_TRUE(proves("h // g", group + ", " + require("size(h) % size(n) == 0")));
  EXPECT_TRUE(proves("h // g", group + ", " + require("size(h) == g * size(n)")));
  EXPECT_FALSE(proves("h // g", group));
  EXPECT_FALSE(proves("h // g", group + ", " + require("size(n) % size(h) == 0")));
  EXPECT_FALSE(proves("h", group + ", " + require("size(h) % size(n) == 0")));
  EXPECT_TRUE(proves("h // 4", "\"dims\": {\"h\": 16, \"n\": 4}"));
  EXPECT_TRUE(proves("h // 4", "\"dims\": {\"h\": 13, \"n\": 4}"));
  EXPECT_FALSE(proves("h // 3", "\"dims\": {\"h\": 13, \"n\": 4}"));
}

TEST_F(Bounds, QuotientsByAnInequalityOfWhatIsDivided) {
  for (const char *fact :
       {"size(i) <= 64 * size(n)", "size(n) * 64 >= size(i)", "size(i) - 1 < 64 * size(n)",
        "(size(i) + 63) // 64 <= size(n)", "size(n) >= (size(i) + 63) // 64",
        "size(n) > (size(i) - 1) // 64", "size(i) // 64 < size(n)", "-(-size(i) // 64) <= size(n)",
        "size(n) == (size(i) + 63) // 64", "maximum(size(i), size(h)) <= 64 * size(n)",
        "size(i) + size(h) <= 64 * size(n)"}) {
    EXPECT_TRUE(proves("i // 64", require(fact))) << fact;
    EXPECT_TRUE(proves("size(n) - 1 - i // 64", require(fact))) << fact;
  }
  for (const char *fact :
       {"size(i) <= 64 * size(n) + 1", "size(i) // 64 <= size(n)", "size(i) <= 65 * size(n)",
        "-size(i) // 64 <= size(n)", "(size(i) - 1) // 64 <= size(n)",
        "(size(i) + 62) // 64 <= size(n)", "minimum(size(i), size(h)) <= 64 * size(n)"})
    EXPECT_FALSE(proves("i // 64", require(fact))) << fact;
  EXPECT_TRUE(proves("i // size(m)", require("size(i) <= size(m) * size(n)")));
  EXPECT_TRUE(proves("i // 64 + 1", require("size(i) <= 64 * size(n) - 64")));
  EXPECT_FALSE(proves("i // 64 + 1", require("size(i) <= 64 * size(n) - 63")));
  EXPECT_TRUE(proves("(i + 1) // 64", require("size(i) < 64 * size(n)")));
  EXPECT_FALSE(proves("(i + 1) // 64", require("size(i) <= 64 * size(n)")));
  EXPECT_TRUE(proves("2 * i // 128", require("size(i) <= 64 * size(n)")));
  EXPECT_TRUE(proves("i // 8 // 8", require("size(i) <= 64 * size(n)")));
  EXPECT_FALSE(proves("i // 8 // 7", require("size(i) <= 64 * size(n)")));
}

TEST_F(Bounds, AbsoluteValues) {
  EXPECT_TRUE(proves("abs(i - 3)", require("size(n) >= size(i) + 4")));
  EXPECT_TRUE(proves("abs(i - h)", require("size(i) + size(h) <= size(n)")));
  EXPECT_FALSE(proves("abs(i - 3)", require("size(n) >= size(i)")));
  EXPECT_FALSE(proves("abs(i - h)", require("size(i) <= size(n)")));
}

TEST_F(Bounds, AProposedRequirementSuffices) {
  for (const char *subscript : {"i", "7", "i // 64", "i // size(m)", "h // (size(h) // size(n))",
                                "m * size(r) + r", "(i + h) // 4", "i // 64 + 1", "i // 8 // 8"}) {
    EXPECT_FALSE(proves(subscript)) << subscript;
    parse(specOf("\"x\": \"f32[n]\", \"q\": \"f32[b, h, i, m, r]\"",
                 "\"o = x[" + std::string(subscript) + "] + 0 * q\"", "\"o\": \"f32\""));
    std::string remedy = diagnostics.all().front().remedy, begin = "`require`: \"";
    size_t at = remedy.find(begin);
    ASSERT_NE(at, std::string::npos) << subscript << ": " << remedy;
    std::string fact = remedy.substr(at + begin.size());
    EXPECT_TRUE(proves(subscript, require(fact.substr(0, fact.find('"'))))) << fact;
  }
}

TEST_F(Bounds, Segments) {
  std::string length = "\"let\": {\"L\": \"size(r)\"}";
  EXPECT_TRUE(proves("m * L + r", length + ", " + require("size(n) == size(m) * L")));
  EXPECT_TRUE(proves("m * L + r", length + ", " + require("size(m) * L <= size(n)")));
  EXPECT_FALSE(proves("m * L + r", length));
  EXPECT_FALSE(proves("m * L + r + 1", length + ", " + require("size(n) == size(m) * L")));
  EXPECT_TRUE(proves("r * size(m) + m", require("size(n) == size(m) * size(r)")));
}

TEST_F(Bounds, AffineFormsOfStaticExtents) {
  std::string dims = "\"dims\": {\"i\": 10, \"n\": 21}";
  EXPECT_TRUE(proves("2 * i + 2", dims));
  EXPECT_FALSE(proves("2 * i + 3", dims));
  EXPECT_TRUE(proves("20 - 2 * i", dims));
  EXPECT_FALSE(proves("17 - 2 * i", dims));
  EXPECT_TRUE(proves("i * i // 4", dims));
}

TEST_F(Bounds, Modulus) {
  EXPECT_TRUE(proves("i % size(n)"));
  EXPECT_TRUE(proves("(i - 7) % size(n)"));
  EXPECT_FALSE(proves("i % (size(n) + 1)"));
  EXPECT_TRUE(proves("i % (h + 1)", require("size(n) >= size(h)")));
  EXPECT_TRUE(proves("i % (h + 1)", require("size(n) >= size(i)")));
  EXPECT_FALSE(proves("i % (h + 1)"));
}

TEST_F(Bounds, ClampedSubscripts) {
  EXPECT_TRUE(proves("clamp(i - 3, 0, size(n) - 1)"));
  EXPECT_TRUE(proves("minimum(i, size(n) - 1)"));
  EXPECT_TRUE(proves("maximum(n - 1, 0)"));
  EXPECT_FALSE(proves("maximum(i - 1, 0)"));
  EXPECT_TRUE(proves("where(i < 3, n, 0)"));
  EXPECT_FALSE(proves("where(i < 3, n, i)"));
  EXPECT_TRUE(proves("abs(n)"));
}

TEST_F(Bounds, ParamsInTheirRange) {
  EXPECT_TRUE(proves("c", "\"params\": {\"c\": \"i64 >= 0 <= 3\"}, " + require("size(n) >= 4")));
  EXPECT_FALSE(proves("c", "\"params\": {\"c\": \"i64 >= 0 <= 4\"}, " + require("size(n) >= 4")));
  EXPECT_TRUE(proves("c", "\"params\": {\"c\": \"i64 > -1 < 4\"}, " + require("size(n) >= 4")));
  EXPECT_FALSE(proves("c", "\"params\": {\"c\": \"i64 <= 3\"}, " + require("size(n) >= 4")));
}

TEST_F(Bounds, WrapAroundIsNotProven) {
  // In 64 bits, i * 2**62 * 4 // 2**64 is not i.
  EXPECT_FALSE(proves("n * 4611686018427387904 // 4611686018427387904"));
}

TEST_F(Bounds, ThroughResultsOfTheBody) {
  std::string inputs = "\"x\": \"f32[n]\"";
  EXPECT_TRUE(parse(specOf(inputs, "\"t = n // 2\", \"o = x[t]\"", "\"o\": \"f32\"")))
      << rendered();
  EXPECT_FALSE(parse(specOf(inputs, "\"t = n + 2\", \"o = x[t]\"", "\"o\": \"f32\"")));
}

TEST_F(Bounds, ElseIsKeptOnlyWhereItIsNeeded) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f32[n]\"", "\"o = x[n - 3] else -inf\", \"u = x[n // 2] else 7\"",
                   "\"o\": \"f32\", \"u\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  auto reads = opsOf<attn::ReadOp>(*spec);
  ASSERT_EQ(reads.size(), 2u);
  ASSERT_TRUE(reads[0].getOtherwise());
  EXPECT_TRUE(reads[0].getOtherwise()->isInfinity() && reads[0].getOtherwise()->isNegative());
  EXPECT_FALSE(reads[1].getOtherwise());
}

TEST_F(Bounds, ManySizesEndQuickly) {
  // Facts that do not help: the proof gives up within its budget.
  std::string inputs = "\"x\": \"f32[n]\"", facts, body;
  for (int i = 0; i < 40; ++i) {
    std::string d = "d" + std::to_string(i);
    inputs += ", \"x" + d + "\": \"f32[" + d + "]\"";
    facts += (i ? ", " : "") + ("\"size(" + d + ") * size(n) >= 3 * size(" + d + ") + 1\"");
    for (int k = 0; k < 20; ++k)
      body += (body.empty() ? "" : ", ") + ("\"y = x[" + d + " * " + std::to_string(k) + " + n]\"");
  }
  EXPECT_FALSE(parse(specOf(inputs, body, "\"y\": \"f32\"", "\"require\": [" + facts + "]")));
  EXPECT_GT(diagnostics.errorCount(), 700u);
}

} // namespace
} // namespace attnc
