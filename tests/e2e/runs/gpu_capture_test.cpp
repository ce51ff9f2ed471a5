// Every spec of the library captured in a CUDA graph, whose replays give the bits of a plain
// launch. Skipped where there is no GPU.
#include "compiler/driver/execution/cuda_executor.h"
#include "compiler/evaluator/inputs/inputs.h"
#include "tests/e2e/variant.h"
#include "tools/attnc/input/target.h"

#include <dlfcn.h>

namespace attnc::e2e {
namespace {

/// What the runtime itself does not call, from the driver that it has loaded.
struct GraphApi {
  int (*retain)(void **, int);
  int (*setCurrent)(void *);
  int (*begin)(void *, int);
  int (*end)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*launch)(void *, void *);
  int (*destroyExecutable)(void *);
  int (*destroyGraph)(void *);

  GraphApi() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    auto load = [&](auto &function, const char *symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    };
    load(retain, "cuDevicePrimaryCtxRetain");
    load(setCurrent, "cuCtxSetCurrent");
    load(begin, "cuStreamBeginCapture_v2");
    load(end, "cuStreamEndCapture");
    load(instantiate, "cuGraphInstantiateWithFlags");
    load(launch, "cuGraphLaunch");
    load(destroyExecutable, "cuGraphExecDestroy");
    load(destroyGraph, "cuGraphDestroy");
  }
};

/// A spec compiled for the GPU, loaded, and bound to tensors of its own.
class Captured {
public:
  explicit Captured(std::shared_ptr<const CudaDevice> gpu) : device(std::move(gpu)) {}

  void load(const Spec &spec) {
    driver::CompileOptions options;
    options.target = cli::targetOf(device->properties());
    options.images = ImageCompiler::ofUser();
    options.parts = driver::SplitVariant::OnFirstUse;
    options.keepTexts = false;
    Result<driver::Compilation> compilation = driver::compile(spec, options);
    ASSERT_TRUE(compilation.ok()) << compilation.error().text();
    Result<std::unique_ptr<LoadedProgram>> loaded = driver::loadCompiled(*compilation, device);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    program = std::move(*loaded);
    Status warm = program->loadAll();
    ASSERT_TRUE(warm.ok()) << warm.error().text();
  }

  void bindTo(const Spec &spec, const Extents &extents) {
    auto inputs = evaluator::makeInputs(driver::programOf(spec), extents, /*seed=*/1);
    ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
    driver::RunRequest request = driver::runRequest(program->manifest(), *inputs);
    buffers.clear();
    outputs.clear();
    BindRequest bound;
    bound.device = {DeviceKind::Cuda, device->properties().ordinal};
    bound.params = request.params;
    bound.extraSizes = driver::extraSizes(program->manifest(), request);
    for (const auto &[name, tensor] : request.inputs) {
      void *memory = take(tensor.data.size());
      ASSERT_TRUE(buffers.back().upload(tensor.data.data(), tensor.data.size()).ok());
      bound.inputs[name] = TensorRef::contiguous(memory, tensor.dtype, tensor.shape, bound.device);
    }
    Result<Scope> sizes = driver::sizesOf(program->manifest(), request);
    ASSERT_TRUE(sizes.ok()) << sizes.error().text();
    for (const TensorDecl &output : program->manifest().outputs) {
      std::vector<std::int64_t> shape = *shapeOf(output, *sizes);
      std::int64_t bytes = static_cast<std::int64_t>(dtypeSize(output.dtype));
      for (std::int64_t extent : shape)
        bytes *= extent;
      void *memory = take(static_cast<std::size_t>(bytes));
      outputs.push_back(buffers.size() - 1);
      bound.outputs[output.name] = TensorRef::contiguous(memory, output.dtype, shape, bound.device);
    }
    Result<Binding> binding = bind(program->manifest(), bound);
    ASSERT_TRUE(binding.ok()) << binding.error().text();
    auto made = program->prepare(*binding);
    ASSERT_TRUE(made.ok()) << made.error().text();
    prepared = *made;
  }

  /// Overwrites the outputs, does `launch`, and gives the outputs' bytes.
  template <typename Launch> std::vector<std::vector<char>> outputsOf(const Launch &launch) {
    for (std::size_t output : outputs)
      EXPECT_TRUE(buffers[output].fill(0xff).ok());
    EXPECT_TRUE(device->synchronize().ok());
    launch();
    EXPECT_TRUE(device->synchronize().ok());
    std::vector<std::vector<char>> bytes;
    for (std::size_t output : outputs) {
      bytes.emplace_back(buffers[output].bytes());
      EXPECT_TRUE(buffers[output].download(bytes.back().data(), bytes.back().size()).ok());
    }
    return bytes;
  }

  void launch(CuHandle stream) const {
    Status launched = program->launch(*prepared, stream);
    ASSERT_TRUE(launched.ok()) << launched.error().text();
  }

private:
  void *take(std::size_t bytes) {
    buffers.push_back(*device->allocate(bytes));
    return buffers.back().data();
  }

  std::shared_ptr<const CudaDevice> device;
  std::unique_ptr<LoadedProgram> program;
  std::shared_ptr<const LoadedProgram::Prepared> prepared;
  std::vector<DeviceBuffer> buffers;
  std::vector<std::size_t> outputs; ///< numbers in `buffers`
};

class GpuCapture : public testing::TestWithParam<std::string> {};

TEST_P(GpuCapture, replaysTheBitsOfALaunch) {
  static const Result<std::shared_ptr<const CudaDevice>> gpu = openGpu();
  if (!gpu.ok())
    GTEST_SKIP() << gpu.error().text();
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  Captured captured(*gpu);
  captured.load(*spec);
  ASSERT_FALSE(HasFatalFailure());
  GraphApi api;
  void *context = nullptr;
  ASSERT_EQ(api.retain(&context, (*gpu)->properties().ordinal), 0);
  ASSERT_EQ(api.setCurrent(context), 0);
  for (Lengths lengths : {Lengths{300, 1000}, Lengths{1, 5000}}) { // the second in parts, if any
    captured.bindTo(*spec, spec.extents(lengths));
    ASSERT_FALSE(HasFatalFailure());
    Result<CudaStream> stream = (*gpu)->createStream();
    ASSERT_TRUE(stream.ok());
    auto plain = captured.outputsOf([&] { captured.launch(stream->handle()); });
    void *graph = nullptr, *executable = nullptr;
    ASSERT_EQ(api.begin(stream->handle(), 0), 0); // 0: nothing in the process may be unsafe
    captured.launch(stream->handle());
    ASSERT_EQ(api.end(stream->handle(), &graph), 0);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(api.instantiate(&executable, graph, 0), 0);
    for (int replay = 0; replay < 3; ++replay)
      EXPECT_EQ(captured.outputsOf([&] { ASSERT_EQ(api.launch(executable, stream->handle()), 0); }),
                plain)
          << replay;
    api.destroyExecutable(executable);
    api.destroyGraph(graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, GpuCapture, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace attnc::e2e
