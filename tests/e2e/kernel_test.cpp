// The kernels of the library compile for every GPU target without spills and without the notes of
// ptxas that mean a slow kernel. Needs NVRTC, not a GPU.
#include "compiler/driver/compile.h"
#include "tests/e2e/variant.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

struct KernelCase {
  std::string spec, target, type;
  int width;
};

std::ostream &operator<<(std::ostream &os, const KernelCase &c) {
  return os << c.spec << " " << c.target << " " << c.type << " " << c.width;
}

std::vector<KernelCase> kernelCases() {
  std::vector<KernelCase> cases;
  for (const std::string &spec : e2e::specNames())
    for (const char *target : {"sm_80", "sm_90a"})
      cases.push_back({spec, target, "bf16", 64});
  for (int width : {16, 40, 96, 128, 192, 256})
    for (const char *type : {"f16", "f32"})
      cases.push_back({"causal", "sm_90a", type, width});
  for (const char *spec : {"bias", "full", "softcap"})
    for (int width : {128, 256})
      cases.push_back({spec, "sm_90a", "bf16", width});
  return cases;
}

class LibraryKernel : public testing::TestWithParam<KernelCase> {};

void expectClean(const driver::NestReport &nest) {
  ASSERT_TRUE(nest.resources) << nest.kernel;
  EXPECT_EQ(nest.resources->spillStores, 0) << nest.kernel;
  EXPECT_EQ(nest.resources->spillLoads, 0) << nest.kernel;
  EXPECT_EQ(nest.resources->stackBytes, 0) << nest.kernel;
  EXPECT_TRUE(nest.ptxasNotes.empty()) << nest.kernel << ": " << nest.ptxasNotes[0];
}

TEST_P(LibraryKernel, HasNoSpills) {
  Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  const KernelCase &c = GetParam();
  e2e::LoadedSpec spec(
      c.spec, {{"T", c.type}, {"d", std::to_string(c.width)}, {"e", std::to_string(c.width)}});
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.target = c.target;
  options.nvrtc = nvrtc->get();
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation) << compilation.error().text();
  ASSERT_EQ(compilation->nests.size(), 1u);
  const driver::NestReport &nest = compilation->nests[0];
  bool warpgroups = c.target == "sm_90a" && c.type != "f32";
  EXPECT_EQ(nest.form, warpgroups ? "warpgroups" : "stream") << nest.whyGeneric;
  expectClean(nest);
  if (nest.fallback)
    expectClean(*nest.fallback);
}

INSTANTIATE_TEST_SUITE_P(Targets, LibraryKernel, testing::ValuesIn(kernelCases()));

} // namespace
} // namespace attnc
