// Programs in the attn dialect itself.
#include "spec_fixture.h"
#include "llvm/Support/MemoryBuffer.h"

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

} // namespace
} // namespace attnc
