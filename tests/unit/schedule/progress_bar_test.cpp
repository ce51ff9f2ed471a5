#include "tools/attnc/output/terminal.h"
#include <gtest/gtest.h>

namespace attnc::cli {
namespace {

TEST(ProgressBar, fillsAsWorkIsDone) {
  EXPECT_EQ(barText(0, 12, 8, "first"), "[........]  0/12 first");
  EXPECT_EQ(barText(6, 12, 8, "middle"), "[####....]  6/12 middle");
  EXPECT_EQ(barText(12, 12, 8, ""), "[########] 12/12 ");
}

} // namespace
} // namespace attnc::cli
