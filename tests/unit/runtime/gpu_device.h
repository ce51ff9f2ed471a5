// The GPU of this machine, for tests.
#ifndef ATTNC_TESTS_UNIT_RUNTIME_GPU_DEVICE_H
#define ATTNC_TESTS_UNIT_RUNTIME_GPU_DEVICE_H

#include "runtime/cuda/driver.h"
#include <gtest/gtest.h>

namespace attnc {

/// Skips, with the driver's own reason, where there is no GPU.
class OnGpu : public testing::Test {
protected:
  void SetUp() override {
    auto opened = CudaDevice::open(0);
    if (!opened)
      GTEST_SKIP() << opened.error().text();
    device = *std::move(opened);
  }

  std::shared_ptr<CudaDevice> device;
};

} // namespace attnc

#endif
