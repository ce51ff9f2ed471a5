// What may stand in a comment of generated code.
#include "compiler/codegen/cuda/comment.h"
#include <gtest/gtest.h>

namespace attnc::cuda {
namespace {

TEST(Comment, keepsWhatAReaderSees) {
  EXPECT_EQ(comment("p = softmax(j, s) // 2"), "// p = softmax(j, s) // 2");
  EXPECT_EQ(comment("\u03c0\u00e9\u4e2d = 1"), "// \u03c0\u00e9\u4e2d = 1");
  EXPECT_EQ(comment(""), "// ");
}

TEST(Comment, endsWithItsLine) {
  EXPECT_EQ(comment("a\nint evil;\r\nb\tc"), "// a int evil;  b c");
  EXPECT_EQ(comment(llvm::StringRef("a\0b\vc\fd", 7)), "// a b c d");
  // Next line, line and paragraph separator.
  EXPECT_EQ(comment("a\u0085b\u2028c\u2029d"), "// a?b?c?d");
}

TEST(Comment, joinsNoNextLine) {
  EXPECT_EQ(comment("a \\"), "// a ?");
  EXPECT_EQ(comment("a \\ "), "// a ? ");
}

TEST(Comment, isNeitherReversedNorInvisible) {
  EXPECT_EQ(comment("a\u202eb\u200bc\x7f"), "// a?b?c?");
}

TEST(Comment, isValidUtf8) {
  EXPECT_EQ(comment("a\xff\xc3"), "// a??");
  EXPECT_EQ(comment("\xed\xa0\x80"), "// ???"); // half of a pair
}

} // namespace
} // namespace attnc::cuda
