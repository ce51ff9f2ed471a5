#include "runtime/cuda/cuda_tokens.h"

#include <gmock/gmock.h>

using attnc::cudaTokens;
using testing::ElementsAre;

namespace {

std::string tokensOf(std::string_view text) {
  auto tokens = cudaTokens(text);
  return tokens ? tokens->text : "not understood";
}

TEST(CudaTokens, HaveNoCommentsAndNoWhiteSpaceBeyondWhatSeparates) {
  EXPECT_EQ(tokensOf("int a; // one\n\n  int /* two */ b;\t\n"), "int a;\nint b;\n");
  EXPECT_EQ(tokensOf("/* one\n   two */ int a;"), "int a;");
  EXPECT_EQ(tokensOf("int a/**/b;"), "int a b;");
  EXPECT_EQ(tokensOf("a / b; a /* / */ / b;"), "a / b; a / b;");
  EXPECT_EQ(tokensOf("#define F (x)\n#define G(x)\n"), "#define F (x)\n#define G(x)\n");
}

TEST(CudaTokens, WhatLooksLikeACommentInALiteralIsNone) {
  for (const char *text :
       {R"(f("// no  comment /* none */");)", R"(f("\"// no");)", R"(c = '"'; d = "//";)",
        R"(c = '\''; d = '/*';)", R"(asm("{ // no }");)", "x = 1'000'000; y = 0x1p-3'0;"})
    EXPECT_EQ(tokensOf(text), text);
  EXPECT_EQ(tokensOf("x = 1'000; // it's\ny = 'a'; // b"), "x = 1'000;\ny = 'a';");
}

TEST(CudaTokens, RawStringsAreKept) {
  EXPECT_EQ(tokensOf("s = R\"(a // b\n  /* c */)\"; // d"), "s = R\"(a // b\n  /* c */)\";");
  EXPECT_EQ(tokensOf("s = u8R\"x(a)\" // b)x\"; // d"), "s = u8R\"x(a)\" // b)x\";");
  EXPECT_EQ(tokensOf("s = R \"a\"; // d"), "s = R \"a\";");
  EXPECT_EQ(tokensOf("s = R\"(a"), "not understood");
}

TEST(CudaTokens, ContinuedLinesAreOne) {
  EXPECT_EQ(tokensOf("#define F(x) \\\n  x\nint a;"), "#define F(x) x\nint a;");
  EXPECT_EQ(tokensOf("// a comment \\\n that goes on\nint a;"), "int a;");
  EXPECT_EQ(tokensOf("/\\\n/ \" a quote\nint a; // \""), "int a;");
  EXPECT_EQ(tokensOf("in\\\nt a;"), "int a;");
  EXPECT_EQ(tokensOf("s = R\"(a\\\n// b)\";"), "not understood")
      << "a raw string has the backslash";
  EXPECT_EQ(tokensOf("// a \\ \nint a;"), "not understood") << "compilers differ";
}

TEST(CudaTokens, WhatDoesNotEndIsNotUnderstood) {
  for (const char *text : {"\"abc\n\"", "'a\n'", "/* a", "#error it's\n", "\"a\\"})
    EXPECT_EQ(tokensOf(text), "not understood") << text;
}

TEST(CudaTokens, WhatAsksForItsPlaceOrTheTimeIsNotUnderstood) {
  for (const char *text : {"int x = __LINE__;", "f(__FILE__);", "assert(x);", "f(__TIME__);",
                           "f(__builtin_LINE());", "#if __has_include(<a>)\n", "#embed \"a\"\n"})
    EXPECT_EQ(tokensOf(text), "not understood") << text;
  for (const char *text : {"static_assert(x);", "f(\"__LINE__\");", "int embed = import;"})
    EXPECT_EQ(tokensOf(text), text);
  EXPECT_EQ(tokensOf("int a; // __LINE__, assert"), "int a;");
}

TEST(CudaTokens, KnowTheIncludes) {
  auto tokens = cudaTokens("#include \"a//b.h\"\n # include <c/*d.h> // e\nint include;\n");
  ASSERT_TRUE(tokens);
  EXPECT_THAT(tokens->includes, ElementsAre("a//b.h", "c/*d.h"));
  EXPECT_EQ(tokens->text, "#include \"a//b.h\"\n# include <c/*d.h>\nint include;\n");
  EXPECT_FALSE(cudaTokens("#include NAME\n"));
}

} // namespace
