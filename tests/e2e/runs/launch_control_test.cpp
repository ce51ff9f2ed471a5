// Loops of launches, and launches that depend on a flag, on the processor.
#include "compiler/evaluator/inputs/inputs.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

/// `full` on the processor, whose one launch is guarded by an input `go` and repeated `times`
/// times.
class LaunchControl : public testing::Test {
protected:
  /// Whether the launch has written all of its output, or nothing.
  bool computes(std::int32_t go, std::int64_t times) {
    driver::CompileOptions options;
    Result<driver::Compilation> compilation = driver::compile(*spec, options);
    EXPECT_TRUE(compilation.ok()) << compilation.error().text();
    Manifest &manifest = compilation->program.manifest;
    manifest.inputs.push_back({"go", DType::I32, {}});
    VariantDecl &variant = manifest.variants.front();
    variant.launches.front().guard = "go";
    variant.loops = {{"pass", Expr::constant(times), 0, 1}};
    EXPECT_TRUE(checkManifest(manifest).ok());
    auto executor = driver::makeExecutor(*compilation, nullptr);
    EXPECT_TRUE(executor.ok()) << executor.error().text();
    auto inputs = evaluator::makeInputs(driver::programOf(*spec), spec.extents({3, 5}), /*seed=*/1);
    EXPECT_TRUE(bool(inputs));
    driver::RunRequest request = driver::runRequest(manifest, *inputs);
    driver::HostTensor flag{DType::I32, {}, std::vector<std::byte>(sizeof go)};
    std::memcpy(flag.data.data(), &go, sizeof go);
    request.inputs["go"] = flag;
    Result<driver::RunResult> result = (*executor)->run(request);
    EXPECT_TRUE(result.ok()) << result.error().text();
    const driver::HostTensor &output = result->outputs.begin()->second;
    std::vector<std::uint16_t> elements(static_cast<std::size_t>(output.elements()));
    std::memcpy(elements.data(), output.data.data(), output.data.size());
    auto poisoned = std::count(elements.begin(), elements.end(), 0xffff); // a NaN in bf16
    EXPECT_TRUE(poisoned == 0 || poisoned == std::ssize(elements)) << poisoned;
    return poisoned == 0;
  }

  LoadedSpec spec{"full"};
};

TEST_F(LaunchControl, AFlagIsReadBeforeTheLaunch) {
  EXPECT_TRUE(computes(1, 1));
  EXPECT_TRUE(computes(-7, 1));
  EXPECT_FALSE(computes(0, 1));
}

TEST_F(LaunchControl, ALoopWithoutPassesLaunchesNothing) {
  EXPECT_TRUE(computes(1, 3));
  EXPECT_FALSE(computes(1, 0));
}

} // namespace
} // namespace attnc::e2e
