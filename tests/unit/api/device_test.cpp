#include "runtime/cuda/driver.h"
#include "tests/unit/api/handles.h"
#include "tests/unit/runtime/gpu_device.h"

using namespace attnc;
using namespace attnc::test;

namespace {

TEST(Device, WithoutAGpuLoadingSaysSo) {
  if (Result<int> count = cudaDeviceCount(); count && *count > 0)
    GTEST_SKIP() << "there is a GPU";
  attnc_compile_options options = optionsFor("sm_80");
  attnc_program *made = nullptr;
  std::string text = scaleSpec;
  Own<attnc_error> noNvrtc(attnc_compile_text("spec", text.data(), text.size(), &options, &made));
  if (noNvrtc)
    GTEST_SKIP() << attnc_error_message(noNvrtc.get());
  Own<attnc_program> program(made);
  auto *loaded = reinterpret_cast<attnc_loaded *>(&options);
  Own<attnc_error> error(attnc_load(program.get(), ATTNC_CURRENT_DEVICE, &loaded));
  ASSERT_TRUE(error);
  EXPECT_EQ(attnc_error_kind(error.get()), ATTNC_ERROR_ENVIRONMENT);
  EXPECT_STRNE(attnc_error_remedy(error.get()), "");
  EXPECT_EQ(loaded, nullptr);
}

/// scaleSpec on GPU 0.
class GpuApi : public OnGpu {
protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!device)
      return;
    program = compile(scaleSpec, optionsFor("sm_80"));
    loaded = load(program.get());
    for (std::size_t i = 0; i < tensors.list.size(); ++i) {
      std::vector<float> &host = *hosts[i];
      buffers.push_back(*device->allocate(host.size() * sizeof(float)));
      ASSERT_TRUE(buffers.back().upload(host.data(), host.size() * sizeof(float)));
      tensors.list[i].data = buffers.back().data();
    }
  }

  void download() {
    ASSERT_TRUE(device->synchronize());
    for (std::size_t i = 0; i < buffers.size(); ++i)
      ASSERT_TRUE(buffers[i].download(hosts[i]->data(), hosts[i]->size() * sizeof(float)));
  }

  Own<attnc_program> program;
  Own<attnc_loaded> loaded;
  ScaleTensors tensors{1000};
  std::vector<float> *hosts[3] = {&tensors.x, &tensors.y, &tensors.z};
  std::vector<DeviceBuffer> buffers;
};

TEST_F(GpuApi, LaunchesOnTheCallersStream) {
  EXPECT_EQ(attnc_loaded_device(loaded.get()), 0);
  CudaStream stream = *device->createStream();
  attnc_arguments arguments = tensors.arguments();
  attnc_plan *made = nullptr;
  ASSERT_EQ(said(attnc_bind(loaded.get(), &arguments, &made)), "");
  Own<attnc_plan> plan(made);
  for (int run = 0; run < 3; ++run)
    ASSERT_EQ(said(attnc_plan_launch(plan.get(), stream.handle(), nullptr)), "");
  download();
  for (std::size_t i = 0; i < tensors.x.size(); ++i)
    ASSERT_EQ(tensors.y[i], 2 * tensors.x[i]) << i;
}

TEST_F(GpuApi, HostMemoryIsRefused) {
  tensors.list[0].data = tensors.x.data();
  attnc_arguments arguments = tensors.arguments();
  EXPECT_NE(said(attnc_launch(loaded.get(), &arguments, nullptr)).find("is host memory"),
            std::string::npos);
}

/// tableSpec on GPU 0, with one row of scores for all rows.
class GpuScratch : public OnGpu {
protected:
  static constexpr int64_t most = int64_t(1) << 18;

  void SetUp() override {
    OnGpu::SetUp();
    if (!device)
      return;
    loaded = load(compile(tableSpec, optionsFor("sm_80")).get());
    for (DeviceBuffer *buffer : {&row, &table, &result}) {
      *buffer = *device->allocate(most * sizeof(float));
      ASSERT_TRUE(buffer->fill(0));
    }
  }

  std::string launch(int64_t n, const int64_t *budget) {
    const int64_t scores[2] = {n, n}, strides[2] = {0, 1};
    const attnc_tensor list[] = {{"s", row.data(), ATTNC_F32, 2, scores, strides},
                                 {"top", table.data(), ATTNC_I32, 1, scores, nullptr},
                                 {"y", result.data(), ATTNC_F32, 1, scores, nullptr}};
    const attnc_arguments arguments = {sizeof arguments, list, 3, nullptr, 0, budget};
    return said(attnc_launch(loaded.get(), &arguments, nullptr));
  }

  Own<attnc_loaded> loaded;
  DeviceBuffer row, table, result;
};

// 256 GiB of weights: more than a GPU has. What follows is as if nothing had been asked for.
TEST_F(GpuScratch, ThatIsNotThereIsAnErrorAndNoMore) {
  std::string text = launch(most, nullptr);
  EXPECT_EQ(text.find("3: there is no memory for what goes between kernels, 256.0 GiB at i=262144, "
                      "j=262144: "),
            0U)
      << text;
  EXPECT_NE(text.find("p: f32[i, j], 256.0 GiB, table:"), std::string::npos) << text;
  ASSERT_EQ(launch(1000, nullptr), "");
  ASSERT_TRUE(device->synchronize());
  std::vector<float> weights(1000);
  ASSERT_TRUE(result.download(weights.data(), weights.size() * sizeof(float)));
  for (float weight : weights)
    ASSERT_FLOAT_EQ(weight, 0.001F);
}

TEST_F(GpuScratch, IsComparedWithTheBudget) {
  const int64_t budget = 4'008'000; // p, and for each row a maximum and a sum
  EXPECT_EQ(launch(1000, &budget), "");
  EXPECT_EQ(launch(1001, &budget).find("1: 4016012 bytes go through memory between kernels at "),
            0U);
}

} // namespace
