// Which line of a spec the lines of a stage come from.
#include "tools/attnc/output/spec_lines.h"

#include <gmock/gmock.h>

namespace attnc::cli {
namespace {

using ::testing::ElementsAre;

TEST(SpecLines, OfMarkedIr) {
  LinedText lined = linesOfIr("a // line 14\nb\nc // line x\n} // line 3\n");
  EXPECT_EQ(lined.text, "a\nb\nc // line x\n}\n");
  EXPECT_THAT(lined.lines, ElementsAre(14, 0, 0, 3));
}

TEST(SpecLines, OfCudaHoldWithinTheirBlock) {
  StatementLines statements = {{"// s = x", 4}, {"// o = s", 5}};
  EXPECT_THAT(linesOfCuda("f() {\n"
                          "  int i;\n"
                          "  // s = x\n"
                          "  for (;;) {\n"
                          "    a;\n"
                          "    // o = s\n"
                          "    b;\n"
                          "  }\n"
                          "  c;\n"
                          "  // another remark\n"
                          "}\n",
                          statements),
              ElementsAre(0, 0, 4, 4, 4, 5, 5, 0, 0, 0, 0));
}

TEST(SpecLines, OfPtxGoThroughHeaders) {
  EXPECT_THAT(linesOfPtx("ld\n"
                         "\t.loc\t1 2 5\n"
                         "add\n"
                         "\t.loc\t4 84 7, function_name $L, inlined_at 1 3 5\n"
                         "sub\n"
                         "\t.loc\t5 10 3, function_name $M, inlined_at 4 84 7\n"
                         "mul\n"
                         "\t.loc\t1 99 1\n"
                         "ret\n"
                         "}\n",
                         {7, 8, 9}),
              ElementsAre(0, 8, 8, 9, 9, 9, 9, 0, 0, 0));
}

} // namespace
} // namespace attnc::cli
