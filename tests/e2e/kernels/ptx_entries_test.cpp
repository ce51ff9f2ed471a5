#include "tests/e2e/kernels/launch_faults.h"
#include "tests/e2e/kernels/ptx_entries.h"
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

constexpr const char *modulePtx = R"(.version 9.0
.visible .entry fold(
	.param .align 64 .b8 fold_param_0[128],
	.param .u64 fold_param_1,
	.param .f32 fold_param_2
)
.maxntid 640, 1, 1
.minnctapersm 1
{
	ret;
}
.visible .entry copy(
	.param .u64 .ptr .align 1 copy_param_0
)
.reqntid 128
{
}
)";

Program programOf(int threads, DType param) {
  Program program;
  Manifest &manifest = program.manifest;
  manifest.name = "m";
  manifest.target = "sm_90a";
  manifest.dims = {{"i", std::nullopt, 0}, {"d", Expr::constant(64), 1}};
  manifest.inputs = {{"q", DType::BF16, {"i", "d"}}};
  manifest.params = {{"scale", param, {}, {}, {}}};
  KernelDecl kernel{"fold_2", "image", "fold", threads, Expr::constant(0), std::nullopt};
  manifest.kernels = {kernel};
  LaunchDecl launch;
  launch.kernel = "fold_2";
  launch.args = {ArgDecl::tensorMap("q", {64, 64}), ArgDecl::size("i"), ArgDecl::param("scale")};
  manifest.variants = {{std::nullopt, {launch}}};
  program.images = {{ImageKind::Ptx, "image", modulePtx}};
  return program;
}

TEST(PtxEntries, AreReadWithTheirParametersAndThreads) {
  std::vector<PtxEntry> entries = ptxEntries(modulePtx);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "fold");
  EXPECT_EQ(entries[0].threads, 640);
  ASSERT_EQ(entries[0].parameters.size(), 3u);
  EXPECT_EQ(entries[0].parameters[0].bytes, 128);
  EXPECT_EQ(entries[0].parameters[0].align, 64);
  EXPECT_EQ(entries[0].parameters[2].bytes, 4);
  EXPECT_EQ(entries[1].name, "copy");
  EXPECT_EQ(entries[1].threads, 128);
  ASSERT_EQ(entries[1].parameters.size(), 1u);
  EXPECT_EQ(entries[1].parameters[0].bytes, 8);
}

TEST(LaunchFaults, AreWhatTheJsonSaysOtherwise) {
  EXPECT_EQ(launchFaults(programOf(640, DType::F32)), std::vector<std::string>{});
  EXPECT_EQ(launchFaults(programOf(320, DType::F32)),
            std::vector<std::string>{"fold: threads is 320, in the PTX 640"});
  EXPECT_EQ(launchFaults(programOf(640, DType::F64)),
            std::vector<std::string>{"fold: bytes 2 is 8, in the PTX 4"});
  Program other = programOf(640, DType::F32);
  other.manifest.kernels[0].symbol = "cut";
  EXPECT_EQ(launchFaults(other), std::vector<std::string>{"cut: image has no entry of this name"});
  other = programOf(640, DType::F32);
  other.manifest.variants[0].launches[0].args.pop_back();
  EXPECT_EQ(launchFaults(other),
            std::vector<std::string>{"fold: the number of parameters is 2, in the PTX 3"});
}

} // namespace
} // namespace attnc::e2e
