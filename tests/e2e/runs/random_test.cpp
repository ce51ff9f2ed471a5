// Random numbers are the same on every target, bit for bit, whatever the tiles.
#include "compiler/driver/execution/interpreter_executor.h"
#include "dialects/Attn/Random.h"
#include "tests/e2e/variant.h"
#include <cstring>

namespace attnc::e2e {
namespace {

// Sizes on both sides of tiles, rows that are not a multiple of the four words of a block.
constexpr int64_t batches = 2, rows = 37, columns = 150;

/// The numbers that an executor computes for `random_numbers` at x = 0.
void expectExactNumbers(const driver::Executor &executor, int64_t seed) {
  driver::RunRequest request;
  driver::HostTensor x{DType::F32, {batches, rows, columns}, {}};
  x.data.resize(batches * rows * columns * sizeof(float));
  request.inputs["x"] = x;
  request.params["seed"] = Scalar{seed};
  Result<driver::RunResult> result = executor.run(request);
  ASSERT_TRUE(result.ok()) << result.error().text();
  auto element = [&](const char *name, int64_t at) {
    float value;
    std::memcpy(&value, result->outputs.at(name).data.data() + at * sizeof(float), sizeof(float));
    return value;
  };
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(element("row", b * rows + i), attn::uniform(-1, 0, 0, 0, i)) << b << " " << i;
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(element("noise", (b * rows + i) * columns + j),
                  attn::uniform(seed - batches, 0, b, 3 - i, 5 * j - 7))
            << b << " " << i << " " << j;
    }
}

constexpr int64_t seeds[] = {0, 1, 12345678901, -5};

TEST(CpuRandom, isTheSameBitForBit) {
  LoadedSpec spec("random_numbers");
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (int64_t seed : seeds)
    expectExactNumbers(**executor, seed);
}

Result<std::unique_ptr<driver::Executor>> interpret(const Spec &spec, const std::string &target,
                                                    const nlohmann::json &schedule = {}) {
  driver::CompileOptions options;
  options.target = target;
  options.schedule = schedule;
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(spec, options);
  if (!compilation)
    return compilation.error();
  return driver::makeInterpreterExecutor(*compilation);
}

TEST(InterpretedRandom, isTheSameBitForBit) {
  LoadedSpec spec("random_numbers");
  ASSERT_TRUE(spec);
  for (const char *target : {"sm_80", "sm_90a"}) {
    auto executor = interpret(*spec, target);
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    for (int64_t seed : seeds)
      expectExactNumbers(**executor, seed);
  }
}

/// Dropout with several seeds and probabilities, against the evaluator's choice of weights: one
/// weight that is kept here and not there is an error of about 1/keep.
void expectCorrectDropout(const Spec &spec, const driver::Executor &executor) {
  for (double keep : {1.0, 0.5, 0.01})
    for (int64_t seed : {0ll, -3ll, 1ll << 39}) {
      driver::CheckRequest request;
      request.extents = {{"b", 2}, {"h", 2}, {"i", 33}, {"j", 75}};
      request.params = {{"keep", keep}, {"seed", static_cast<double>(seed)}};
      auto report = driver::checkProgram(spec, executor, request);
      ASSERT_TRUE(report.ok()) << report.error().text();
      EXPECT_TRUE(report->ok()) << keep << " " << seed << ": " << report->worst()->why();
    }
}

TEST(CpuRandom, dropoutFollowsItsParams) {
  LoadedSpec spec("dropout");
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  expectCorrectDropout(*spec, **executor);
}

TEST(InterpretedRandom, dropoutFollowsItsParams) {
  for (const char *type : {"bf16", "f16", "f32"})
    for (const char *target : {"sm_80", "sm_90a"}) {
      LoadedSpec spec("dropout", {{"T", type}, {"d", "16"}, {"e", "16"}});
      ASSERT_TRUE(spec);
      auto executor = interpret(*spec, target);
      ASSERT_TRUE(executor.ok()) << executor.error().text();
      expectCorrectDropout(*spec, **executor);
    }
}

TEST(InterpretedRandom, dropoutIsTheSameForAllTiles) {
  LoadedSpec spec("dropout");
  ASSERT_TRUE(spec);
  for (const char *schedule :
       {R"({"groups": 1, "stream_tile": 48})", R"({"groups": 2, "stream_tile": 96})",
        R"({"groups": 3, "ping_pong": true, "persistent": true})"}) {
    auto executor = interpret(*spec, "sm_90a", nlohmann::json::parse(schedule));
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    expectCorrectDropout(*spec, **executor);
  }
}

TEST(GpuRandom, isTheSameBitForBit) {
  auto device = openGpu();
  if (!device)
    GTEST_SKIP() << device.error().text();
  LoadedSpec spec("random_numbers");
  ASSERT_TRUE(spec);
  auto executor = makeExecutor(*spec, *device);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (int64_t seed : seeds)
    expectExactNumbers(**executor, seed);
}

} // namespace
} // namespace attnc::e2e
