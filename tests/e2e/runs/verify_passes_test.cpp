// Every spec through every pass that the evaluator can follow, and its nests in emulated f32.
#include "compiler/driver/execution/emulated_executor.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

std::vector<std::string> allSpecNames() {
  std::vector<std::string> names = specNames();
  llvm::append_range(names, furtherSpecNames());
  return names;
}

driver::CompileOptions scheduledFor(const std::string &target) {
  driver::CompileOptions options;
  options.target = target;
  options.upTo = driver::Stage::Tile;
  return options;
}

class VerifyPasses : public testing::TestWithParam<std::string> {};

TEST_P(VerifyPasses, keepTheMeaning) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  driver::CompileOptions options = scheduledFor("sm_90a");
  options.upTo = driver::Stage::Red;
  options.verifyPasses = true;
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  EXPECT_TRUE(compilation.ok()) << compilation.error().text();
}

INSTANTIATE_TEST_SUITE_P(All, VerifyPasses, testing::ValuesIn(allSpecNames()),
                         [](const auto &info) { return info.param; });

class EmulatedVariant : public testing::TestWithParam<std::string> {};

TEST_P(EmulatedVariant, staysWithinTheBounds) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  for (const char *target : {"sm_80", "sm_90a"}) {
    Result<driver::Compilation> compilation = driver::compile(*spec, scheduledFor(target));
    ASSERT_TRUE(compilation.ok()) << compilation.error().text();
    auto executor = driver::makeEmulatedExecutor(*compilation);
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    expectCorrect(*spec, **executor, spec.extents({33, 70}));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedVariant, testing::ValuesIn(allSpecNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace attnc::e2e
