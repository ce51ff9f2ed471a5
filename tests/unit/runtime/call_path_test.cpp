// What calls cost and hand to the driver, on a driver that only counts (fake_driver.h).
#include "runtime/program/loaded_program.h"

#include "tests/unit/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace attnc;

namespace {

const char *ptx = R"(.visible .entry part(
	.param .align 64 .b8 part_param_0[128],
	.param .u64 part_param_1,
	.param .u64 part_param_2,
	.param .u32 part_param_3,
	.param .u64 part_param_4
)
.visible .entry merge(
	.param .u64 merge_param_0,
	.param .align 64 .b8 merge_param_1[128],
	.param .f32 merge_param_2,
	.param .u64 merge_param_3
)
)";

/// o[n, d] from x[n, d]: `part` writes t for each of two parts, `merge` reads it. With all that an
/// address can stand in: tensors, a part of one, intermediates, maps of both, counters.
Manifest twoKernels() {
  Manifest manifest;
  manifest.name = "two";
  manifest.target = "sm_90a";
  manifest.dims = {{"n", {}, 0}, {"d", Expr::constant(32), 1}};
  manifest.inputs = {{"x", DType::F32, {"n", "d"}}};
  manifest.outputs = {{"o", DType::F32, {"n", "d"}}};
  manifest.intermediates = {{"t", DType::F32, {"n", "d"}, 16}};
  manifest.params = {{"scale", DType::F32, Expr::constant(2), {}, {}}};
  Expr shared = Expr::apply(ExprOp::Mul, {Expr::size("n"), Expr::constant(1024)});
  manifest.kernels = {{"part", "main", "part", 128, shared, {}},
                      {"merge", "main", "merge", 64, Expr::constant(0), {}, 2}};
  for (KernelDecl &kernel : manifest.kernels)
    kernel.startsEarly = true;
  Expr pass = Expr::let("p"), one = Expr::constant(1);
  LaunchDecl part{"part", {Expr::size("n"), one, one}, {}};
  part.args = {ArgDecl::tensorMap("x", {32, 8}), ArgDecl::pointer("x"), ArgDecl::pointer("t"),
               ArgDecl::value(pass, DType::I32), ArgDecl::counter()};
  part.args[1].offset = Expr::apply(ExprOp::Mul, {pass, Expr::size("d")});
  LaunchDecl merge{"merge", {Expr::constant(2), one, one}, {}};
  merge.args = {ArgDecl::pointer("t"), ArgDecl::tensorMap("t", {32, 8}), ArgDecl::param("scale"),
                ArgDecl::pointer("o")};
  manifest.variants = {{{}, {part, merge}, {}, {{"p", Expr::constant(2), 0, 1}}}};
  return manifest;
}

/// `merge` alone, on x: no workspace.
Manifest oneKernel() {
  Manifest manifest = twoKernels();
  VariantDecl &variant = manifest.variants[0];
  variant.loops.clear();
  variant.launches.erase(variant.launches.begin());
  variant.launches[0].args[0] = ArgDecl::pointer("x");
  variant.launches[0].args[1] = ArgDecl::tensorMap("x", {32, 8});
  manifest.intermediates.clear();
  return manifest;
}

class CallPath : public testing::Test {
protected:
  void SetUp() override {
    auto opened = CudaDevice::open(0);
    ASSERT_TRUE(opened) << opened.error().text();
    device = *std::move(opened);
    ASSERT_EQ(device->properties().name, "no GPU"); // the fake, wherever this runs
  }

  std::unique_ptr<LoadedProgram> load(const Manifest &manifest) {
    EXPECT_TRUE(checkManifest(manifest));
    auto loaded = LoadedProgram::load(device, {manifest, {{ImageKind::Ptx, "main", ptx}}, {}});
    EXPECT_TRUE(loaded) << loaded.error().text();
    return *std::move(loaded);
  }

  Binding bindTo(const Manifest &manifest, const DeviceBuffer &x, const DeviceBuffer &o) {
    BindRequest request;
    request.device = {DeviceKind::Cuda, 0};
    std::int64_t rows = static_cast<std::int64_t>(x.bytes()) / 128;
    request.inputs["x"] = TensorRef::contiguous(x.data(), DType::F32, {rows, 32}, request.device);
    request.outputs["o"] = TensorRef::contiguous(o.data(), DType::F32, {rows, 32}, request.device);
    Result<Binding> binding = bind(manifest, request);
    EXPECT_TRUE(binding) << binding.error().text();
    return *binding;
  }

  /// The arguments of all launches since the last reset.
  static std::vector<std::string> launched() {
    std::vector<std::string> list;
    for (std::size_t number = 0; number < fakeLaunches(); ++number) {
      const FakeLaunch &launch = *fakeLaunch(number);
      list.push_back(std::string(launch.symbol) + ":" +
                     std::string(reinterpret_cast<const char *>(launch.arguments), launch.bytes));
    }
    return list;
  }

  template <typename T> static T argument(std::size_t launch, std::size_t byte) {
    T value;
    std::memcpy(&value, fakeLaunch(launch)->arguments + byte, sizeof value);
    return value;
  }

  std::shared_ptr<CudaDevice> device;
  static constexpr std::size_t rows = 64, bytes = rows * 128;
};

TEST_F(CallPath, KernelsGetAddressesPartsMapsAndCounters) {
  auto loaded = load(twoKernels());
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  DeviceBuffer workspace = *device->allocate(2 * bytes);
  ASSERT_TRUE(workspace.fill(0xff));
  auto prepared = loaded->prepare(bindTo(loaded->manifest(), x, o));
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(LoadedProgram::workspaceBytes(**prepared), static_cast<std::int64_t>(bytes) + 256);
  fakeReset();
  ASSERT_TRUE(loaded->launch(**prepared, nullptr, workspace.data()));
  ASSERT_EQ(fakeLaunches(), 3u);
  char *t = static_cast<char *>(workspace.data()), *counters = argument<char *>(0, 148);
  for (std::size_t pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(argument<void *>(pass, 0), x.data()); // the base of the map
    EXPECT_EQ(argument<char *>(pass, 128), static_cast<char *>(x.data()) + 128 * pass);
    EXPECT_EQ(argument<char *>(pass, 136), t);
    EXPECT_EQ(argument<std::int32_t>(pass, 144), static_cast<std::int32_t>(pass));
    EXPECT_EQ(argument<char *>(pass, 148), counters + 4 * pass);
    EXPECT_EQ(fakeLaunch(pass)->sharedBytes, rows * 1024);
    EXPECT_EQ(fakeLaunch(pass)->grid[0], rows);
  }
  EXPECT_EQ(argument<char *>(2, 0), t);
  EXPECT_EQ(argument<char *>(2, 8), t);
  EXPECT_EQ(argument<float>(2, 136), 2.0F);
  EXPECT_EQ(argument<void *>(2, 140), o.data());
  EXPECT_EQ(fakeLaunch(2)->cluster, 2u);
  EXPECT_FALSE(fakeLaunch(0)->startsEarly); // what came before is somebody else's
  EXPECT_TRUE(fakeLaunch(1)->startsEarly);
  EXPECT_TRUE(fakeLaunch(2)->startsEarly);
}

// Kernels leave counters at 0, so launches of one stream share some that were set to 0 once.
TEST_F(CallPath, AStreamKeepsItsCounters) {
  auto loaded = load(twoKernels());
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  auto prepared = loaded->prepare(bindTo(loaded->manifest(), x, o));
  ASSERT_TRUE(prepared) << prepared.error().text();
  auto countersOn = [&](CuHandle stream) {
    fakeReset();
    EXPECT_TRUE(loaded->launch(**prepared, stream));
    EXPECT_EQ(fakeCalls("cuMemsetD32Async"), 0);
    return argument<std::int32_t *>(0, 148);
  };
  CudaStream other = *device->createStream();
  std::int32_t *first = countersOn(nullptr), *second = countersOn(other.handle());
  EXPECT_EQ(first[0], 0); // the fake's memory is the host's
  EXPECT_EQ(first[1], 0);
  EXPECT_GE(std::abs(first - second), 64);
  EXPECT_EQ(countersOn(nullptr), first);
  EXPECT_EQ(countersOn(other.handle()), second);
}

// Blocks of two kernels share a multiprocessor only if they ask for the same split of its memory.
TEST_F(CallPath, KernelsBesideEachOtherAskForSharedMemory) {
  for (bool isBeside : {false, true}) {
    Manifest manifest = twoKernels(); // the first of which has shared memory
    manifest.variants[0].loops.clear();
    manifest.variants[0].launches[0].args[3] = ArgDecl::value(Expr::constant(0), DType::I32);
    manifest.variants[0].launches[0].args[1].offset.reset();
    manifest.variants[0].launches[1].beside = isBeside;
    fakeReset();
    auto loaded = load(manifest);
    EXPECT_EQ(fakeCalls("cuFuncSetAttribute: carveout"), isBeside);
  }
}

// Kernels beside each other may be those of two threads' launches.
TEST_F(CallPath, CallsBesideEachOtherKeepNone) {
  Manifest manifest = twoKernels();
  manifest.variants[0].loops.clear();
  manifest.variants[0].launches[0].args[3] = ArgDecl::value(Expr::constant(0), DType::I32);
  manifest.variants[0].launches[0].args[1].offset.reset();
  manifest.variants[0].launches[1].beside = true;
  auto loaded = load(manifest);
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  auto prepared = loaded->prepare(bindTo(loaded->manifest(), x, o));
  ASSERT_TRUE(prepared) << prepared.error().text();
  fakeReset();
  ASSERT_TRUE(loaded->launch(**prepared, nullptr));
  EXPECT_EQ(fakeCalls("cuMemsetD32Async"), 1);
}

TEST_F(CallPath, AWorkspaceOfCountersAloneIsTakenWhereNoneAreKept) {
  Manifest manifest = twoKernels();
  manifest.intermediates.clear();
  manifest.variants[0].launches.pop_back();
  manifest.variants[0].launches[0].args[2] = ArgDecl::pointer("o");
  auto loaded = load(manifest);
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  auto prepared = loaded->prepare(bindTo(loaded->manifest(), x, o));
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(LoadedProgram::workspaceBytes(**prepared), 256);
  for (bool isCaptured : {false, true}) {
    fakeCapture(isCaptured);
    fakeReset();
    EXPECT_TRUE(loaded->launch(**prepared, nullptr));
    for (const char *function : {"cuMemAllocAsync", "cuMemsetD32Async", "cuMemFreeAsync"})
      EXPECT_EQ(fakeCalls(function), isCaptured) << function;
  }
  fakeCapture(false);
}

// A graph may run beside the stream that it was captured from, and so may streams beyond those that
// counters are kept for: these have counters in the workspace, set to 0 before each launch.
TEST_F(CallPath, OthersHaveCountersInTheWorkspace) {
  auto loaded = load(twoKernels());
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  DeviceBuffer workspace = *device->allocate(2 * bytes);
  auto prepared = loaded->prepare(bindTo(loaded->manifest(), x, o));
  ASSERT_TRUE(prepared) << prepared.error().text();
  auto areInWorkspace = [&](CuHandle stream) {
    EXPECT_TRUE(workspace.fill(0xff));
    fakeReset();
    EXPECT_TRUE(loaded->launch(**prepared, stream, workspace.data()));
    std::int32_t counters[3];
    EXPECT_TRUE(workspace.download(counters, sizeof counters, bytes));
    bool areClear = counters[0] == 0 && counters[1] == 0 && counters[2] == -1;
    EXPECT_EQ(areClear, fakeCalls("cuMemsetD32Async") == 1);
    char *at = argument<char *>(0, 148);
    EXPECT_EQ(areClear, at == static_cast<char *>(workspace.data()) + bytes);
    EXPECT_EQ(argument<char *>(1, 148), at + 4);
    return areClear;
  };
  fakeCapture(true);
  EXPECT_TRUE(areInWorkspace(nullptr));
  fakeCapture(false);
  EXPECT_FALSE(areInWorkspace(nullptr));
  std::vector<CudaStream> streams;
  for (int number = 1; number < 64; ++number) {
    streams.push_back(*device->createStream());
    EXPECT_FALSE(areInWorkspace(streams.back().handle())) << number;
  }
  streams.push_back(*device->createStream());
  EXPECT_TRUE(areInWorkspace(streams.back().handle()));
  EXPECT_FALSE(areInWorkspace(streams.front().handle()));
}

// A layout at other addresses is what a call that evaluates everything there gives.
TEST_F(CallPath, ALayoutGivesAtOtherAddressesWhatANewCallGives) {
  for (const Manifest &manifest : {oneKernel(), twoKernels()}) {
    auto loaded = load(manifest);
    DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
    DeviceBuffer otherX = *device->allocate(bytes), otherO = *device->allocate(bytes);
    DeviceBuffer workspace = *device->allocate(2 * bytes);
    auto layout = loaded->layoutOf(bindTo(loaded->manifest(), x, o));
    ASSERT_TRUE(layout) << layout.error().text();
    void *tensors[] = {otherX.data(), otherO.data()};
    fakeReset();
    ASSERT_TRUE(loaded->launch(**layout, tensors, nullptr, workspace.data()));
    EXPECT_EQ(fakeCalls("cuTensorMapEncodeTiled"), 0);
    std::vector<std::string> fromLayout = launched();
    auto fresh = loaded->prepare(bindTo(loaded->manifest(), otherX, otherO));
    ASSERT_TRUE(fresh) << fresh.error().text();
    fakeReset();
    ASSERT_TRUE(loaded->launch(**fresh, nullptr, workspace.data()));
    EXPECT_EQ(launched(), fromLayout);
    EXPECT_FALSE(fromLayout.empty());
  }
}

// Calls of the driver, of which each takes about as long as everything else together.
TEST_F(CallPath, ALaunchCallsTheDriverNoMoreThanItMust) {
  auto one = load(oneKernel()), two = load(twoKernels());
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  DeviceBuffer workspace = *device->allocate(2 * bytes);
  auto ofOne = one->prepare(bindTo(one->manifest(), x, o));
  auto ofTwo = two->prepare(bindTo(two->manifest(), x, o));
  ASSERT_TRUE(ofOne && ofTwo);
  auto makeCurrent = reinterpret_cast<int (*)(void *)>(dlsym(RTLD_DEFAULT, "cuCtxSetCurrent"));
  auto retain =
      reinterpret_cast<int (*)(void **, int)>(dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxRetain"));
  void *context = nullptr;
  retain(&context, 0);
  makeCurrent(context); // as PyTorch and the CUDA runtime do
  fakeReset();
  ASSERT_TRUE(one->launch(**ofOne, nullptr));
  EXPECT_EQ(fakeCalls(nullptr), 1);
  fakeReset();
  ASSERT_TRUE(two->launch(**ofTwo, nullptr, workspace.data()));
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 1); // the others start early
  EXPECT_EQ(fakeCalls("cuLaunchKernelEx"), 2);
  EXPECT_EQ(fakeCalls("cuTensorMapReplaceAddress"), 1);
  EXPECT_EQ(fakeCalls("cuStreamIsCapturing"), 1); // which take less than a launch that clears
  EXPECT_EQ(fakeCalls("cuStreamGetId"), 1);
  EXPECT_EQ(fakeCalls(nullptr), 6);
  fakeReset();
  ASSERT_TRUE(two->launch(**ofTwo, nullptr));
  EXPECT_EQ(fakeCalls("cuMemAllocAsync"), 1);
  EXPECT_EQ(fakeCalls("cuMemFreeAsync"), 1);
  EXPECT_EQ(fakeCalls(nullptr), 8);
  makeCurrent(nullptr);
  fakeReset();
  ASSERT_TRUE(one->launch(**ofOne, nullptr));
  EXPECT_EQ(fakeCalls("cuCtxPushCurrent"), 1); // and what was current is again
  void *after = context;
  reinterpret_cast<int (*)(void **)>(dlsym(RTLD_DEFAULT, "cuCtxGetCurrent"))(&after);
  EXPECT_EQ(after, nullptr);
}

TEST_F(CallPath, MoreSharedMemoryOnceAllowedStaysAllowed) {
  auto loaded = load(twoKernels());
  auto layoutFor = [&](std::size_t n) {
    DeviceBuffer x = *device->allocate(n * 128), o = *device->allocate(n * 128);
    auto layout = loaded->layoutOf(bindTo(loaded->manifest(), x, o));
    return layout ? "" : layout.error().message;
  };
  fakeReset();
  EXPECT_EQ(layoutFor(40), ""); // 40 KiB need no leave
  EXPECT_EQ(fakeCalls("cuFuncSetAttribute"), 0);
  EXPECT_EQ(layoutFor(100), "");
  EXPECT_EQ(fakeCalls("cuFuncSetAttribute"), 1);
  EXPECT_EQ(layoutFor(60), "");
  EXPECT_EQ(fakeCalls("cuFuncSetAttribute"), 1);
  EXPECT_EQ(layoutFor(228), "kernel part needs 233472 bytes of shared memory, no GPU has 232448");
}

TEST_F(CallPath, LayoutsAreRememberedUnderTheirKeys) {
  auto loaded = load(oneKernel());
  DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
  LayoutKey key{{7}};
  EXPECT_EQ(loaded->find(key), nullptr);
  auto layout = loaded->layoutOf(bindTo(loaded->manifest(), x, o), &key);
  ASSERT_TRUE(layout) << layout.error().text();
  EXPECT_EQ(loaded->find(key), *layout);
}

TEST_F(CallPath, PointersAreAskedForOnceAndInTheCheckingModeAtEachCall) {
  for (bool checks : {false, true}) {
    setenv("ATTNC_CHECK_POINTERS", checks ? "1" : "0", 1);
    auto loaded = load(oneKernel());
    unsetenv("ATTNC_CHECK_POINTERS");
    DeviceBuffer x = *device->allocate(bytes), o = *device->allocate(bytes);
    fakeReset();
    auto layout = loaded->layoutOf(bindTo(loaded->manifest(), x, o));
    ASSERT_TRUE(layout) << layout.error().text();
    EXPECT_GT(fakeCalls("cuPointerGetAttribute"), 0);
    fakeReset();
    std::vector<std::byte> host(bytes + 256);
    void *aligned =
        reinterpret_cast<void *>((reinterpret_cast<std::uintptr_t>(host.data()) + 255) / 256 * 256);
    Status status = loaded->checkTensors(**layout, std::array{aligned, o.data()});
    EXPECT_EQ(status.ok(), !checks);
    EXPECT_EQ(fakeCalls("cuPointerGetAttribute") > 0, checks);
    if (checks)
      EXPECT_NE(status.error().message.find("is host memory"), std::string::npos);
  }
}

TEST_F(CallPath, AnEmptyTensorHasAMapOfZeros) {
  auto loaded = load(oneKernel());
  DeviceBuffer nothing = *device->allocate(0);
  auto prepared = loaded->prepare(bindTo(loaded->manifest(), nothing, nothing));
  ASSERT_TRUE(prepared) << prepared.error().text();
  fakeReset();
  ASSERT_TRUE(loaded->launch(**prepared, nullptr));
  EXPECT_NE(argument<void *>(0, 8), nothing.data());
  EXPECT_NE(argument<void *>(0, 8), nullptr);
}

} // namespace
