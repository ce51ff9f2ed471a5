#include "runtime/remote/foreign_text.h"

#include <gtest/gtest.h>

using namespace attnc;

TEST(ForeignText, KeepsLettersAndLines) {
  EXPECT_EQ(remote::foreignText("two lines,\nof Ωmega · µs"), "two lines,\nof Ωmega · µs");
}

TEST(ForeignText, HasNoControlCharacters) {
  EXPECT_EQ(remote::foreignText("a\x1b[31mb\rc\td\x7f"), "a [31mb c d ");
  EXPECT_EQ(remote::foreignText(std::string_view("a\0b", 3)), "a b");
  EXPECT_EQ(remote::foreignText("a\xc2\x9b"
                                "31m"),
            "a  31m"); // U+009B is ESC [
}
