#include "tests/unit/runtime/fake_driver.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

/// A kernel of PTX that was loaded.
struct Function {
  std::string symbol;
  std::vector<std::size_t> sizes;
};

struct State {
  std::mutex mutex;
  std::map<std::string, long> calls;
  std::vector<std::unique_ptr<FakeLaunch>> launches;
  std::map<std::uintptr_t, std::size_t> memory; ///< bytes by address
};

State &state() {
  static State kept;
  return kept;
}

std::atomic<bool> isCapturing = false;
thread_local void *currentContext = nullptr;
int contextTag = 0;

void count(const char *function) {
  std::lock_guard lock(state().mutex);
  ++state().calls[function];
}

void *take(std::size_t bytes) {
  void *memory = std::aligned_alloc(256, (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256);
  std::lock_guard lock(state().mutex);
  state().memory[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
  return memory;
}

void giveBack(void *memory) {
  {
    std::lock_guard lock(state().mutex);
    state().memory.erase(reinterpret_cast<std::uintptr_t>(memory));
  }
  std::free(memory);
}

/// Of ".param .align 64 .b8 name[128]" or ".param .u32 name".
std::size_t sizeOf(const std::string &parameter) {
  if (std::size_t bracket = parameter.find('['); bracket != std::string::npos)
    return std::strtoul(parameter.c_str() + bracket + 1, nullptr, 10);
  for (const char *wide : {".u64", ".s64", ".b64", ".f64"})
    if (parameter.find(wide) != std::string::npos)
      return 8;
  return 4;
}

void readParameters(const std::string &ptx, std::size_t at, Function &function) {
  std::size_t end = ptx.find(')', at);
  for (at = ptx.find(".param", at); at < end; at = ptx.find(".param", at + 1))
    function.sizes.push_back(sizeOf(ptx.substr(at, ptx.find_first_of(",)\n", at) - at)));
}

int record(Function *function, const unsigned (&numbers)[7], void *stream, void **arguments) {
  auto launch = std::make_unique<FakeLaunch>();
  std::strncpy(launch->symbol, function->symbol.c_str(), sizeof launch->symbol - 1);
  std::copy(numbers, numbers + 3, launch->grid);
  launch->threads = numbers[3];
  launch->sharedBytes = numbers[4];
  launch->cluster = numbers[5];
  launch->startsEarly = numbers[6] != 0;
  launch->stream = stream;
  for (std::size_t number = 0; number < function->sizes.size(); ++number) {
    std::size_t size = function->sizes[number];
    if (launch->bytes + size > sizeof launch->arguments)
      return 1;
    std::memcpy(launch->arguments + launch->bytes, arguments[number], size);
    launch->bytes += size;
  }
  std::lock_guard lock(state().mutex);
  if (state().launches.size() < 4096)
    state().launches.push_back(std::move(launch));
  return 0;
}

struct Config {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  struct Attribute {
    std::uint32_t id, padding, value[16];
  } *attributes;
  unsigned attributeCount;
};

} // namespace

extern "C" {

using Address = unsigned long long;

long fakeCalls(const char *function) {
  std::lock_guard lock(state().mutex);
  if (function)
    return state().calls[function];
  long sum = 0;
  for (const auto &[name, calls] : state().calls)
    sum += calls;
  return sum;
}
std::size_t fakeLaunches() {
  std::lock_guard lock(state().mutex);
  return state().launches.size();
}
const FakeLaunch *fakeLaunch(std::size_t number) {
  std::lock_guard lock(state().mutex);
  return number < state().launches.size() ? state().launches[number].get() : nullptr;
}
void fakeReset() {
  std::lock_guard lock(state().mutex);
  state().calls.clear();
  state().launches.clear();
}

void fakeCapture(bool captures) { isCapturing = captures; }

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char *name, int size, int) {
  std::strncpy(name, "no GPU", static_cast<std::size_t>(size));
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 16   ? 132
           : attribute == 75 ? 9
           : attribute == 76 ? 0
           : attribute == 97 ? 232448
                             : 0;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t *bytes, int) {
  *bytes = std::size_t(80) << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &contextTag;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxPushCurrent_v2(void *context) {
  count("cuCtxPushCurrent");
  currentContext = context;
  return 0;
}
int cuCtxPopCurrent_v2(void **context) {
  *context = currentContext;
  currentContext = nullptr;
  return 0;
}
int cuCtxGetCurrent(void **context) {
  *context = currentContext;
  return 0;
}
int cuCtxSetCurrent(void *context) {
  currentContext = context;
  return 0;
}
int cuCtxSynchronize() { return 0; }
int cuCtxGetDevice(int *device) {
  *device = 0;
  return 0;
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  count("cuModuleLoadDataEx");
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return 209; // no binary for this GPU: the PTX is taken
  *module = new std::string(static_cast<const char *>(image));
  return 0;
}
int cuModuleUnload(void *module) {
  delete static_cast<std::string *>(module);
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *symbol) {
  const auto &ptx = *static_cast<std::string *>(module);
  std::size_t at = ptx.find(std::string(".entry ") + symbol + "(");
  if (at == std::string::npos)
    return 500;
  static std::vector<std::unique_ptr<Function>> kept; // as long as the process: handles are plain
  auto made = std::make_unique<Function>();
  made->symbol = symbol;
  readParameters(ptx, at, *made);
  std::lock_guard lock(state().mutex);
  *function = kept.emplace_back(std::move(made)).get();
  return 0;
}
int cuFuncGetAttribute(int *value, int, void *) {
  *value = 0;
  return 0;
}
int cuFuncSetAttribute(void *, int attribute, int value) {
  count("cuFuncSetAttribute");
  if (attribute == 9 && value == 100) // the most shared memory
    count("cuFuncSetAttribute: carveout");
  return 0;
}
int cuMemGetInfo_v2(std::size_t *unused, std::size_t *all) {
  *unused = *all = std::size_t(80) << 30;
  return 0;
}
int cuMemAlloc_v2(Address *address, std::size_t bytes) {
  count("cuMemAlloc");
  *address = reinterpret_cast<Address>(take(bytes));
  return 0;
}
int cuMemFree_v2(Address address) {
  giveBack(reinterpret_cast<void *>(address));
  return 0;
}
int cuMemAllocAsync(Address *address, std::size_t bytes, void *) {
  count("cuMemAllocAsync");
  *address = reinterpret_cast<Address>(take(bytes));
  return 0;
}
int cuMemFreeAsync(Address address, void *) {
  count("cuMemFreeAsync");
  giveBack(reinterpret_cast<void *>(address));
  return 0;
}
int cuMemcpyHtoD_v2(Address to, const void *from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, Address from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return 0;
}
int cuMemsetD8_v2(Address at, unsigned char value, std::size_t bytes) {
  std::memset(reinterpret_cast<void *>(at), value, bytes);
  return 0;
}
int cuMemsetD32Async(Address at, unsigned value, std::size_t words, void *) {
  count("cuMemsetD32Async");
  std::fill_n(reinterpret_cast<unsigned *>(at), words, value);
  return 0;
}
int cuStreamCreate(void **stream, unsigned) {
  *stream = new char;
  return 0;
}
int cuStreamDestroy_v2(void *stream) {
  delete static_cast<char *>(stream);
  return 0;
}
int cuStreamSynchronize(void *) { return 0; }
int cuStreamIsCapturing(void *, int *capturing) {
  count("cuStreamIsCapturing");
  *capturing = isCapturing;
  return 0;
}
int cuStreamGetId(void *stream, unsigned long long *number) {
  count("cuStreamGetId");
  *number = reinterpret_cast<std::uintptr_t>(stream);
  return 0;
}
int cuEventCreate(void **event, unsigned) {
  *event = new char;
  return 0;
}
int cuEventDestroy_v2(void *event) {
  delete static_cast<char *>(event);
  return 0;
}
int cuEventRecord(void *, void *) { return 0; }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 0;
  return 0;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                   unsigned, unsigned sharedBytes, void *stream, void **arguments, void **) {
  count("cuLaunchKernel");
  return record(static_cast<Function *>(function), {x, y, z, threads, sharedBytes, 1, 0}, stream,
                arguments);
}
int cuLaunchKernelEx(const Config *config, void *function, void **arguments, void **) {
  count("cuLaunchKernelEx");
  unsigned cluster = 1, startsEarly = 0;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    (config->attributes[i].id == 4 ? cluster : startsEarly) = config->attributes[i].value[0];
  return record(static_cast<Function *>(function),
                {config->grid[0], config->grid[1], config->grid[2], config->block[0],
                 config->sharedBytes, cluster, startsEarly},
                config->stream, arguments);
}
int cuPointerGetAttribute(void *value, int attribute, Address address) {
  count("cuPointerGetAttribute");
  std::lock_guard lock(state().mutex);
  auto next = state().memory.upper_bound(static_cast<std::uintptr_t>(address));
  if (next == state().memory.begin() || address - (--next)->first >= next->second)
    return 1; // what somebody else has taken
  *static_cast<int *>(value) = attribute == 2 ? 2 : 0;
  return 0;
}
/// The base, and then all that the map was made of.
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base,
                           const std::uint64_t *extents, const std::uint64_t *strides,
                           const std::uint32_t *box, const std::uint32_t *, int, int swizzle, int,
                           int) {
  count("cuTensorMapEncodeTiled");
  auto *words = static_cast<std::uint64_t *>(map);
  std::memset(map, 0, 128);
  words[0] = reinterpret_cast<std::uintptr_t>(base);
  words[1] =
      rank | static_cast<std::uint64_t>(type) << 8 | static_cast<std::uint64_t>(swizzle) << 16;
  for (unsigned axis = 0; axis < rank; ++axis) {
    words[2 + axis] = extents[axis] | static_cast<std::uint64_t>(box[axis]) << 40;
    if (axis + 1 < rank)
      words[8 + axis] = strides[axis];
  }
  return 0;
}
int cuTensorMapReplaceAddress(void *map, void *base) {
  count("cuTensorMapReplaceAddress");
  std::memcpy(map, &base, sizeof base);
  return 0;
}
int cuGetErrorName(int, const char **name) {
  *name = "FAKE_ERROR";
  return 0;
}
int cuGetErrorString(int, const char **text) {
  *text = "an error of the fake driver";
  return 0;
}
}
