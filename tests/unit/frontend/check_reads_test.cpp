// Reads of programs in the attn dialect, which no frontend has seen.
#include "spec_fixture.h"

namespace attnc {
namespace {

class CheckReads : public SpecFixture {
protected:
  /// Parses a program of dims i and j that reads x[i] by `body`.
  bool accepts(const std::string &body) {
    diagnostics = Diagnostics();
    std::string text = "attn.program @p dims [i, j] {\n"
                       "  %x = attn.input \"x\" : <[i], f32>\n"
                       "  %n = attn.input \"n\" : <[j], i64>\n"
                       "  %j = attn.index j : <[j], i64>\n" +
                       body + "}\n";
    return parseAttnFile(context, "p.mlir", text, diagnostics).has_value();
  }

  static std::string readAt(const std::string &subscript, const std::string &otherwise = "") {
    return "  %o = attn.read %x [" + subscript + "] " + otherwise +
           " : (!attn.array<[i], f32>, !attn.array<[j], i64>) -> !attn.array<[j], f32>\n"
           "  attn.output \"o\" [j] %o as f32 : <[j], f32>\n";
  }

  /// size(j) <= size(i), or another comparison.
  static std::string require(const std::string &predicate) {
    return "  %si = attn.size i : <[], i64>\n"
           "  %sj = attn.size j : <[], i64>\n"
           "  %c = attn.map (%a = %sj : !attn.array<[], i64>, %b = %si : !attn.array<[], i64>) -> "
           "!attn.array<[], i1> {\n    %r = arith.cmpi " +
           predicate +
           ", %a, %b : i64\n    attn.yield %r : i1\n  }\n"
           "  attn.require \"a fact\" %c : <[], i1>\n";
  }

  /// An i64 array over j that is computed from `operand` by these scalar ops on %a, with result %r.
  static std::string computed(const std::string &operand, const std::string &ops) {
    return "  %m = attn.map (%a = " + operand +
           " : !attn.array<[j], i64>) -> "
           "!attn.array<[j], i64> {\n" +
           ops + "    attn.yield %r : i64\n  }\n";
  }
};

TEST_F(CheckReads, WhatIsNotProvenIsRefusedWithItsPlace) {
  EXPECT_FALSE(accepts(readAt("%j")));
  ASSERT_EQ(diagnostics.errorCount(), 1u);
  EXPECT_EQ(diagnostics.all()[0].message,
            "cannot show that subscript 1 stays inside 'i': it may reach size(i) (its greatest "
            "value is size(j) - 1)");
  EXPECT_EQ(diagnostics.all()[0].line, 5u);
  EXPECT_EQ(diagnostics.all()[0].column, 8u);
  EXPECT_NE(diagnostics.all()[0].remedy.find("attn.require"), std::string::npos);
}

TEST_F(CheckReads, AFactThatIsCheckedOnBindingProvesThem) {
  EXPECT_TRUE(accepts(require("sle") + readAt("%j"))) << rendered();
  EXPECT_TRUE(accepts(require("eq") + readAt("%j"))) << rendered();
  EXPECT_TRUE(accepts(readAt("%j") + require("slt"))) << rendered();
  EXPECT_FALSE(accepts(require("sge") + readAt("%j")));
  EXPECT_FALSE(accepts(require("ule") + readAt("%j"))); // no rule for it, so no proof
}

TEST_F(CheckReads, AnElseValueNeedsNoProof) {
  EXPECT_TRUE(accepts(readAt("%j", "else 0.0"))) << rendered();
}

TEST_F(CheckReads, ADimOfAnotherLengthIsASubscriptToo) {
  std::string read = "  %o = attn.read %x [j] : (!attn.array<[i], f32>) -> !attn.array<[j], f32>\n"
                     "  attn.output \"o\" [j] %o as f32 : <[j], f32>\n";
  EXPECT_FALSE(accepts(read));
  EXPECT_NE(rendered().find("size(j) may be larger than size(i)"), std::string::npos) << rendered();
  EXPECT_TRUE(accepts(require("sle") + read)) << rendered();
}

TEST_F(CheckReads, WhatTensorsHoldIsNotKnown) {
  std::string data = "  %d = attn.read %n [j] : (!attn.array<[j], i64>) -> !attn.array<[j], i64>\n";
  EXPECT_FALSE(accepts(data + readAt("%d")));
  std::string clamp = "    %zero = arith.constant 0 : i64\n"
                      "    %r = arith.minsi %a, %zero : i64\n";
  EXPECT_FALSE(accepts(data + computed("%d", clamp) + readAt("%m")));
  std::string both = "    %zero = arith.constant 0 : i64\n"
                     "    %low = arith.minsi %a, %zero : i64\n"
                     "    %r = arith.maxsi %low, %zero : i64\n";
  EXPECT_TRUE(accepts(data + computed("%d", both) + readAt("%m"))) << rendered();
}

TEST_F(CheckReads, OperationsWithoutARuleProveNothing) {
  std::string shift = "    %one = arith.constant 1 : i64\n"
                      "    %r = arith.shrsi %a, %one : i64\n";
  EXPECT_FALSE(accepts(require("sle") + computed("%j", shift) + readAt("%m")));
  std::string half = "    %two = arith.constant 2 : i64\n"
                     "    %r = arith.floordivsi %a, %two : i64\n";
  EXPECT_TRUE(accepts(require("sle") + computed("%j", half) + readAt("%m"))) << rendered();
}

TEST_F(CheckReads, LongChainsAreFollowed) {
  std::string ops = "    %one = arith.constant 1 : i64\n    %v0 = arith.addi %a, %one : i64\n";
  for (int n = 0; n < 3000; ++n) {
    std::string from = "%v" + std::to_string(n), to = "%v" + std::to_string(n + 1);
    ops += "    " + to + " = arith." + (n % 2 ? "addi " : "subi ") + from + ", %one : i64\n";
  }
  ops += "    %r = arith.subi %v3000, %one : i64\n";
  EXPECT_TRUE(accepts(require("sle") + computed("%j", ops) + readAt("%m"))) << rendered();
}

} // namespace
} // namespace attnc
