#include "compiler/driver/images/side_by_side.h"
#include <gtest/gtest.h>

namespace attnc::driver {
namespace {

// As many as there is no processor for, the slow ones first.
TEST(SideBySide, ResultsAreThoseOfTheRequestsInOrder) {
  ImageCompiler images;
  if (Result<const Nvrtc *> nvrtc = images.nvrtc(); !nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  std::vector<NvrtcRequest> requests;
  for (int number = 0; number < 6; ++number) {
    std::string name = "k" + std::to_string(number), sum;
    for (int term = 0; term < 8 - number; ++term)
      sum += " + x[" + std::to_string(term) + "]";
    requests.push_back(requestFor(
        "sm_80", "extern \"C\" __global__ void " + name + "(float *x) { x[0] = 1" + sum + "; }",
        name));
  }
  requests[4].source = "this is no C++";
  std::vector<Result<NvrtcOutput>> outputs = compileSideBySide(images, requests);
  ASSERT_EQ(outputs.size(), requests.size());
  for (size_t number = 0; number < outputs.size(); ++number) {
    if (number == 4) {
      EXPECT_FALSE(outputs[number]);
      continue;
    }
    ASSERT_TRUE(outputs[number]) << outputs[number].error().text();
    EXPECT_NE(outputs[number]->ptx.find(".entry k" + std::to_string(number) + "("),
              std::string::npos);
    EXPECT_GT(outputs[number]->seconds, 0);
  }
  EXPECT_TRUE(compileSideBySide(images, {}).empty());
}

} // namespace
} // namespace attnc::driver
