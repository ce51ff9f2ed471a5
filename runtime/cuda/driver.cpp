#include "runtime/cuda/driver.h"

#include "runtime/cuda/launch_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace attnc {

class CudaContext {
public:
  CudaContext(std::shared_ptr<const DriverApi> api, CuDeviceHandle device, CuHandle context)
      : api(std::move(api)), device(device), context(context) {}
  ~CudaContext() { api->primaryRelease(device); }
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// Makes the context current, does the call, and restores what was current before. To ask whether
  /// it is current already, as beside PyTorch and the CUDA runtime, is cheaper than to set it.
  template <typename Function, typename... Args>
  CuResult run(Function function, Args... args) const {
    CuHandle current = nullptr;
    if (api->contextCurrent(&current) == cuSuccess && current == context)
      return function(args...);
    if (CuResult result = api->contextPush(context); result != cuSuccess)
      return result;
    CuResult result = function(args...);
    CuHandle popped = nullptr;
    api->contextPop(&popped);
    return result;
  }

  template <typename Function, typename... Args>
  Status call(const char *name, Function function, Args... args) const {
    return api->check(run(function, args...), name);
  }

  /// A handle that is destroyed, in this context, with its last owner.
  static std::shared_ptr<void> own(std::shared_ptr<const CudaContext> self, CuHandle handle,
                                   CuResult (*destroy)(CuHandle)) {
    return {handle,
            [self = std::move(self), destroy](CuHandle owned) { self->run(destroy, owned); }};
  }

  std::shared_ptr<const DriverApi> api;
  CuDeviceHandle device;
  CuHandle context;
};

namespace {

// Values of CUdevice_attribute, CUfunction_attribute, CUpointer_attribute, CUjit_option,
// CUlaunchAttributeID; launch_numbers.h has the others.
constexpr int attributeMultiprocessors = 16, attributeMajor = 75, attributeMinor = 76,
              attributeSharedOptIn = 97;
constexpr int functionSharedBytes = 1, functionRegisters = 4;
constexpr int pointerMemoryType = 2, pointerDeviceOrdinal = 9;
constexpr unsigned memoryTypeDevice = 2;
constexpr int jitErrorLog = 5, jitErrorLogSize = 6;
constexpr unsigned launchClusterDimension = 4, launchProgrammaticSerialization = 6;

CuDevicePointer toAddress(const void *pointer) {
  return reinterpret_cast<CuDevicePointer>(pointer);
}

Result<DeviceProperties> queryProperties(const DriverApi &api, CuDeviceHandle device, int ordinal) {
  DeviceProperties props;
  props.ordinal = ordinal;
  char name[256] = {};
  if (Status status = api.check(api.deviceName(name, sizeof name, device), "cuDeviceGetName");
      !status)
    return status.error();
  props.name = name;
  const std::pair<int *, int> wanted[] = {{&props.major, attributeMajor},
                                          {&props.minor, attributeMinor},
                                          {&props.multiprocessors, attributeMultiprocessors},
                                          {&props.sharedBytesPerBlock, attributeSharedOptIn}};
  for (auto [value, attribute] : wanted)
    if (Status status =
            api.check(api.deviceAttribute(value, attribute, device), "cuDeviceGetAttribute");
        !status)
      return status.error();
  if (Status status = api.check(api.deviceMemory(&props.memoryBytes, device), "cuDeviceTotalMem");
      !status)
    return status.error();
  if (Status status = api.check(api.driverVersion(&props.driverVersion), "cuDriverGetVersion");
      !status)
    return status.error();
  return props;
}

Error missingFunction(std::string_view function, std::string_view version) {
  return environmentError(fmt::format("the CUDA driver has no function {}", function),
                          fmt::format("update the NVIDIA driver to one for CUDA {}", version));
}

/// Loads `image`, which must end in a zero byte if it is PTX. `log` takes the JIT's errors.
CuResult load(const CudaContext &context, const std::string &image, CuHandle &module,
              std::string &log) {
  log.assign(8192, '\0');
  int options[] = {jitErrorLog, jitErrorLogSize};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CuResult result =
      context.run(context.api->moduleLoad, &module, static_cast<const void *>(image.c_str()), 2u,
                  static_cast<int *>(options), static_cast<void **>(values));
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  return result;
}

} // namespace

std::string DeviceProperties::architecture() const { return fmt::format("sm_{}{}", major, minor); }

Status CudaStream::synchronize() const {
  return context->call("cuStreamSynchronize", context->api->streamSynchronize, stream.get());
}

Status CudaEvent::record(CuHandle stream) const {
  return context->call("cuEventRecord", context->api->eventRecord, event.get(), stream);
}

Result<float> CudaEvent::elapsedSince(const CudaEvent &start) const {
  if (Status status =
          context->call("cuEventSynchronize", context->api->eventSynchronize, event.get());
      !status)
    return status.error();
  float milliseconds = 0;
  if (Status status = context->call("cuEventElapsedTime", context->api->eventElapsed, &milliseconds,
                                    start.event.get(), event.get());
      !status)
    return status.error();
  return milliseconds;
}

DeviceBuffer::~DeviceBuffer() {
  if (address)
    context->run(context->api->release, address);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer &&other) noexcept
    : context(std::move(other.context)), address(std::exchange(other.address, 0)),
      size(std::exchange(other.size, 0)) {}

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(context, other.context);
  std::swap(address, other.address);
  std::swap(size, other.size);
  return *this;
}

static Status checkRange(std::size_t size, std::size_t count, std::size_t offset) {
  if (offset <= size && count <= size - offset)
    return {};
  return invalidArgument(
      fmt::format("{} bytes at {} lie outside a buffer of {}", count, offset, size));
}

Status DeviceBuffer::upload(const void *source, std::size_t count, std::size_t offset) const {
  if (Status status = checkRange(size, count, offset); !status || count == 0)
    return status;
  return context->call("cuMemcpyHtoD", context->api->copyToDevice, address + offset, source, count);
}

Status DeviceBuffer::download(void *destination, std::size_t count, std::size_t offset) const {
  if (Status status = checkRange(size, count, offset); !status || count == 0)
    return status;
  return context->call("cuMemcpyDtoH", context->api->copyToHost, destination, address + offset,
                       count);
}

Status DeviceBuffer::fill(unsigned char value) const {
  return size == 0 ? Status()
                   : context->call("cuMemsetD8", context->api->fill, address, value, size);
}

Result<CudaFunction::Attributes> CudaFunction::attributes() const {
  Attributes result;
  const std::pair<int *, int> wanted[] = {{&result.registers, functionRegisters},
                                          {&result.staticSharedBytes, functionSharedBytes}};
  for (auto [value, attribute] : wanted)
    if (Status status = context->call("cuFuncGetAttribute", context->api->functionAttribute, value,
                                      attribute, function);
        !status)
      return status.error();
  return result;
}

Status CudaFunction::allowSharedBytes(int bytes) const {
  return context->call("cuFuncSetAttribute", context->api->setFunctionAttribute, function,
                       functionMaxDynamicShared, bytes);
}

Status CudaFunction::preferSharedMemory() const {
  return context->call("cuFuncSetAttribute", context->api->setFunctionAttribute, function,
                       functionSharedCarveout, 100);
}

Status CudaFunction::allowLargeClusters() const {
  return context->call("cuFuncSetAttribute", context->api->setFunctionAttribute, function,
                       functionLargeClusters, 1);
}

Status CudaFunction::launch(const unsigned (&grid)[3], unsigned threads, unsigned sharedBytes,
                            CuHandle stream, void **args, unsigned cluster,
                            bool startsEarly) const {
  CuLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (cluster > 1)
    attributes[count++] = {launchClusterDimension, 0, {cluster, 1, 1}};
  if (cluster > 1 && !context->api->launchKernelEx)
    return missingFunction("cuLaunchKernelEx", "11.8");
  if (startsEarly && context->api->launchKernelEx)
    attributes[count++] = {launchProgrammaticSerialization, 0, {1}};
  if (count > 0) {
    CuLaunchConfig config = {
        {grid[0], grid[1], grid[2]}, {threads, 1, 1}, sharedBytes, stream, attributes, count};
    return context->call("cuLaunchKernelEx", context->api->launchKernelEx,
                         static_cast<const CuLaunchConfig *>(&config), function, args,
                         static_cast<void **>(nullptr));
  }
  return context->call("cuLaunchKernel", context->api->launchKernel, function, grid[0], grid[1],
                       grid[2], threads, 1u, 1u, sharedBytes, stream, args,
                       static_cast<void **>(nullptr));
}

Result<CudaFunction> CudaModule::function(const std::string &symbol) const {
  CudaFunction result;
  result.context = context;
  result.module = module;
  if (Status status = context->call("cuModuleGetFunction", context->api->moduleFunction,
                                    &result.function, module.get(), symbol.c_str());
      !status)
    return environmentError(fmt::format("kernel {}: {}", symbol, status.error().message),
                            status.error().remedy);
  return result;
}

// Small workspaces are taken and given back at each launch. By default the driver's pool returns
// all memory to the system whenever somebody synchronises, and the next launch would wait for it.
static void keepSmallWorkspaces(const DriverApi &api, CuDeviceHandle device) {
  constexpr int releaseThreshold = 4; // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
  constexpr std::uint64_t kept = 32 << 20;
  CuHandle pool = nullptr;
  std::uint64_t present = 0;
  if (!api.defaultPool || !api.getPoolAttribute || !api.setPoolAttribute ||
      api.defaultPool(&pool, device) != 0 ||
      api.getPoolAttribute(pool, releaseThreshold, &present) != 0 || present >= kept)
    return; // without it launches are slower, no more
  std::uint64_t wanted = kept;
  api.setPoolAttribute(pool, releaseThreshold, &wanted);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int ordinal) {
  auto opened = DriverApi::open();
  if (!opened)
    return opened.error();
  std::shared_ptr<const DriverApi> api = *opened;
  int count = 0;
  if (Status status = api->check(api->deviceCount(&count), "cuDeviceGetCount"); !status)
    return status.error();
  if (ordinal < 0 || ordinal >= count)
    return environmentError(fmt::format("there is no GPU {}: the driver sees {}", ordinal, count),
                            "check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --target cpu");
  CuDeviceHandle device = 0;
  if (Status status = api->check(api->deviceGet(&device, ordinal), "cuDeviceGet"); !status)
    return status.error();
  Result<DeviceProperties> props = queryProperties(*api, device, ordinal);
  if (!props)
    return props.error();
  CuHandle handle = nullptr;
  if (Status status = api->check(api->primaryRetain(&handle, device), "cuDevicePrimaryCtxRetain");
      !status)
    return status.error();
  auto context = std::make_shared<const CudaContext>(api, device, handle);
  keepSmallWorkspaces(*api, device);
  return std::unique_ptr<CudaDevice>(new CudaDevice(std::move(context), *std::move(props)));
}

Result<std::optional<CudaModule>> CudaDevice::loadModuleIfFits(std::string_view image) const {
  CuHandle handle = nullptr;
  std::string log;
  CuResult loaded = load(*context, std::string(image), handle, log);
  if (loaded == cuErrorNoBinaryForGpu)
    return std::optional<CudaModule>();
  if (Status status = context->api->check(loaded, "cuModuleLoadDataEx"); !status) {
    Error error = status.error();
    if (!log.empty())
      error.message += "\n" + log;
    return error;
  }
  CudaModule module;
  module.context = context;
  module.module = CudaContext::own(context, handle, context->api->moduleUnload);
  return std::optional(std::move(module));
}

Result<CudaModule> CudaDevice::loadModule(std::string_view image) const {
  Result<std::optional<CudaModule>> module = loadModuleIfFits(image);
  if (!module)
    return module.error();
  if (*module)
    return **std::move(module);
  return context->api->check(cuErrorNoBinaryForGpu, "cuModuleLoadDataEx").error();
}

std::optional<std::uint64_t> CudaDevice::freeMemory() const {
  std::size_t unused = 0, all = 0;
  if (context->run(context->api->memoryInfo, &unused, &all) != cuSuccess)
    return std::nullopt;
  return unused;
}

Result<DeviceBuffer> CudaDevice::allocate(std::size_t bytes) const {
  DeviceBuffer buffer;
  buffer.context = context;
  // The driver refuses 0 bytes; an empty tensor still gets an address of its own.
  if (Status status = context->call("cuMemAlloc", context->api->allocate, &buffer.address,
                                    std::max<std::size_t>(bytes, 1));
      !status)
    return environmentError(fmt::format("allocating {} bytes: {}", bytes, status.error().message),
                            status.error().remedy);
  buffer.size = bytes;
  return buffer;
}

Result<CudaStream> CudaDevice::createStream() const {
  // Flag 0: ordered after the default stream, on which uploads run.
  CuHandle handle = nullptr;
  if (Status status = context->call("cuStreamCreate", context->api->streamCreate, &handle, 0u);
      !status)
    return status.error();
  CudaStream stream;
  stream.context = context;
  stream.stream = CudaContext::own(context, handle, context->api->streamDestroy);
  return stream;
}

Result<CudaEvent> CudaDevice::createEvent() const {
  CuHandle handle = nullptr;
  if (Status status = context->call("cuEventCreate", context->api->eventCreate, &handle, 0u);
      !status)
    return status.error();
  CudaEvent event;
  event.context = context;
  event.event = CudaContext::own(context, handle, context->api->eventDestroy);
  return event;
}

std::optional<std::uint64_t> CudaDevice::streamNumber(CuHandle stream) const {
  int capturing = 0;
  unsigned long long number = 0;
  auto *const perThread = reinterpret_cast<CuHandle>(2); // CU_STREAM_PER_THREAD
  if (stream == perThread || !context->api->streamIsCapturing || !context->api->streamId ||
      context->run(context->api->streamIsCapturing, stream, &capturing) != cuSuccess || capturing ||
      context->run(context->api->streamId, stream, &number) != cuSuccess)
    return std::nullopt;
  return number;
}

Result<void *> CudaDevice::allocateOn(CuHandle stream, std::size_t bytes) const {
  CuDevicePointer address = 0;
  if (Status status =
          context->call("cuMemAllocAsync", context->api->allocateAsync, &address, bytes, stream);
      !status)
    return environmentError(
        fmt::format("allocating a workspace of {} bytes: {}", bytes, status.error().message),
        status.error().remedy);
  return reinterpret_cast<void *>(address);
}

Status CudaDevice::releaseOn(CuHandle stream, void *memory) const {
  return context->call("cuMemFreeAsync", context->api->releaseAsync, toAddress(memory), stream);
}

Status CudaDevice::clearOn(CuHandle stream, void *numbers, std::size_t count) const {
  return context->call("cuMemsetD32Async", context->api->fillWordsAsync, toAddress(numbers), 0u,
                       count, stream);
}

Status CudaDevice::checkPointer(const void *pointer) const {
  unsigned type = 0;
  int ordinal = -1;
  CuDevicePointer address = toAddress(pointer);
  if (context->run(context->api->pointerAttribute, static_cast<void *>(&type), pointerMemoryType,
                   address) != cuSuccess ||
      type != memoryTypeDevice)
    return invalidArgument(
        fmt::format("{} is host memory, not memory of cuda:{}", pointer, props.ordinal),
        "copy the tensor to the GPU");
  if (Status status = context->call("cuPointerGetAttribute", context->api->pointerAttribute,
                                    static_cast<void *>(&ordinal), pointerDeviceOrdinal, address);
      !status)
    return status;
  if (ordinal != props.ordinal)
    return invalidArgument(
        fmt::format("{} is memory of cuda:{}, not of cuda:{}", pointer, ordinal, props.ordinal),
        fmt::format("copy the tensor to cuda:{}", props.ordinal));
  return {};
}

Result<EncodedTensorMap> CudaDevice::encodeTensorMap(const TensorMapArg &map) const {
  if (!context->api->encodeTiled)
    return missingFunction("cuTensorMapEncodeTiled", "12");
  // Not vectors of the map's rank: the driver refuses a null pointer even where it reads nothing.
  std::array<std::uint64_t, 5> extents = {}, strides = {};
  std::array<std::uint32_t, 5> box = {};
  constexpr std::array<std::uint32_t, 5> everyElement = {1, 1, 1, 1, 1};
  std::copy(map.extents.begin(), map.extents.end(), extents.begin());
  std::copy(map.strides.begin(), map.strides.end(), strides.begin());
  std::copy(map.box.begin(), map.box.end(), box.begin());
  EncodedTensorMap encoded;
  if (Status status = context->call(
          "cuTensorMapEncodeTiled", context->api->encodeTiled, static_cast<void *>(&encoded),
          tensorMapDataType(map.dtype), static_cast<unsigned>(map.extents.size()), map.base,
          extents.data(), static_cast<const std::uint64_t *>(strides.data()), box.data(),
          everyElement.data(), tensorMapInterleave, tensorMapSwizzle(map.swizzle),
          tensorMapL2Promotion, tensorMapFill);
      !status)
    return status.error();
  return encoded;
}

Status CudaDevice::replaceAddress(EncodedTensorMap &map, void *base) const {
  if (!context->api->replaceAddress)
    return missingFunction("cuTensorMapReplaceAddress", "12");
  return context->call("cuTensorMapReplaceAddress", context->api->replaceAddress,
                       static_cast<void *>(&map), base);
}

Status CudaDevice::synchronize() const {
  return context->call("cuCtxSynchronize", context->api->contextSynchronize);
}

Result<int> cudaDeviceCount() {
  auto api = DriverApi::open();
  if (!api)
    return api.error();
  int count = 0;
  if (Status status = (*api)->check((*api)->deviceCount(&count), "cuDeviceGetCount"); !status)
    return status.error();
  return count;
}

Result<int> currentCudaDevice() {
  Result<int> count = cudaDeviceCount();
  if (!count)
    return count.error();
  auto api = DriverApi::open();
  CuDeviceHandle current = 0, device = 0;
  if (!api || (*api)->contextDevice(&current) != cuSuccess)
    return 0;
  for (int ordinal = 0; ordinal < *count; ++ordinal)
    if ((*api)->deviceGet(&device, ordinal) == cuSuccess && device == current)
      return ordinal;
  return 0;
}

} // namespace attnc
