// How findings are printed.
#include "compiler/frontend/text/diagnostics.h"
#include "compiler/frontend/text/suggest.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attnc {
namespace {

std::string rendered(const Diagnostics &diagnostics, bool colour = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  diagnostics.render(os, colour);
  return text;
}

Diagnostic example() {
  Diagnostic d;
  d.file = "causal.json";
  d.line = 17;
  d.column = 23;
  d.message = "unknown name 'sclae'";
  d.expression = "s = q * sclae";
  d.caretOffset = 8;
  d.remedy = "did you mean 'scale'?";
  return d;
}

TEST(Diagnostics, PrintsPlaceCaretAndRemedy) {
  Diagnostics diagnostics;
  diagnostics.add(example());
  EXPECT_EQ(rendered(diagnostics), "causal.json:17:23: error: unknown name 'sclae'\n"
                                   "  s = q * sclae\n"
                                   "          ^\n"
                                   "  did you mean 'scale'?\n");
}

TEST(Diagnostics, CaretStandsUnderWideAndAccentedCharacters) {
  Diagnostics diagnostics;
  Diagnostic d = example();
  d.expression = "\xCE\xB1 + \xE6\xBC\xA2 + x"; // one column, then two
  d.caretOffset = static_cast<unsigned>(d.expression.find('x'));
  diagnostics.add(d);
  EXPECT_NE(rendered(diagnostics).find("\n  " + std::string(9, ' ') + "^\n"), std::string::npos)
      << rendered(diagnostics);
}

TEST(Diagnostics, LongExpressionsAreShownAroundTheCaret) {
  Diagnostics diagnostics;
  Diagnostic d = example();
  d.expression = std::string(1000, 'a') + "!" + std::string(1000, 'b');
  d.caretOffset = 1000;
  diagnostics.add(d);
  std::string text = rendered(diagnostics);
  size_t line = text.find("  ..."), caret = text.find('^');
  ASSERT_NE(line, std::string::npos);
  size_t begin = text.rfind('\n', caret) + 1;
  EXPECT_EQ(text[line + (caret - begin)], '!');
  EXPECT_LT(text.size(), 400u);
}

TEST(Diagnostics, OnlyTheCommandLineHasNoPlace) {
  Diagnostics diagnostics;
  Diagnostic d = example();
  d.file = "--set d=x";
  d.line = 0;
  diagnostics.add(d);
  EXPECT_EQ(rendered(diagnostics).substr(0, 17), "--set d=x: error:");
}

TEST(Diagnostics, CountsErrorsAndKeepsTheFirst) {
  Diagnostics diagnostics;
  Diagnostic warning = example();
  warning.severity = Diagnostic::Warning;
  diagnostics.add(warning);
  EXPECT_FALSE(diagnostics.hasErrors());
  for (unsigned i = 0; i < 2 * Diagnostics::maxKept; ++i) {
    Diagnostic error = example();
    error.line = 100 + i;
    diagnostics.add(error);
  }
  EXPECT_EQ(diagnostics.errorCount(), 2 * Diagnostics::maxKept);
  EXPECT_EQ(diagnostics.all().size(), Diagnostics::maxKept + 1); // the warning beside them
  EXPECT_NE(rendered(diagnostics).find("100 more errors are not shown"), std::string::npos);
}

TEST(Diagnostics, OnePlaceIsToldOnce) {
  Diagnostics diagnostics;
  diagnostics.add(example());
  diagnostics.add(example());
  EXPECT_EQ(diagnostics.errorCount(), 1u);
  EXPECT_EQ(diagnostics.all().size(), 1u);
}

TEST(Diagnostics, WhatCannotBeSeenIsShownByCodePoint) {
  Diagnostics diagnostics;
  Diagnostic d = example();
  d.expression = "s\u200B = \u202Ex";
  d.caretOffset = static_cast<unsigned>(d.expression.find('x'));
  diagnostics.add(d);
  EXPECT_NE(
      rendered(diagnostics).find("  s<U+200B> = <U+202E>x\n  " + std::string(20, ' ') + "^\n"),
      std::string::npos)
      << rendered(diagnostics);
}

TEST(Diagnostics, InvalidUtf8CanBePrintedAsJson) {
  Diagnostics diagnostics;
  Diagnostic d = example();
  d.expression = "a \xFF b";
  diagnostics.add(d);
  nlohmann::json json = diagnostics.toJson();
  EXPECT_EQ(json[0]["line"], 17);
  EXPECT_EQ(json[0]["severity"], "error");
  EXPECT_NO_THROW(json.dump());
}

TEST(Diagnostics, ColourOnlyWhenAsked) {
  Diagnostics diagnostics;
  diagnostics.add(example());
  EXPECT_EQ(rendered(diagnostics, false).find('\x1b'), std::string::npos);
}

TEST(Suggest, NamesThatLookTheSameAndWordsOfOtherLanguages) {
  std::vector<std::string> names = {"s", "scale", "caf\u00E9"};
  EXPECT_EQ(adviceOnName("\u0455", names, ""),
            "'s' looks the same, with other characters: U+0455 here, only ASCII there");
  EXPECT_EQ(adviceOnName("cafe\u0301", names, ""),
            "'caf\u00E9' looks the same, with other characters: U+0301 here, U+00E9 there");
  EXPECT_EQ(adviceOnName("einsum", names, ""), "write sum(d, a[i, d] * b[j, d])");
  EXPECT_EQ(adviceOnName("scael", names, ""), "did you mean 'scale'?");
  EXPECT_EQ(adviceOnType("float16", names, ""), "write f16");
}

TEST(Suggest, NearNamesOnly) {
  std::vector<std::string> names = {"softmax", "scale", "sum", "x"};
  EXPECT_EQ(nearestName("sofmax", names), "softmax");
  EXPECT_EQ(nearestName("Scale", names), "scale");
  EXPECT_EQ(nearestName("sun", names), "sum");
  EXPECT_EQ(nearestName("y", names), "");
  EXPECT_EQ(nearestName("logsumexp", names), "");
  EXPECT_EQ(didYouMean("sofmax", names), "did you mean 'softmax'?");
  EXPECT_EQ(didYouMean("zzz", names, "declare it"), "declare it");
}

} // namespace
} // namespace attnc
