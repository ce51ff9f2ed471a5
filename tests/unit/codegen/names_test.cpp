// Names of a spec that C++ or CUDA take for themselves.
#include "compiler/codegen/cuda/names.h"
#include <gtest/gtest.h>

namespace attnc::cuda {
namespace {

TEST(Names, ofTheSpecAreKept) {
  for (const char *name : {"q", "Q", "size_i", "o_max", "Key", "_x", "x_", "beta1", "a_B"})
    EXPECT_EQ(Names().unique(name), name);
}

TEST(Names, takenOnesAreNumbered) {
  Names names;
  EXPECT_EQ(names.unique("s"), "s");
  EXPECT_EQ(names.unique("s"), "s_2");
  EXPECT_EQ(names.unique("s_2"), "s_2_2");
  EXPECT_EQ(names.unique("s"), "s_3");
  EXPECT_EQ(names.unique("s_"), "s_");
  EXPECT_EQ(names.unique("s_"), "s_4"); // not s__2: two underscores are the compiler's
}

TEST(Names, wordsOfTheLanguageAreNumbered) {
  for (const char *name : {"int", "class", "co_await", "char8_t", "static_cast", "thread_local",
                           "threadIdx", "warpSize", "float4", "assert", "linux", "exp", "attnc"})
    EXPECT_EQ(Names().unique(name), name + std::string("_2"));
}

TEST(Names, ofTheCompilerAndItsHeadersAreSpeltDifferently) {
  EXPECT_EQ(Names().unique("__global__"), "_global_");
  EXPECT_EQ(Names().unique("__syncthreads"), "_syncthreads");
  EXPECT_EQ(Names().unique("a__b___c"), "a_b_c");
  EXPECT_EQ(Names().unique("_Bool"), "Bool");
  EXPECT_EQ(Names().unique("__"), "v_");
}

TEST(Names, capitalsMayBeMacros) {
  EXPECT_EQ(Names().unique("NULL"), "v_NULL");
  EXPECT_EQ(Names().unique("M_PI"), "v_M_PI");
  EXPECT_EQ(Names().unique("__CUDA_ARCH__"), "v_CUDA_ARCH_");
}

TEST(Names, areIdentifiers) {
  EXPECT_EQ(Names().unique("x.y"), "x_u2Ey");
  EXPECT_EQ(Names().unique("2x"), "v2x");
  EXPECT_EQ(Names().unique(""), "v");
}

} // namespace
} // namespace attnc::cuda
