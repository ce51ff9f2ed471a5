// PTX files and their .launch.json, launched by a program that knows nothing of attnc
// (docs/examples/launch_ptx.c). Needs NVRTC; what it gives, also a GPU.
#include "runtime/cuda/driver.h"
#include "runtime/npy/npy.h"
#include "tests/e2e/tools/tool.h"

#include <cstdlib>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;

/// Compiles a spec to files in `folder`; false if there is no NVRTC.
bool compileTo(const TemporaryFolder &folder, const std::string &spec, const std::string &extents,
               const std::string &target) {
  std::vector<std::string> command = {"compile",       spec,     "--target",
                                      target,          "--emit", "ptx",
                                      "--launch-json", "-o",     folder.file("x.ptx")};
  if (!extents.empty())
    command.insert(command.end(), {"--set", extents});
  Ended ended = attnc(command);
  if (ended.exit == 4)
    return false;
  EXPECT_EQ(ended.exit, 0) << ended.err;
  return true;
}

TEST(LaunchFiles, areAllThatTheJsonNames) {
  TemporaryFolder folder;
  Ended ended = attnc({"compile", "causal", "--target", "sm_90a", "--emit", "cubin",
                       "--launch-json", "-o", folder.file("x.cubin"), "--json"});
  if (ended.exit == 4)
    GTEST_SKIP() << "there is no NVRTC";
  EXPECT_EQ(ended.json().at("launch_json"), folder.file("x.launch.json"));
  auto json = nlohmann::json::parse(readText(folder.file("x.launch.json")));
  std::set<std::string> kernels;
  for (const auto &kernel : json.at("kernels")) {
    kernels.insert(kernel.at("name"));
    EXPECT_THAT(readText(folder.file(kernel.at("file"))),
                HasSubstr(kernel.at("symbol").get<std::string>()));
  }
  for (const auto &variant : json.at("variants"))
    for (const auto &launch : variant.at("launches"))
      EXPECT_EQ(kernels.count(launch.at("kernel")), 1u);
  EXPECT_EQ(kernels.count("align_k"), 1u) << "the copies of unaligned tensors are there";
}

/// Random bf16.
void writeRandom(const std::string &path, std::vector<std::int64_t> shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  NpyArray array{DType::BF16, std::move(shape), {}};
  std::int64_t count = 1;
  for (std::int64_t extent : array.shape)
    count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits = floatToBFloat(normal(random));
    array.data.push_back(static_cast<std::byte>(bits & 255));
    array.data.push_back(static_cast<std::byte>(bits >> 8));
  }
  ASSERT_TRUE(writeNpy(array, path).ok());
}

/// A spec and the shapes of its inputs, bf16.
struct Case {
  const char *spec;
  std::vector<std::pair<const char *, std::vector<std::int64_t>>> inputs;
  const char *extents = ""; ///< that are not the spec's
};

// Each runs another variant: the first; rows of `bias` that are not aligned, so that all is copied;
// too few tiles of rows for a GPU, which fold the keys in parts.
Case direct() {
  return {"causal", {{"q", {2, 3, 129, 64}}, {"k", {2, 3, 200, 64}}, {"v", {2, 3, 200, 64}}}};
}
Case copied() {
  return {"bias",
          {{"q", {1, 2, 70, 64}},
           {"k", {1, 2, 91, 64}},
           {"v", {1, 2, 91, 64}},
           {"bias", {1, 2, 70, 91}}}};
}
Case inParts() {
  return {"causal", {{"q", {1, 1, 8192, 64}}, {"k", {1, 1, 8192, 64}}, {"v", {1, 1, 8192, 64}}}};
}

// A wide head, whose blocks run in clusters.
Case inClusters() {
  return {"ffpa",
          {{"q", {1, 1, 70, 768}}, {"k", {1, 1, 91, 768}}, {"v", {1, 1, 91, 768}}},
          "d=768,e=768"};
}

/// A setting, or where the test was built what belongs to it.
std::string setting(const char *variable, const char *otherwise) {
  const char *value = std::getenv(variable);
  return value ? value : otherwise;
}

/// The output on the same random inputs, by attnc and by the other launcher:
/// "ours.npy" and "theirs.npy", and where `logs` what the driver was told, in "ours.log" and
/// "theirs.log". False if there is no NVRTC.
bool launchBoth(const TemporaryFolder &folder, const std::string &target, const Case &of,
                bool logs = false) {
  if (!compileTo(folder, of.spec, of.extents, target))
    return false;
  std::vector<std::string> run = {"run", of.spec, "--target", target, "--param", "scale=0.1"};
  if (*of.extents)
    run.insert(run.end(), {"--set", of.extents});
  std::vector<std::string> launch = {folder.file("x.launch.json"), "scale=0.1",
                                     "o=" + folder.file("theirs.npy")};
  unsigned seed = 0;
  for (const auto &[name, shape] : of.inputs) {
    std::string file = folder.file(std::string(name) + ".npy");
    writeRandom(file, shape, ++seed);
    run.insert(run.end(), {"--input", fmt::format("{}={}", name, file)});
    launch.push_back(fmt::format("{}={}", name, file));
  }
  run.insert(run.end(), {"--output", "o=" + folder.file("ours.npy")});
  if (logs)
    setenv("ATTNC_FAKE_DRIVER_LOG", folder.file("ours.log").c_str(), 1);
  Ended ours = attnc(run);
  EXPECT_EQ(ours.exit, 0) << ours.err;
  if (logs)
    setenv("ATTNC_FAKE_DRIVER_LOG", folder.file("theirs.log").c_str(), 1);
  Ended theirs = runProgram(setting("ATTNC_LAUNCH_PTX", ATTNC_LAUNCH_PTX), launch);
  EXPECT_EQ(theirs.exit, 0) << theirs.err;
  return true;
}

void expectAttncsBits(const std::string &target, const Case &of) {
  TemporaryFolder folder;
  if (!launchBoth(folder, target, of))
    GTEST_SKIP() << "there is no NVRTC";
  Result<NpyArray> a = readNpy(folder.file("ours.npy")), b = readNpy(folder.file("theirs.npy"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->shape, b->shape);
  EXPECT_TRUE(a->data == b->data) << "other bits";
}

/// Processes that are started while it lives find the fake driver.
class FakeDriver {
public:
  FakeDriver() : before(setting("LD_LIBRARY_PATH", "")) {
    std::string folder = setting("ATTNC_FAKE_DRIVER", ATTNC_FAKE_DRIVER);
    setenv("LD_LIBRARY_PATH", (folder + ":" + before).c_str(), 1);
  }
  ~FakeDriver() { setenv("LD_LIBRARY_PATH", before.c_str(), 1); }
  FakeDriver(const FakeDriver &) = delete;
  FakeDriver &operator=(const FakeDriver &) = delete;

private:
  std::string before;
};

/// The compute capability of the GPU, 90; 0 if there is none.
int capability() {
  Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(0);
  return device ? 10 * (*device)->properties().major + (*device)->properties().minor : 0;
}

/// What both launchers tell the driver; empty if there is no NVRTC.
std::string launchLog(const std::string &target, const Case &of) {
  FakeDriver fake;
  TemporaryFolder folder;
  if (!launchBoth(folder, target, of, /*logs=*/true))
    return "";
  std::string ours = readText(folder.file("ours.log"));
  EXPECT_EQ(readText(folder.file("theirs.log")), ours) << target << " " << of.spec;
  EXPECT_THAT(ours, HasSubstr("0x3dcccccd")) << "the scale";
  return ours;
}

TEST(LaunchFiles, tellTheDriverWhatAttncTellsIt) {
  std::string portable = launchLog("sm_80", direct());
  if (portable.empty())
    GTEST_SKIP() << "there is no NVRTC";
  EXPECT_THAT(portable, HasSubstr("causal_o grid"));
  std::string copies = launchLog("sm_90a", copied());
  EXPECT_THAT(copies, HasSubstr("align_bias grid"));
  EXPECT_THAT(copies, HasSubstr("map of memory: type 9"));
  EXPECT_THAT(launchLog("sm_90a", inClusters()), HasSubstr("attribute -4 = 2"));
  EXPECT_THAT(launchLog("sm_90a", inParts()), testing::ContainsRegex("grid(.|\n)*grid"));
}

TEST(LaunchFiles, GpuGivesAttncsBitsFromPortablePtx) {
  if (capability() < 80)
    GTEST_SKIP() << "there is no GPU for sm_80";
  for (const Case &each : {direct(), copied(), inParts()})
    expectAttncsBits("sm_80", each);
}

TEST(LaunchFiles, GpuGivesAttncsBitsFromPtxForHopper) {
  if (capability() != 90)
    GTEST_SKIP() << "there is no GPU for sm_90a";
  for (const Case &each : {direct(), copied(), inParts(), inClusters()})
    expectAttncsBits("sm_90a", each);
}

} // namespace
} // namespace attnc::e2e
