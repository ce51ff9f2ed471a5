// Programs too large for all of LLVM's passes.
#include "tests/unit/codegen/cpu_program.h"
#include <gtest/gtest.h>

namespace attnc::cpu {
namespace {

TEST(CpuEffort, FallsInStepsAsProgramsGrow) {
  EXPECT_EQ(affordableEffort(20000), Effort::Full);
  EXPECT_EQ(affordableEffort(20001), Effort::Vectors);
  EXPECT_EQ(affordableEffort(100000), Effort::Vectors);
  EXPECT_EQ(affordableEffort(100001), Effort::Quick);
  EXPECT_EQ(leftOut(Effort::Full, 20000), "");
  EXPECT_NE(leftOut(Effort::Vectors, 20001).find("20001 operations"), std::string::npos);
  EXPECT_NE(leftOut(Effort::Quick, 100001).find("without vectors"), std::string::npos);
}

// The sums of the rows of x.
constexpr const char *kRowSums = R"(
attn.program @sums dims [m, n] {
  %x = attn.input "x" : !attn.array<[m, n], f32>
  %y = red.nest grid [m] row [] stream [n] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %x[m, n] : (!attn.array<[m, n], f32>) -> !attn.array<[m, n], f32>
    %1 = red.fold add over [n] (%0) : (!attn.array<[m, n], f32>) -> !attn.array<[m], f32>
    red.yield %1 : !attn.array<[m], f32>
  }
  attn.output "y" [m] %y as f32 : !attn.array<[m], f32>
}
)";

class CpuEffortRun : public testing::TestWithParam<Effort> {};

TEST_P(CpuEffortRun, ComputesTheSameAndHasVectorsUnlessItIsQuick) {
  CpuProgram program(kRowSums, {.most = GetParam(), .keepLlvmIr = true});
  using Type = HostTensor::Type;
  HostTensor x(Type::F32, {5, 1000}, 3);
  x.fill([](const auto &at) { return at[0] + at[1] % 7; });
  program.tensors = {{"x", x}, {"y", HostTensor(Type::F32, {5})}};
  program.run();
  for (int64_t m = 0; m < 5; ++m) {
    double sum = 0;
    for (int64_t n = 0; n < 1000; ++n)
      sum += m + n % 7;
    EXPECT_EQ(program.tensors["y"].get({m}), sum);
  }
  bool hasVectors = program.llvmIr().find(" x float>") != std::string::npos;
  EXPECT_EQ(hasVectors, GetParam() != Effort::Quick);
}

INSTANTIATE_TEST_SUITE_P(Efforts, CpuEffortRun,
                         testing::Values(Effort::Quick, Effort::Vectors, Effort::Full));

} // namespace
} // namespace attnc::cpu
