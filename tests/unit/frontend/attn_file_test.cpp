// Programs in the attn dialect itself.
#include "spec_fixture.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>

namespace attnc {
namespace {

using AttnFile = SpecFixture;

TEST_F(AttnFile, WhatIsPrintedIsAccepted) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(ATTNC_SPEC_DIR) + "/gqa.json");
  ASSERT_TRUE(buffer);
  std::optional<Spec> spec = parse((*buffer)->getBuffer().str());
  ASSERT_TRUE(spec) << rendered();
  std::string text = printed(*spec);
  std::optional<Spec> again = parseAttnFile(context, "gqa.mlir", text, diagnostics);
  ASSERT_TRUE(again) << rendered();
  EXPECT_EQ(again->name, "gqa");
  EXPECT_EQ(again->doc, spec->doc);
  EXPECT_EQ(opsOf<attn::RequireOp>(*again).size(), 1u);
}

TEST_F(AttnFile, ErrorsAreLocated) {
  EXPECT_FALSE(parseAttnFile(context, "p.mlir", "attn.program @p dims [i] {\n  attn.nothing\n}\n",
                             diagnostics));
  ASSERT_TRUE(diagnostics.hasErrors());
  EXPECT_EQ(diagnostics.all()[0].line, 2u);
  EXPECT_EQ(diagnostics.all()[0].column, 3u);
  EXPECT_NE(rendered().find("p.mlir:2:3: error:"), std::string::npos) << rendered();
}

TEST_F(AttnFile, OneProgramIsNeeded) {
  EXPECT_FALSE(parseAttnFile(context, "p.mlir", "", diagnostics));
  EXPECT_NE(rendered().find("0 attn.program ops"), std::string::npos) << rendered();
}

/// A program over i with input x and this `body`, which makes %o.
std::string textOf(const std::string &body) {
  return "attn.program @p dims [i] {\n"
         "  %x = attn.input \"x\" : <[i], f32>\n" +
         body + "  attn.output \"o\" [i] %o as f32 : <[i], f32>\n}\n";
}

const std::string readX =
    "  %o = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>\n";

TEST_F(AttnFile, AConstantDivisorOfZeroIsRefusedWithItsPlace) {
  for (const char *op : {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
                         "arith.floordivsi", "arith.ceildivsi", "attn.mod"}) {
    auto dividedBy = [&](const std::string &divisor) {
      diagnostics = Diagnostics();
      std::string body = "  %n = attn.index i : <[i], i64>\n"
                         "  %o = attn.map (%a = %n : !attn.array<[i], i64>) -> "
                         "!attn.array<[i], f32> {\n"
                         "    %c = arith.constant " +
                         divisor + " : i64\n    %q = " + op +
                         " %a, %c : i64\n    %f = arith.sitofp %q : i64 to f32\n"
                         "    attn.yield %f : f32\n  }\n";
      return parseAttnFile(context, "p.mlir", textOf(body), diagnostics).has_value();
    };
    EXPECT_TRUE(dividedBy("2")) << op << rendered();
    EXPECT_FALSE(dividedBy("0")) << op;
    EXPECT_NE(rendered().find("p.mlir:6:10: error: division by zero"), std::string::npos)
        << rendered();
  }
}

TEST_F(AttnFile, WhatACallerCouldNotNameIsRefused) {
  auto finding = [&](const std::string &body) {
    diagnostics = Diagnostics();
    EXPECT_FALSE(parseAttnFile(context, "p.mlir", textOf(body), diagnostics)) << body;
    return rendered();
  };
  using testing::HasSubstr;
  EXPECT_THAT(finding("  %y = attn.input \"x\" : <[i], f32>\n" + readX),
              HasSubstr("p.mlir:3:8: error: the name 'x' is declared twice"));
  EXPECT_THAT(finding("  %y = attn.input \"\" : <[i], f32>\n" + readX),
              HasSubstr("p.mlir:3:8: error: the name is empty"));
  EXPECT_THAT(
      finding("  %w = attn.param \"w\" {lower = 0x7FF8000000000000 : f64} -> <[], f32>\n" + readX),
      HasSubstr("p.mlir:3:8: error: a limit of the param 'w' is not finite"));
}

TEST_F(AttnFile, AnOutputIsNeeded) {
  EXPECT_FALSE(parseAttnFile(
      context, "p.mlir", "attn.program @p dims [i] {\n  %x = attn.input \"x\" : <[i], f32>\n}\n",
      diagnostics));
  EXPECT_NE(rendered().find("p.mlir:1:1: error: the program has no attn.output"), std::string::npos)
      << rendered();
}

} // namespace
} // namespace attnc
