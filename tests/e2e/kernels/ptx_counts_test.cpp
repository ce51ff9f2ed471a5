#include "tests/e2e/kernels/ptx_counts.h"
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

using Counts = std::map<std::string, int>;

TEST(PtxCounts, PassOverHeadingsDirectivesAndComments) {
  EXPECT_EQ(countInstructions("//\n// Generated; by hand\n.version 9.0\n.target sm_90a\n"
                              ".visible .entry f(\n\t.param .u64 f_param_0\n)\n.maxntid 128\n{\n"
                              "\t.reg .b32 \t%r<3>;\n\tret; // mul.f32 %f1, %f2, %f3;\n}\n"),
            (Counts{{"total", 1}}));
  EXPECT_EQ(countInstructions(""), Counts());
}

TEST(PtxCounts, ReadGuardsLabelsAndBlocksOfInlineAssembly) {
  EXPECT_EQ(countInstructions("$L__BB0_2:\n\t@%p1 bra \t$L__BB0_2;\n"
                              "// begin inline asm\n{ .reg .pred p; "
                              "mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2; }\n"
                              "// end inline asm\n"
                              "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                              "{%f1, %f2,\n%f3, %f4}, %rd1, %rd2, p, 1, 1, 0, 0;\n"),
            (Counts{{"total", 3}, {"mbarrier", 1}, {"wgmma.mma_async", 1}}));
}

TEST(PtxCounts, TellTypesApart) {
  EXPECT_EQ(countInstructions("mul.f32 %f1, %f2, %f3;\nmul.lo.s32 %r1, %r2, %r3;\n"
                              "mul.ftz.f32 %f1, %f2, %f3;\nmax.NaN.f32 %f1, %f2, %f3;\n"
                              "max.s32 %r1, %r2, %r3;\nsub.f32 %f1, %f2, %f3;\n"
                              "cvt.rn.bf16x2.f32 %r1, %f1, %f2;\ncvt.u64.u32 %rd1, %r1;\n"),
            (Counts{{"total", 8}, {"mul.f32", 2}, {"max.f32", 1}, {"add.f32", 1}, {"convert", 1}}));
}

TEST(PtxCounts, TellCopiesApart) {
  EXPECT_EQ(countInstructions(
                "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%r1], [%rd1, {%r2, %r3, %r4, %r5}], [%r6];\n"
                "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
                "[%rd1, {%r2, %r3, %r4, %r5}], [%r6];\n"
                "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
                "cp.async.cg.shared.global [%r1], [%rd1], 16;\ncp.async.commit_group;\n"),
            (Counts{{"total", 6},
                    {"cp.async.bulk.load", 1},
                    {"cp.async.bulk.store", 1},
                    {"cp.async.bulk.commit", 1},
                    {"cp.async.bulk.wait", 1},
                    {"cp.async", 1},
                    {"cp.async.commit", 1}}));
}

TEST(PtxCounts, TheCompilerIsInTheHeading) {
  EXPECT_EQ(ptxCompiler("// Compiler Build ID: CL-1\n"
                        "// Cuda compilation tools, release 13.0, V13.0.88\n// Based on\n"),
            "13.0, V13.0.88");
  EXPECT_EQ(ptxCompiler(".version 9.0\n"), "");
}

} // namespace
} // namespace attnc::e2e
