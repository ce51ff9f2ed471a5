#include "runtime/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <vector>

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

TEST_F(NvrtcTest, ThreadsCompileAtTheSameTime) {
  auto source = [](int number) {
    return "extern \"C\" __global__ void add_" + std::to_string(number) +
           "(float *x) { x[threadIdx.x] += " + std::to_string(number) + "; }\n";
  };
  std::vector<std::future<Result<NvrtcOutput>>> outputs;
  for (int number = 0; number < 8; ++number)
    outputs.push_back(std::async(std::launch::async, [&, number] {
      return nvrtc->compile(request(source(number), number % 2 ? "sm_80" : "sm_90a"));
    }));
  for (int number = 0; number < 8; ++number) {
    Result<NvrtcOutput> output = outputs[static_cast<std::size_t>(number)].get();
    ASSERT_TRUE(output) << output.error().text();
    ASSERT_EQ(output->kernels.size(), 1u) << output->log;
    EXPECT_EQ(output->kernels[0].symbol, "add_" + std::to_string(number));
    EXPECT_NE(output->ptx.find(number % 2 ? ".target sm_80" : ".target sm_90a"), std::string::npos);
  }
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

// A kernel of one product of a warpgroup; `body` starts it, waits for it, and leaves it in c.
NvrtcRequest productRequest(const std::string &body) {
  std::string head = R"cuda(
    __device__ void start(float (&c)[4], unsigned long long a, unsigned long long b) {
      asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                   "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "l"(a), "l"(b));
    }
    __device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
    __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
    __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

    extern "C" __global__ void __launch_bounds__(128)
    product(float *x, unsigned long long a, unsigned long long b, int n) {
      float c[4];
      for (int i = 0; i < 4; ++i)
        c[i] = x[threadIdx.x * 4 + i];
    )cuda";
  std::string tail = R"cuda(
      for (int i = 0; i < 4; ++i)
        x[threadIdx.x * 4 + i] = c[i];
    }
    )cuda";
  NvrtcRequest wanted = request(head + body + tail, "sm_90a");
  wanted.options = {"--no-cache"}; // what comes from NVRTC's cache has no remarks
  return wanted;
}

TEST_F(NvrtcTest, ProductsThatWaitAreReported) {
  struct {
    const char *what, *body, *remark;
  } cases[] = {
      {"a result that is changed while the product is under way",
       "fence(); start(c, a, b); commit(); c[0] += 1; wait();", "(C7517)"},
      {"no fence after the registers were written", "start(c, a, b); commit(); wait();", "(C7519)"},
      {"a result that is changed between two products of it",
       "fence(); start(c, a, b); c[0] = n; start(c, a + 1, b); commit(); wait();",
       "wgmma.mma_async instructions are serialized"},
  };
  for (const auto &c : cases) {
    Result<NvrtcOutput> output = nvrtc->compile(productRequest(c.body));
    ASSERT_TRUE(output) << output.error().text();
    bool isReported = false;
    for (const std::string &note : output->notes)
      isReported |= note.find(c.remark) != std::string::npos;
    EXPECT_TRUE(isReported) << c.what << "\n" << output->log;
  }
}

TEST_F(NvrtcTest, ProductsThatDoNotWaitHaveNoNotes) {
  Result<NvrtcOutput> output =
      nvrtc->compile(productRequest("fence(); start(c, a, b); commit(); wait();"));
  ASSERT_TRUE(output) << output.error().text();
  EXPECT_TRUE(output->notes.empty()) << output->notes[0];
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
