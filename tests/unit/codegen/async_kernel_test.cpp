// Kernels with roles, written by hand in the tile dialect (tests/lit/tile), compile without spills
// and without the notes of ptxas that mean serialised products. Needs NVRTC, not a GPU.
#include "compiler/codegen/cuda/emit.h"
#include "compiler/device/wgmma_header.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cuda/nvrtc.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc {
namespace {

std::string sourceOf(const std::string &file) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect, tile::TileDialect, arith::ArithDialect, math::MathDialect,
                      scf::SCFDialect>();
  auto module = parseSourceFile<ModuleOp>(ATTNC_TILE_KERNELS "/" + file, &context);
  std::string source;
  if (module)
    for (auto kernel : module->getOps<tile::KernelOp>())
      source += cuda::emitCuda(kernel).value_or("");
  return source;
}

Result<NvrtcOutput> compileSource(const Nvrtc &nvrtc, const std::string &source) {
  NvrtcRequest request;
  request.source = source;
  request.headers = device::headersFor(source);
  request.architecture = "sm_90a";
  request.options = {"--no-cache"}; // the cache leaves out ptxas's report
  return nvrtc.compile(request);
}

class AsyncKernel : public testing::TestWithParam<const char *> {};

TEST_P(AsyncKernel, CompilesWithoutSpillsAndNotes) {
  Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  std::string source = sourceOf(GetParam());
  ASSERT_FALSE(source.empty());
  Result<NvrtcOutput> output = compileSource(**nvrtc, source);
  ASSERT_TRUE(output) << output.error().text();
  ASSERT_FALSE(output->kernels.empty());
  for (const KernelReport &kernel : output->kernels) {
    EXPECT_EQ(kernel.resources.spillStores, 0) << kernel.symbol;
    EXPECT_EQ(kernel.resources.spillLoads, 0) << kernel.symbol;
    EXPECT_EQ(kernel.resources.stackBytes, 0) << kernel.symbol;
  }
  EXPECT_TRUE(output->notes.empty()) << output->notes[0];
}

INSTANTIATE_TEST_SUITE_P(ByHand, AsyncKernel,
                         testing::Values("fa3-loop.mlir", "seesaw.mlir", "backward.mlir",
                                         "split-fold.mlir", "cluster.mlir"));

// The numbers of columns that wgmma has: every header is a complete pair of instructions.
TEST(WgmmaHeader, CompilesForEveryNumberOfColumns) {
  Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  std::string includes, bodies;
  for (int columns = 8; columns <= 256; columns += 8) {
    std::string n = std::to_string(columns);
    includes += "#include \"attnc/wgmma_n" + n + ".cuh\"\n";
    bodies += "extern \"C\" __global__ void __launch_bounds__(128) kernel_" + n +
              "(f32 *out, u64 a, u64 b, u32 x) {\n  Accumulator<16, " + n +
              "> c;\n  const u32 operand[4] = {x, x, x, x};\n  fenceProducts();\n"
              "  wgmma<bf16, 0, 1>(c, a, b, 0);\n  commitProducts();\n  waitProducts<0>(c);\n"
              "  fenceProducts();\n  wgmma<f16, 0, 0>(c, operand, b, 1);\n"
              "  commitProducts();\n  waitProducts<0>(c);\n  for (int e = 0; e < c.kSize; ++e)\n"
              "    out[e] = c[e];\n}\n";
  }
  std::string source =
      includes + "#include \"attnc/wgmma.cuh\"\nnamespace attnc {\n" + bodies + "}\n";
  Result<NvrtcOutput> output = compileSource(**nvrtc, source);
  ASSERT_TRUE(output) << output.error().text();
  EXPECT_EQ(output->kernels.size(), 32u);
  EXPECT_TRUE(output->notes.empty()) << output->notes[0];
}

} // namespace
} // namespace attnc
