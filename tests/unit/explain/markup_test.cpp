#include "tools/attnc/page/html_writer.h"
#include <gtest/gtest.h>

namespace attnc::cli {
namespace {

TEST(Markup, escapesTextAndAttributes) {
  EXPECT_EQ(element("p", {{"title", "a\"b"}}, Markup("1 < 2 & 3 > 2")).str(),
            "<p title=\"a&quot;b\">1 &lt; 2 &amp; 3 &gt; 2</p>");
}

TEST(Markup, escapesOnce) {
  EXPECT_EQ(element("b", element("i", "&amp;")).str(), "<b><i>&amp;amp;</i></b>");
}

TEST(Markup, keepsNamesOfAnyScript) { EXPECT_EQ(Markup("λ 注意 מפתח").str(), "λ 注意 מפתח"); }

TEST(Markup, showsControlCharactersAsPictures) {
  EXPECT_EQ(Markup(std::string_view("a\0b\x1b\x7f\n\t", 7)).str(), "a␀b␛␡\n\t");
}

TEST(Markup, replacesBytesThatAreNotUtf8) {
  EXPECT_EQ(Markup(std::string("a\xff") + "b").str(), "a\xef\xbf\xbd"
                                                      "b");
}

TEST(Markup, closesElementsAsHtmlAndXmlBothAllow) {
  EXPECT_EQ(element("rect", {{"x", "1"}, {"class", ""}}).str(), "<rect x=\"1\"/>");
  EXPECT_EQ(element("span", Markup()).str(), "<span></span>");
}

TEST(Shortened, keepsWholeCharactersWithinTheColumns) {
  EXPECT_EQ(shortened("keys", 4), "keys");
  EXPECT_EQ(shortened("queries", 4), "que…");
  // Three characters of two columns each.
  EXPECT_EQ(shortened("注意力", 6), "注意力");
  EXPECT_EQ(shortened("注意力", 5), "注意…");
  EXPECT_EQ(shortened("注意力", 4), "注…");
}

} // namespace
} // namespace attnc::cli
