#include "runtime/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace attnc;

namespace {

class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Nvrtc::open();
    if (!opened)
      GTEST_SKIP() << opened.error().text();
    nvrtc = *std::move(opened);
  }

  std::unique_ptr<Nvrtc> nvrtc;
};

NvrtcRequest request(std::string source, std::string architecture = "sm_80") {
  NvrtcRequest result;
  result.source = std::move(source);
  result.architecture = std::move(architecture);
  return result;
}

TEST_F(NvrtcTest, CompilesToPtxAndCubinWithAReport) {
  NvrtcRequest wanted = request("#include \"attnc/twice.cuh\"\n"
                                "extern \"C\" __global__ void twice_all(float *x) {\n"
                                "  __shared__ float row[32];\n"
                                "  row[threadIdx.x] = x[threadIdx.x];\n"
                                "  __syncthreads();\n"
                                "  x[threadIdx.x] = twice(row[31 - threadIdx.x]);\n"
                                "}\n");
  wanted.headers["attnc/twice.cuh"] = "__device__ float twice(float x) { return FACTOR * x; }\n";
  wanted.options = {"-DFACTOR=2"};
  Result<NvrtcOutput> output = nvrtc->compile(wanted);
  ASSERT_TRUE(output) << output.error().text();
  EXPECT_NE(output->ptx.find(".target sm_80"), std::string::npos);
  EXPECT_EQ(output->ptx.find('\0'), std::string::npos);
  EXPECT_EQ(output->cubin.substr(1, 3), "ELF");
  ASSERT_EQ(output->kernels.size(), 1u) << output->log;
  EXPECT_EQ(output->kernels[0].symbol, "twice_all");
  EXPECT_GT(output->kernels[0].resources.registers, 0) << output->log;
  EXPECT_EQ(output->kernels[0].resources.staticSharedBytes, 32 * 4);
  EXPECT_EQ(output->kernels[0].resources.spillStores, 0);
  EXPECT_TRUE(output->notes.empty());
  EXPECT_GT(output->seconds, 0);
}

TEST_F(NvrtcTest, SpillsAreReported) {
  // 128 live floats in a kernel that may use 32 registers.
  NvrtcRequest wanted = request(
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) crowded(float *x, int n) {\n"
      "  float v[128];\n"
      "  #pragma unroll\n"
      "  for (int i = 0; i < 128; ++i) v[i] = x[i * 1024 + threadIdx.x];\n"
      "  for (int step = 0; step < n; ++step) {\n"
      "    __syncthreads();\n"
      "    #pragma unroll\n"
      "    for (int i = 0; i < 128; ++i) v[i] = v[i] * v[(i + 1) % 128] + v[(i + 64) % 128];\n"
      "  }\n"
      "  #pragma unroll\n"
      "  for (int i = 0; i < 128; ++i) x[i * 1024 + threadIdx.x] = v[i];\n"
      "}\n");
  Result<NvrtcOutput> output = nvrtc->compile(wanted);
  ASSERT_TRUE(output) << output.error().text();
  ASSERT_EQ(output->kernels.size(), 1u);
  EXPECT_GT(output->kernels[0].resources.spillStores, 0) << output->log;
  EXPECT_GT(output->kernels[0].resources.spillLoads, 0) << output->log;
  EXPECT_GT(output->kernels[0].resources.stackBytes, 0) << output->log;
}

TEST_F(NvrtcTest, CompilesTheSameBytesTwice) {
  NvrtcRequest wanted = request("extern \"C\" __global__ void f(int *x) { *x = 1; }", "sm_90a");
  Result<NvrtcOutput> first = nvrtc->compile(wanted), second = nvrtc->compile(wanted);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->ptx, second->ptx);
  EXPECT_EQ(first->cubin, second->cubin);
}

TEST_F(NvrtcTest, ErrorsOfTheSourceAreInTheMessage) {
  Result<NvrtcOutput> output = nvrtc->compile(request("__global__ void f() { undeclared = 1; }"));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::Compilation);
  EXPECT_NE(
      output.error().message.find("kernel.cu(1): error: identifier \"undeclared\" is undefined"),
      std::string::npos)
      << output.error().message;
}

TEST_F(NvrtcTest, UnknownArchitecturesAreRefused) {
  for (const char *name : {"sm_12", "compute_80", "sm_80x", "sm_", ""}) {
    Result<NvrtcOutput> output = nvrtc->compile(request("", name));
    ASSERT_FALSE(output) << name;
    EXPECT_EQ(output.error().kind, ErrorKind::InvalidArgument);
    EXPECT_NE(
        output.error().message.find("does not know the architecture '" + std::string(name) + "'"),
        std::string::npos);
  }
  EXPECT_FALSE(nvrtc->architectures().empty());
  EXPECT_FALSE(nvrtc->path().empty());
}

TEST(NvrtcMissing, ErrorSaysWhereItComesFrom) {
  const char *before = std::getenv("ATTNC_NVRTC");
  std::string saved = before ? before : "";
  setenv("ATTNC_NVRTC", "/nonexistent/libnvrtc.so", 1);
  auto opened = Nvrtc::open();
  before ? setenv("ATTNC_NVRTC", saved.c_str(), 1) : unsetenv("ATTNC_NVRTC");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Environment);
  EXPECT_NE(opened.error().message.find("/nonexistent/libnvrtc.so"), std::string::npos);
  EXPECT_NE(opened.error().remedy.find("CUDA toolkit"), std::string::npos);
}

TEST(PtxasLog, ReadsEachEntryAndTheRemarks) {
  PtxasReport report =
      parsePtxasLog("ptxas info    : 0 bytes gmem\n"
                    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                    "instructions are serialized\n"
                    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
                    "ptxas info    : Function properties for first\n"
                    "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                    "ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative "
                    "stack size, 2048 bytes smem\n"
                    "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
                    "ptxas info    : Function properties for second\n"
                    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                    "ptxas info    : Used 24 registers, used 0 barriers\n"
                    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                    "instructions are serialized");
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[0].symbol, "first");
  EXPECT_EQ(report.kernels[0].resources, (KernelResources{168, 8, 12, 16, 2048}));
  EXPECT_EQ(report.kernels[1].symbol, "second");
  EXPECT_EQ(report.kernels[1].resources, (KernelResources{24, 0, 0, 0, 0}));
  EXPECT_EQ(report.notes.size(), 1u);
}

} // namespace
