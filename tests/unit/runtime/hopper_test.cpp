#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/program/loaded_program.h"
#include "tests/unit/runtime/gpu_device.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace attnc;

namespace {

/// Skips where there is no GPU of compute capability 9.0.
class Hopper : public OnGpu {
protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (device && device->properties().major != 9)
      GTEST_SKIP() << device->properties().name << " has compute capability "
                   << device->properties().architecture();
  }

  Result<std::unique_ptr<LoadedProgram>> load(Manifest manifest, const char *source) {
    auto nvrtc = Nvrtc::open();
    EXPECT_TRUE(nvrtc) << nvrtc.error().text();
    NvrtcRequest request;
    request.source = source;
    request.architecture = "sm_90a";
    auto compiled = (*nvrtc)->compile(request);
    EXPECT_TRUE(compiled) << compiled.error().text();
    return LoadedProgram::load(
        device, {std::move(manifest), {{ImageKind::Cubin, "main", compiled->cubin}}, {}});
  }

  /// Launches on the default stream and waits.
  void launch(const LoadedProgram &program, const BindRequest &request) {
    Result<Binding> binding = bind(program.manifest(), request);
    ASSERT_TRUE(binding) << binding.error().text();
    Status launched = program.launch(*binding, nullptr);
    ASSERT_TRUE(launched) << launched.error().text();
    Status done = device->synchronize();
    ASSERT_TRUE(done) << done.error().text();
  }

  const Device where = {DeviceKind::Cuda, 0};
};

/// Block (h, b) copies the box at (0, 0, h, b) of a map f32[b, h, n, 32], box {32, 8, 1, 1},
/// swizzle 128, to y[b, h, 8, 32]. `copy` fills an intermediate that has the shape of x.
const char *copySource = R"(
struct alignas(64) TensorMap { char bytes[128]; };
extern "C" __global__ void copy(const float *x, long long b, long long h, long long n, float *t) {
  long long at = (blockIdx.y * gridDim.x + blockIdx.x) * n * 32 + threadIdx.x;
  for (long long row = 0; row < n; ++row)
    t[at + row * 32] = x[blockIdx.y * b + blockIdx.x * h + row * 32 + threadIdx.x];
}
extern "C" __global__ void boxes(const __grid_constant__ TensorMap map, float *y) {
  __shared__ alignas(1024) float tile[8 * 32];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned full = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full), "r"(1024));
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %3, %4, %5}], [%2];" ::"r"(
                     (unsigned)__cvta_generic_to_shared(tile)),
                 "l"(&map), "r"(full), "r"(0), "r"(blockIdx.x), "r"(blockIdx.y) : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;"
                 " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(full) : "memory");
  for (unsigned row = 0; row < 8; ++row)
    y[((blockIdx.y * gridDim.x + blockIdx.x) * 8 + row) * 32 + threadIdx.x] =
        tile[row * 32 + (threadIdx.x ^ row * 4)];
}
)";

/// y from x itself if it is aligned, else from an intermediate.
Manifest copyManifest() {
  Manifest manifest;
  manifest.name = "copy";
  manifest.target = "sm_90a";
  manifest.dims = {{"b", {}, 1},
                   {"h", {}, 1},
                   {"n", {}, 0},
                   {"d", Expr::constant(32), 1},
                   {"r", Expr::constant(8), 1}};
  manifest.inputs = {{"x", DType::F32, {"b", "h", "n", "d"}, 0}};
  manifest.outputs = {{"y", DType::F32, {"b", "h", "r", "d"}, 0}};
  manifest.intermediates = {{"t", DType::F32, {"b", "h", "n", "d"}, 0}};
  manifest.kernels = {{"copy", "main", "copy", 32, Expr::constant(0), {}},
                      {"boxes", "main", "boxes", 32, Expr::constant(0), {}}};
  std::array<Expr, 3> grid = {Expr::size("h"), Expr::size("b"), Expr::constant(1)};
  LaunchDecl copy{"copy", grid, {}};
  copy.args = {ArgDecl::pointer("x"), ArgDecl::stride("x", 0), ArgDecl::stride("x", 1),
               ArgDecl::size("n"), ArgDecl::pointer("t")};
  LaunchDecl fromX{"boxes", grid, {ArgDecl::tensorMap("x", {32, 8, 1, 1}), ArgDecl::pointer("y")}};
  LaunchDecl fromT{"boxes", grid, {ArgDecl::tensorMap("t", {32, 8, 1, 1}), ArgDecl::pointer("y")}};
  manifest.variants = {{{}, {fromX}, {{"x", 16}}}, {{}, {copy, fromT}}};
  return manifest;
}

class TensorMaps : public Hopper {
protected:
  static constexpr std::int64_t batches = 2, heads = 3;

  /// Runs on x of `rows` rows with the strides of b and h, `offset` floats into an allocation.
  void runAndCompare(const LoadedProgram &program, std::int64_t rows, std::int64_t b,
                     std::int64_t h, std::int64_t offset = 0) {
    std::vector<float> x(4096), y(batches * heads * 8 * 32);
    std::iota(x.begin(), x.end(), 1.0f);
    DeviceBuffer dx = *device->allocate(x.size() * 4), dy = *device->allocate(y.size() * 4);
    ASSERT_TRUE(dx.upload(x.data(), x.size() * 4));
    ASSERT_TRUE(dy.fill(0xff));
    BindRequest request;
    request.device = where;
    request.inputs["x"] = {static_cast<float *>(dx.data()) + offset,
                           DType::F32,
                           {batches, heads, rows, 32},
                           {b, h, 32, 1},
                           where};
    request.outputs["y"] =
        TensorRef::contiguous(dy.data(), DType::F32, {batches, heads, 8, 32}, where);
    launch(program, request);
    ASSERT_TRUE(dy.download(y.data(), y.size() * 4));
    for (std::int64_t block = 0; block < batches * heads; ++block)
      for (std::int64_t row = 0; row < 8; ++row)
        for (std::int64_t column = 0; column < 32; ++column) {
          auto from = static_cast<std::size_t>(block / heads * b + block % heads * h + row * 32 +
                                               column + offset);
          float expected = row < rows ? x[from] : 0.0f;
          ASSERT_EQ(y[static_cast<std::size_t>((block * 8 + row) * 32 + column)], expected)
              << block << " " << row << " " << column;
        }
  }
};

TEST_F(TensorMaps, KernelsReadThroughMaps) {
  auto program = load(copyManifest(), copySource);
  ASSERT_TRUE(program) << program.error().text();
  runAndCompare(**program, 8, 3 * 256, 256);    // contiguous
  runAndCompare(**program, 8, 256, 2 * 256);    // heads outside batches
  runAndCompare(**program, 11, 4 * 352, 352);   // more rows than the box
  runAndCompare(**program, 5, 3 * 160, 160, 4); // fewer: zeros follow
  runAndCompare(**program, 8, 0, 256);          // one batch for all
  runAndCompare(**program, 8, 0, 0);
  runAndCompare(**program, 8, 3 * 256, 256); // a map that is remembered
}

TEST_F(TensorMaps, MisalignedTensorsTakeTheOtherVariant) {
  auto program = load(copyManifest(), copySource);
  ASSERT_TRUE(program) << program.error().text();
  runAndCompare(**program, 5, 3 * 160, 160, 1);
  runAndCompare(**program, 5, 3 * 161, 161);
}

TEST_F(TensorMaps, LoadsFromATensorWithoutElementsGiveZeros) {
  auto program = load(copyManifest(), copySource);
  ASSERT_TRUE(program) << program.error().text();
  runAndCompare(**program, 0, 0, 0);
}

TEST_F(TensorMaps, AMapHasOneToFiveAxes) {
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    TensorMapArg map;
    map.base = reinterpret_cast<void *>(0x10000);
    map.extents.assign(rank, 64);
    map.strides.assign(rank - 1, 256);
    map.box.assign(rank, 1);
    map.box[0] = 32;
    Result<EncodedTensorMap> encoded = device->encodeTensorMap(map);
    EXPECT_TRUE(encoded) << rank << ": " << encoded.error().text();
  }
}

/// What the kernel sees of its launch.
const char *launchSource = R"(
extern "C" __global__ void look(int *seen) {
  int blocks, rank;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(rank));
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) {
    seen[0] = gridDim.x;
    seen[1] = blocks;
    seen[2] = rank;
  }
}
)";

Manifest lookManifest(int cluster) {
  Manifest manifest;
  manifest.name = "look";
  manifest.target = "sm_90a";
  manifest.dims = {{"n", Expr::constant(3), 1}};
  manifest.outputs = {{"seen", DType::I32, {"n"}, 0}};
  manifest.kernels = {{"look", "main", "look", 32, Expr::constant(0), {}, cluster}};
  LaunchDecl look{"look",
                  {Expr::apply(ExprOp::Mul,
                               {Expr::constant(cluster), Expr::apply(ExprOp::Multiprocessors, {})}),
                   Expr::constant(1), Expr::constant(1)},
                  {ArgDecl::pointer("seen")}};
  manifest.variants = {{{}, {look}}};
  return manifest;
}

TEST_F(Hopper, GridsOfClustersCoverTheMultiprocessors) {
  DeviceBuffer seen = *device->allocate(3 * 4);
  BindRequest request;
  request.device = where;
  request.outputs["seen"] = TensorRef::contiguous(seen.data(), DType::I32, {3}, where);
  for (int cluster : {1, 2, 8, 16}) {
    auto program = load(lookManifest(cluster), launchSource);
    ASSERT_TRUE(program) << program.error().text();
    launch(**program, request);
    int values[3] = {};
    ASSERT_TRUE(seen.download(values, sizeof values));
    EXPECT_EQ(values[0], cluster * device->properties().multiprocessors);
    EXPECT_EQ(values[1], cluster);
    EXPECT_EQ(values[2], cluster - 1);
  }
}

} // namespace
