#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/program/loaded_program.h"
#include "tests/unit/runtime/gpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

using namespace attnc;

namespace {

class Gpu : public OnGpu {};

/// y = scale * x through an intermediate, in two kernels; x f32[n, d], d = 4.
const char *source = R"(
extern "C" __global__ void copy(const float *x, long long stride, float *t, long long n) {
  extern __shared__ float row[];
  long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  row[threadIdx.x] = at < 4 * n ? x[at / 4 * stride + at % 4] : 0;
  __syncthreads();
  if (at < 4 * n) t[at] = row[threadIdx.x];
}
extern "C" __global__ void scale(const float *t, float factor, int width, float *y, long long n) {
  long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (at < width * n) y[at] = factor * t[at];
}
)";

Manifest scaleManifest(std::int64_t sharedBytes) {
  Manifest manifest;
  manifest.name = "scale";
  manifest.target = "sm_80";
  manifest.dims = {{"n", {}, 1}, {"d", Expr::constant(4), 1}};
  manifest.inputs = {{"x", DType::F32, {"n", "d"}, 0}};
  manifest.outputs = {{"y", DType::F32, {"n", "d"}, 0}};
  manifest.intermediates = {{"t", DType::F32, {"n", "d"}, 0}};
  manifest.params = {{"factor", DType::F32, Expr::constant(1), {}, {}}};
  manifest.kernels = {{"copy", "main", "copy", 128, Expr::constant(sharedBytes), {}},
                      {"scale", "main", "scale", 128, Expr::constant(0), {}}};
  Expr blocks =
      Expr::apply(ExprOp::CeilDiv, {Expr::apply(ExprOp::Mul, {Expr::size("n"), Expr::constant(4)}),
                                    Expr::constant(128)});
  LaunchDecl copy{"copy", {blocks, Expr::constant(1), Expr::constant(1)}, {}};
  copy.args = {ArgDecl::pointer("x"), ArgDecl::stride("x", 0), ArgDecl::pointer("t"),
               ArgDecl::size("n")};
  LaunchDecl scale{"scale", copy.grid, {}};
  scale.args = {ArgDecl::pointer("t"), ArgDecl::param("factor"),
                ArgDecl::value(Expr::size("d"), DType::I32), ArgDecl::pointer("y"),
                ArgDecl::size("n")};
  manifest.variants = {{{}, {copy, scale}}};
  return manifest;
}

/// The program, compiled for `cubin` (may be "") and as PTX for sm_80.
Program scaleProgram(const std::string &cubin, std::int64_t sharedBytes = 512) {
  auto nvrtc = Nvrtc::open();
  EXPECT_TRUE(nvrtc) << nvrtc.error().text();
  Program program{scaleManifest(sharedBytes), {}, {}};
  NvrtcRequest request;
  request.source = source;
  request.architecture = "sm_80";
  program.images.push_back({ImageKind::Ptx, "main", (*nvrtc)->compile(request)->ptx});
  if (!cubin.empty()) {
    request.architecture = cubin;
    program.images.push_back({ImageKind::Cubin, "main", (*nvrtc)->compile(request)->cubin});
  }
  return program;
}

using Launch = std::function<Status(const LoadedProgram &, const Binding &, CuHandle stream)>;

Status launchAtOnce(const LoadedProgram &loaded, const Binding &binding, CuHandle stream) {
  return loaded.launch(binding, stream);
}

void runAndCompare(const std::shared_ptr<CudaDevice> &device, const Program &program,
                   const Launch &launch = launchAtOnce) {
  auto loaded = LoadedProgram::load(device, program);
  ASSERT_TRUE(loaded) << loaded.error().text();
  constexpr std::int64_t rows = 1000, stride = 6;
  std::vector<float> x(rows * stride), y(rows * 4);
  std::iota(x.begin(), x.end(), 0.0f);
  DeviceBuffer dx = *device->allocate(x.size() * 4), dy = *device->allocate(y.size() * 4);
  ASSERT_TRUE(dx.upload(x.data(), x.size() * 4));
  ASSERT_TRUE(dy.fill(0xff));
  BindRequest request;
  request.device = {DeviceKind::Cuda, 0};
  request.inputs["x"] = {dx.data(), DType::F32, {rows, 4}, {stride, 1}, request.device};
  request.outputs["y"] = TensorRef::contiguous(dy.data(), DType::F32, {rows, 4}, request.device);
  request.params["factor"] = Scalar(3.0);
  Result<Binding> binding = bind((*loaded)->manifest(), request);
  ASSERT_TRUE(binding) << binding.error().text();
  CudaStream stream = *device->createStream();
  CudaEvent begin = *device->createEvent(), end = *device->createEvent();
  ASSERT_TRUE(begin.record(stream.handle()));
  Status launched = launch(**loaded, *binding, stream.handle());
  ASSERT_TRUE(launched) << launched.error().text();
  ASSERT_TRUE(end.record(stream.handle()));
  ASSERT_TRUE(stream.synchronize());
  EXPECT_GE(*end.elapsedSince(begin), 0);
  ASSERT_TRUE(dy.download(y.data(), y.size() * 4));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < 4; ++column)
      ASSERT_EQ(y[row * 4 + column], 3 * x[row * stride + column]) << row << " " << column;
  EXPECT_GT((*loaded)->attributes("scale")->registers, 0);
}

TEST_F(Gpu, PropertiesAreFilled) {
  const DeviceProperties &props = device->properties();
  EXPECT_FALSE(props.name.empty());
  EXPECT_GE(props.major, 7);
  EXPECT_GT(props.multiprocessors, 0);
  EXPECT_GE(props.sharedBytesPerBlock, 48 * 1024);
  EXPECT_GT(props.memoryBytes, std::size_t(1) << 30);
}

TEST_F(Gpu, LaunchesFromCubinAndFromPtx) {
  runAndCompare(device, scaleProgram(device->properties().architecture()));
  runAndCompare(device, scaleProgram(""));
}

TEST_F(Gpu, PreparedLaunchesTakeTheCallersWorkspace) {
  DeviceBuffer workspace;
  auto launch = [&](const LoadedProgram &loaded, const Binding &binding, CuHandle stream) {
    auto prepared = loaded.prepare(binding);
    if (!prepared)
      return Status(prepared.error());
    auto bytes = static_cast<std::size_t>(LoadedProgram::workspaceBytes(**prepared));
    EXPECT_EQ(bytes, 1000 * 4 * sizeof(float) + 128); // rounded up to 256
    workspace = *device->allocate(bytes);
    Status first = loaded.launch(**prepared, stream, workspace.data());
    return first ? loaded.launch(**prepared, stream, workspace.data()) : first;
  };
  runAndCompare(device, scaleProgram(""), launch);
  std::vector<float> intermediate(1000 * 4);
  ASSERT_TRUE(workspace.download(intermediate.data(), intermediate.size() * sizeof(float)));
  EXPECT_EQ(intermediate.back(), 999 * 6 + 3); // x, whose rows are 6 apart
}

/// Each block notes the number that it draws; after as many as there are blocks a counter stands at
/// 0 again. The blocks of two launches are under way together.
const char *drawSource = R"(
extern "C" __global__ void draw(int *seen, int *counter) {
  for (long long start = clock64(); clock64() - start < 20000;)
    ;
  if (threadIdx.x == 0) seen[blockIdx.x] = atomicInc((unsigned *)counter, gridDim.x - 1);
}
extern "C" __global__ void add(int *seen, const int *t, int *first, int *second) {
  if (threadIdx.x == 0)
    seen[blockIdx.x] = t[blockIdx.x] + 0 * (atomicInc((unsigned *)first, gridDim.x - 1) +
                                            atomicInc((unsigned *)second, gridDim.x - 1));
}
)";

class Counters : public Gpu {
protected:
  static constexpr std::int64_t blocks = 300;

  /// With `further`, the numbers go through an intermediate, and a second kernel has two counters
  /// of its own.
  std::unique_ptr<LoadedProgram> load(bool further) {
    auto nvrtc = Nvrtc::open();
    EXPECT_TRUE(nvrtc) << nvrtc.error().text();
    NvrtcRequest request;
    request.source = drawSource;
    request.architecture = "sm_80";
    Manifest manifest;
    manifest.name = "draw";
    manifest.target = "sm_80";
    manifest.dims = {{"n", Expr::constant(blocks), 1}};
    manifest.outputs = {{"seen", DType::I32, {"n"}, 0}};
    manifest.intermediates = {{"t", DType::I32, {"n"}, 0}};
    manifest.kernels = {{"draw", "main", "draw", 32, Expr::constant(0), {}},
                        {"add", "main", "add", 32, Expr::constant(0), {}}};
    std::array<Expr, 3> grid = {Expr::size("n"), Expr::constant(1), Expr::constant(1)};
    LaunchDecl draw{"draw", grid, {ArgDecl::pointer(further ? "t" : "seen"), ArgDecl::counter()}};
    LaunchDecl add{
        "add",
        grid,
        {ArgDecl::pointer("seen"), ArgDecl::pointer("t"), ArgDecl::counter(), ArgDecl::counter()}};
    manifest.variants = {{{}, {draw}}};
    if (further)
      manifest.variants[0].launches.push_back(add);
    Program program{manifest, {{ImageKind::Ptx, "main", (*nvrtc)->compile(request)->ptx}}, {}};
    auto loaded = LoadedProgram::load(device, program);
    EXPECT_TRUE(loaded) << loaded.error().text();
    return *std::move(loaded);
  }

  std::shared_ptr<const LoadedProgram::Prepared> prepare(const LoadedProgram &loaded,
                                                         const DeviceBuffer &seen) {
    BindRequest request;
    request.device = {DeviceKind::Cuda, 0};
    request.outputs["seen"] =
        TensorRef::contiguous(seen.data(), DType::I32, {blocks}, request.device);
    Result<Binding> binding = bind(loaded.manifest(), request);
    EXPECT_TRUE(binding) << binding.error().text();
    auto prepared = loaded.prepare(*binding);
    EXPECT_TRUE(prepared) << prepared.error().text();
    return *prepared;
  }

  DeviceBuffer makeSeen() {
    DeviceBuffer seen = *device->allocate(blocks * sizeof(int));
    EXPECT_TRUE(seen.fill(0xff));
    return seen;
  }

  /// Each number from 0 on was drawn once.
  static void expectAll(const DeviceBuffer &seen) {
    std::vector<int> numbers(blocks);
    ASSERT_TRUE(seen.download(numbers.data(), blocks * sizeof(int)));
    std::sort(numbers.begin(), numbers.end());
    for (int n = 0; n < blocks; ++n)
      ASSERT_EQ(numbers[static_cast<std::size_t>(n)], n);
  }
};

TEST_F(Counters, StartAtZeroInAnyWorkspace) {
  auto loaded = load(false);
  DeviceBuffer seen = makeSeen();
  auto prepared = prepare(*loaded, seen);
  EXPECT_EQ(LoadedProgram::workspaceBytes(*prepared), 256);
  CudaStream stream = *device->createStream();
  DeviceBuffer workspace = *device->allocate(256);
  ASSERT_TRUE(workspace.fill(0xff));
  for (void *memory : {workspace.data(), workspace.data(), static_cast<void *>(nullptr)}) {
    Status launched = loaded->launch(*prepared, stream.handle(), memory);
    ASSERT_TRUE(launched) << launched.error().text();
    ASSERT_TRUE(stream.synchronize());
    expectAll(seen);
  }
}

TEST_F(Counters, StandBesideIntermediates) {
  auto loaded = load(true);
  DeviceBuffer seen = makeSeen(), workspace = *device->allocate(2048);
  auto prepared = prepare(*loaded, seen);
  EXPECT_EQ(LoadedProgram::workspaceBytes(*prepared), 1280 + 256);
  ASSERT_TRUE(workspace.fill(0xff));
  CudaStream stream = *device->createStream();
  for (int run = 0; run < 3; ++run) {
    Status launched = loaded->launch(*prepared, stream.handle(), workspace.data());
    ASSERT_TRUE(launched) << launched.error().text();
    ASSERT_TRUE(stream.synchronize());
    expectAll(seen);
    expectAll(workspace); // the intermediate comes first
  }
}

// Also of those beyond the streams that counters are kept for.
TEST_F(Counters, OfManyStreamsAreApart) {
  auto loaded = load(false);
  std::vector<CudaStream> streams;
  std::vector<DeviceBuffer> seen;
  for (int number = 0; number < 70; ++number) {
    streams.push_back(*device->createStream());
    seen.push_back(makeSeen());
  }
  for (int round = 0; round < 3; ++round)
    for (std::size_t number = 0; number < streams.size(); ++number)
      ASSERT_TRUE(loaded->launch(*prepare(*loaded, seen[number]), streams[number].handle()));
  ASSERT_TRUE(device->synchronize());
  for (const DeviceBuffer &each : seen)
    expectAll(each);
}

TEST_F(Counters, OfLaunchesOnTwoStreamsAreApart) {
  auto loaded = load(false);
  CudaStream streams[] = {*device->createStream(), *device->createStream()};
  std::vector<DeviceBuffer> seen;
  std::vector<std::shared_ptr<const LoadedProgram::Prepared>> prepared;
  for (int run = 0; run < 8; ++run) {
    seen.push_back(makeSeen());
    prepared.push_back(prepare(*loaded, seen.back()));
  }
  ASSERT_TRUE(device->synchronize());
  for (int run = 0; run < 8; ++run) {
    Status launched = loaded->launch(*prepared[run], streams[run % 2].handle());
    ASSERT_TRUE(launched) << launched.error().text();
  }
  ASSERT_TRUE(device->synchronize());
  for (const DeviceBuffer &each : seen)
    expectAll(each);
}

TEST_F(Gpu, FallsBackToPtxWhereTheCubinIsForeign) {
  runAndCompare(device, scaleProgram(device->properties().major == 8 ? "sm_90" : "sm_80"));
}

TEST_F(Gpu, OptsInToSharedMemoryAndRefusesTooMuch) {
  runAndCompare(device, scaleProgram("", 64 * 1024));
  auto loaded = LoadedProgram::load(device, scaleProgram("", 1 << 20));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("kernel copy needs 1048576 bytes of shared memory"),
            std::string::npos);
}

TEST_F(Gpu, HostPointersAreRefused) {
  auto loaded = LoadedProgram::load(device, scaleProgram(""));
  ASSERT_TRUE(loaded) << loaded.error().text();
  float x[4] = {}, y[4] = {};
  BindRequest request;
  request.device = {DeviceKind::Cuda, 0}; // the caller claims device memory
  request.inputs["x"] = TensorRef::contiguous(x, DType::F32, {1, 4}, request.device);
  request.outputs["y"] = TensorRef::contiguous(y, DType::F32, {1, 4}, request.device);
  Result<Binding> binding = bind((*loaded)->manifest(), request);
  ASSERT_TRUE(binding) << binding.error().text();
  Status launched = (*loaded)->launch(*binding, nullptr);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message.find("x: "), 0u) << launched.error().message;
  EXPECT_NE(launched.error().message.find("is host memory"), std::string::npos);
}

TEST_F(Gpu, BuffersCheckTheirRange) {
  DeviceBuffer buffer = *device->allocate(16);
  char bytes[32] = {};
  EXPECT_FALSE(buffer.upload(bytes, 17));
  EXPECT_FALSE(buffer.download(bytes, 8, 9));
  EXPECT_TRUE(buffer.upload(bytes, 8, 8));
}

TEST_F(Gpu, ErrorsNameTheCall) {
  Result<DeviceBuffer> huge = device->allocate(std::size_t(1) << 60);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos);
  EXPECT_FALSE(huge.error().remedy.empty());
  EXPECT_NE(CudaDevice::open(1000).error().message.find("there is no GPU 1000"), std::string::npos);
}

TEST(GpuMissing, ErrorIsOfTheEnvironmentWithARemedy) {
  auto opened = CudaDevice::open(1000); // no machine has it, with or without a driver
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Environment);
  EXPECT_FALSE(opened.error().remedy.empty());
}

} // namespace
