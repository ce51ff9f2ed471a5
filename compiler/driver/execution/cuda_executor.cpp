#include "compiler/driver/execution/cuda_executor.h"
#include "compiler/driver/execution/guarded_memory.h"
#include "compiler/driver/execution/run_times.h"
#include "runtime/program/loaded_program.h"

namespace attnc::driver {

namespace {

using Blocks = std::map<std::string, GuardedDeviceMemory>;

class CudaExecutor : public Executor {
public:
  CudaExecutor(Manifest plan, std::shared_ptr<const CudaDevice> device,
               std::unique_ptr<LoadedProgram> program)
      : Executor(std::move(plan)), gpu(std::move(device)), program(std::move(program)) {}

  const CudaDevice *device() const override { return gpu.get(); }

  Result<RunResult> run(const RunRequest &request) const override;

private:
  Result<BindRequest> allocate(const RunRequest &request, Blocks &inputs, Blocks &outputs) const;
  Result<std::vector<double>> launchAll(const Binding &binding, const RunRequest &request) const;
  Result<double> launchTimed(const LoadedProgram::Prepared &prepared, const CudaStream &stream,
                             const GuardedDeviceMemory &workspace) const;

  std::shared_ptr<const CudaDevice> gpu;
  std::unique_ptr<LoadedProgram> program;
};

Result<BindRequest> CudaExecutor::allocate(const RunRequest &request, Blocks &inputs,
                                           Blocks &outputs) const {
  Result<Scope> sizes = sizesOf(manifest(), request);
  if (!sizes)
    return sizes.error();
  BindRequest bound;
  bound.params = request.params;
  bound.extraSizes = extraSizes(manifest(), request);
  bound.device = {DeviceKind::Cuda, gpu->properties().ordinal};
  for (const auto &[name, tensor] : request.inputs) {
    std::vector<std::byte> staged(request.layout.blockBytes(tensor.dtype, tensor.shape),
                                  std::byte{poisonByte});
    request.layout.scatter(tensor.data.data(), tensor.dtype, tensor.shape, staged.data());
    auto block = GuardedDeviceMemory::allocate(*gpu, name, staged.size());
    if (!block)
      return block.error();
    if (Status copied = block->upload(staged.data()); !copied)
      return copied.error();
    bound.inputs[name] = request.layout.at(block->data(), tensor.dtype, tensor.shape, bound.device);
    inputs.emplace(name, std::move(*block));
  }
  for (const TensorDecl &output : manifest().outputs) {
    Result<std::vector<int64_t>> shape = shapeOf(output, *sizes);
    if (!shape)
      return shape.error();
    auto block = GuardedDeviceMemory::allocate(*gpu, output.name,
                                               request.layout.blockBytes(output.dtype, *shape));
    if (!block)
      return block.error();
    bound.outputs[output.name] =
        request.layout.at(block->data(), output.dtype, *shape, bound.device);
    outputs.emplace(output.name, std::move(*block));
  }
  return bound;
}

Result<double> CudaExecutor::launchTimed(const LoadedProgram::Prepared &prepared,
                                         const CudaStream &stream,
                                         const GuardedDeviceMemory &workspace) const {
  Result<CudaEvent> start = gpu->createEvent();
  Result<CudaEvent> stop = gpu->createEvent();
  if (!start || !stop)
    return start ? stop.error() : start.error();
  if (Status done = start->record(stream.handle()); !done)
    return done.error();
  if (Status done = program->launch(prepared, stream.handle(), workspace.data()); !done)
    return done.error();
  if (Status done = stop->record(stream.handle()); !done)
    return done.error();
  Result<float> elapsed = stop->elapsedSince(*start);
  if (!elapsed)
    return elapsed.error();
  return static_cast<double>(*elapsed);
}

Result<std::vector<double>> CudaExecutor::launchAll(const Binding &binding,
                                                    const RunRequest &request) const {
  Result<CudaStream> stream = gpu->createStream();
  if (!stream)
    return stream.error();
  auto prepared = program->prepare(binding);
  if (!prepared)
    return prepared.error();
  auto workspace = GuardedDeviceMemory::allocate(
      *gpu, "workspace", static_cast<size_t>(LoadedProgram::workspaceBytes(**prepared)));
  if (!workspace)
    return workspace.error();
  if (Status done = gpu->synchronize(); !done) // its fill is on the default stream
    return done.error();
  std::vector<double> times;
  for (unsigned run = 0; run < request.warmup + std::max(request.repeat, 1u); ++run) {
    Result<double> time = launchTimed(**prepared, *stream, *workspace);
    if (!time)
      return time.error();
    if (run >= request.warmup)
      times.push_back(*time);
  }
  if (Status done = stream->synchronize(); !done)
    return done.error();
  if (Status intact = workspace->checkGuards(); !intact)
    return intact.error();
  return times;
}

Result<RunResult> CudaExecutor::run(const RunRequest &request) const {
  Blocks inputs, outputs;
  Result<BindRequest> bound = allocate(request, inputs, outputs);
  if (!bound)
    return bound.error();
  // Uploads and fills go through the default stream, which the launches' stream does not wait for.
  if (Status done = gpu->synchronize(); !done)
    return done.error();
  Result<Binding> binding = bind(manifest(), *bound);
  if (!binding)
    return binding.error();
  Result<std::vector<double>> times = launchAll(*binding, request);
  if (!times)
    return times.error();

  RunResult result;
  result.milliseconds = median(std::move(*times));
  for (const Blocks *group : {&inputs, &outputs})
    for (const auto &[name, block] : *group)
      if (Status intact = block.checkGuards(); !intact)
        return intact.error();
  for (const auto &[name, block] : outputs) {
    const TensorRef &ref = bound->outputs.at(name);
    std::vector<std::byte> staged(request.layout.blockBytes(ref.dtype, ref.shape));
    if (Status copied = block.download(staged.data()); !copied)
      return copied.error();
    if (Status intact = request.layout.checkGaps(name, staged.data(), ref.dtype, ref.shape);
        !intact)
      return intact.error();
    result.outputs[name] = {ref.dtype, ref.shape,
                            request.layout.gather(staged.data(), ref.dtype, ref.shape)};
  }
  return result;
}

} // namespace

Result<std::unique_ptr<LoadedProgram>> loadCompiled(const Compilation &compilation,
                                                    std::shared_ptr<const CudaDevice> device) {
  ImageSource missing;
  if (compilation.deferred)
    missing = [deferred = compilation.deferred](const std::vector<std::string> &names) {
      return deferred->images(names);
    };
  return LoadedProgram::load(std::move(device), compilation.program, std::move(missing));
}

Result<std::unique_ptr<Executor>> makeCudaExecutor(const Compilation &compilation,
                                                   std::shared_ptr<const CudaDevice> device) {
  Result<std::unique_ptr<LoadedProgram>> program = loadCompiled(compilation, device);
  if (!program)
    return program.error();
  return std::unique_ptr<Executor>(std::make_unique<CudaExecutor>(
      compilation.program.manifest, std::move(device), std::move(*program)));
}

} // namespace attnc::driver
