// Faults planted in a kernel by hand: the interpreter finds each, whatever order it tries.
#include "tests/unit/interpreter/attention_kernel.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace attnc::interpreter {
namespace {

TEST(Fa3Loop, isCorrectInAnyOrder) {
  AttentionKernel kernel("fa3-loop.mlir");
  EXPECT_THAT(kernel.runAll(20), IsEmpty());
}

} // namespace
} // namespace attnc::interpreter
