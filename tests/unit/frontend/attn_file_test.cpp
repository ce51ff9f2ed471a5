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

TEST_F(AttnFile, PlacesInAnotherFileAreNamedAsSuch) {
  EXPECT_FALSE(parseAttnFile(context, "p.mlir",
                             "attn.program @p dims [i] {\n"
                             "  %x = attn.input \"x\" : <[i], f32>\n"
                             "  %y = attn.input \"x\" : <[i], f32> loc(\"made.json\":7:5)\n}\n",
                             diagnostics));
  EXPECT_NE(rendered().find("made.json:7:5: error: the name 'x' is declared twice"),
            std::string::npos)
      << rendered();
}

// The reader of bytecode trusts what it reads.
TEST_F(AttnFile, BytecodeIsRefused) {
  EXPECT_FALSE(parseAttnFile(context, "p.mlir", "ML\xEFR\x0D", diagnostics));
  EXPECT_NE(rendered().find("p.mlir:1:1: error: the file is MLIR's bytecode"), std::string::npos)
      << rendered();
}

std::string repeated(const std::string &text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

/// A way to nest without bound: what opens a level, what stands inside, and what closes it.
struct Nest {
  const char *name, *before, *open, *inside, *close, *after;
};

class Nested : public AttnFile, public testing::WithParamInterface<Nest> {
protected:
  std::optional<Spec> parseLevels(size_t levels) {
    const Nest &nest = GetParam();
    diagnostics = Diagnostics();
    std::string text = nest.before + repeated(nest.open, levels) + nest.inside +
                       repeated(nest.close, levels) + nest.after + textOf(readX);
    return parseAttnFile(context, "p.mlir", text, diagnostics);
  }
};

TEST_P(Nested, WithinTheLimitOneIsAccepted) { EXPECT_TRUE(parseLevels(200)) << rendered(); }

TEST_P(Nested, ADeepOneIsRefusedWithItsPlace) {
  EXPECT_FALSE(parseLevels(100000));
  EXPECT_EQ(rendered().find("p.mlir:1:"), 0u) << rendered();
  EXPECT_NE(rendered().find("nested deeper than 256 levels"), std::string::npos) << rendered();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Nested,
    testing::Values(Nest{"Attributes", "#a = ", "[", "1", "]", "\n"},
                    Nest{"Dictionaries", "#a = ", "{b=", "1", "}", "\n"},
                    Nest{"Types", "!a = ", "tuple<", "i1", ">", "\n"},
                    Nest{"Functions", "!a = ", "(", "i1", ")->()", "\n"},
                    Nest{"Locations", "#a = loc(", "\"b\"(", "unknown", ")", ")\n"},
                    Nest{"Parentheses", "#a = affine_map<(b) -> (", "(", "b", ")", ")>\n"},
                    Nest{"Sums", "#a = affine_map<(b) -> (b", " + b", "", "", ")>\n"},
                    Nest{"Signs", "#a = affine_map<(b) -> (", "-", "b", "", ")>\n"}),
    [](const testing::TestParamInfo<Nest> &info) { return std::string(info.param.name); });

TEST_F(AttnFile, ADeepRegionIsRefusedWithItsPlace) {
  std::string text = repeated("module {", 50000) + repeated("}", 50000);
  EXPECT_FALSE(parseAttnFile(context, "p.mlir", text, diagnostics));
  EXPECT_NE(rendered().find("p.mlir:1:2056: error: nested deeper than 256 levels"),
            std::string::npos)
      << rendered();
}

// Each alias is one bracket around the one before; only together are they deep.
TEST_F(AttnFile, AChainOfAliasesCountsAsItsDepth) {
  std::string text = "#a0 = [1]\n";
  for (int i = 1; i < 300; ++i)
    text += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
  EXPECT_FALSE(parseAttnFile(context, "p.mlir", text + textOf(readX), diagnostics));
  EXPECT_NE(rendered().find("p.mlir:257:10: error: nested deeper than 256 levels"),
            std::string::npos)
      << rendered();
}

// 2^60 elements in 60 lines.
TEST_F(AttnFile, AliasesThatDoubleAreRefused) {
  std::string text = "#a0 = [1]\n";
  for (int i = 1; i < 60; ++i) {
    std::string before = "#a" + std::to_string(i - 1);
    text += "#a" + std::to_string(i) + " = [" + before + ", " + before + "]\n";
  }
  EXPECT_FALSE(parseAttnFile(context, "p.mlir", text + textOf(readX), diagnostics));
  EXPECT_NE(rendered().find("words and signs where every alias is written out"), std::string::npos)
      << rendered();
}

TEST_F(AttnFile, ManyAliasesAndComparisonsAreNoNesting) {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += "#m" + std::to_string(i) + " = affine_set<(d0) : (d0 - " + std::to_string(i) +
            " >= 0, -d0 + 9 >= 0)>\n#t" + std::to_string(i) + " = -1 : i32\n";
  EXPECT_TRUE(parseAttnFile(context, "p.mlir", text + textOf(readX), diagnostics)) << rendered();
}

TEST_F(AttnFile, ADimThatTheProgramDoesNotHaveIsRefused) {
  EXPECT_FALSE(parseAttnFile(context, "p.mlir",
                             "attn.program @p dims [i] {\n  %x = attn.input \"x\" : <[i], f32>\n"
                             "  %n = attn.size n : <[], i64>\n"
                             "  attn.output \"y\" [i] %x as f32 : <[i], f32>\n}\n",
                             diagnostics));
  EXPECT_NE(rendered().find("p.mlir:3:8: error: there is no dim 'n'"), std::string::npos)
      << rendered();
}

TEST_F(AttnFile, AnOutputHasEachDimOnce) {
  EXPECT_FALSE(parseAttnFile(context, "p.mlir",
                             "attn.program @p dims [i] {\n  %x = attn.input \"x\" : <[i], f32>\n"
                             "  attn.output \"y\" [i, i] %x as f32 : <[i], f32>\n}\n",
                             diagnostics));
  EXPECT_NE(rendered().find("each of its dims once"), std::string::npos) << rendered();
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
