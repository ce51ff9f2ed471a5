// A CUDA driver without a GPU: memory is the host's, kernels do nothing. It writes down every
// launch with its arguments to the file ATTNC_FAKE_DRIVER_LOG, so that two launchers can be
// compared. Addresses become what was copied there, or "memory". ATTNC_FAKE_DRIVER_CAPABILITY is
// 90, say.
#include "tests/e2e/kernels/ptx_entries.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <set>

namespace {

using attnc::e2e::PtxEntry;
using Address = std::uint64_t;

struct Function {
  PtxEntry entry;
  std::map<int, int> attributes; ///< and by -id those of a launch
};

struct Module {
  std::vector<PtxEntry> entries;
  std::map<std::string, Function> functions;
};

struct Driver {
  std::set<Address> memory;                ///< what was allocated; a launcher may leave it so
  std::map<Address, std::string> contents; ///< of what was copied: a name by its bytes
  std::vector<std::string> maps;           ///< what encoded tensor maps say
  std::vector<std::unique_ptr<Module>> modules;
};

Driver &driver() {
  static Driver one;
  return one;
}

std::string nameOf(Address address) {
  auto found = driver().contents.find(address);
  return found == driver().contents.end() ? "memory" : found->second;
}

/// An argument of 4, 8 or 128 bytes as text.
std::string argumentText(const void *value, int bytes) {
  if (bytes == 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, value, sizeof word);
    return fmt::format("{:#x}", word);
  }
  Address word = 0;
  std::memcpy(&word, value, sizeof word);
  if (bytes == 128) {
    Address base = 0;
    std::memcpy(&base, static_cast<const char *>(value) + sizeof word, sizeof base);
    return "map of " + nameOf(base) + ": " + driver().maps.at(word);
  }
  // Heap addresses of the host are far above every size and stride.
  return word >> 40 ? nameOf(word) : fmt::format("{}", word);
}

std::string joined(const std::uint64_t *list, unsigned count) {
  return fmt::format("{}", fmt::join(list, list + count, " "));
}

int store(void **handle, void *value) {
  *handle = value;
  return 0;
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
// One whose measured schedules come with attnc, so that they are those of every command.
int cuDeviceGetName(char *name, int, int) { return std::strcpy(name, "NVIDIA H100 80GB HBM3"), 0; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  const char *capability = std::getenv("ATTNC_FAKE_DRIVER_CAPABILITY");
  int both = capability ? std::stoi(capability) : 90;
  *value = attribute == 75   ? both / 10
           : attribute == 76 ? both % 10
           : attribute == 16 ? 132
                             : 232448;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t *bytes, int) { return *bytes = std::size_t(64) << 30, 0; }
int cuMemGetInfo_v2(std::size_t *unused, std::size_t *all) {
  return *unused = *all = std::size_t(64) << 30, 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) { return store(context, &driver()); }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuCtxPushCurrent_v2(void *) { return 0; }
int cuCtxPopCurrent_v2(void **context) { return store(context, &driver()); }
int cuCtxGetCurrent(void **context) { return store(context, &driver()); }
int cuCtxSynchronize() { return 0; }
int cuCtxGetDevice(int *device) { return *device = 0, 0; }

int cuMemAlloc_v2(Address *address, std::size_t bytes) {
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0, bytes);
  *address = reinterpret_cast<Address>(memory);
  driver().memory.insert(*address);
  return 0;
}
int cuMemAllocAsync(Address *address, std::size_t bytes, void *) {
  return cuMemAlloc_v2(address, bytes);
}
int cuMemFree_v2(Address address) {
  driver().memory.erase(address);
  driver().contents.erase(address);
  return std::free(reinterpret_cast<void *>(address)), 0;
}
int cuMemFreeAsync(Address address, void *) { return cuMemFree_v2(address); }
int cuMemcpyHtoD_v2(Address to, const void *from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  std::string_view copied(static_cast<const char *>(from), bytes);
  driver().contents[to] =
      fmt::format("{} bytes {:x}", bytes, std::hash<std::string_view>()(copied));
  return 0;
}
int cuMemcpyDtoH_v2(void *to, Address from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void *>(from), bytes), 0;
}
int cuMemsetD8_v2(Address to, unsigned char value, std::size_t bytes) {
  return std::memset(reinterpret_cast<void *>(to), value, bytes), 0;
}
int cuMemsetD32Async(Address, unsigned, std::size_t, void *) { return 0; }
int cuPointerGetAttribute(void *value, int attribute, Address) {
  return *static_cast<int *>(value) = attribute == 2 ? 2 : 0, 0; // device memory, of GPU 0
}

int cuModuleLoadData(void **handle, const void *image) {
  constexpr int noBinaryForGpu = 209;
  if (std::memcmp(image, "\177ELF", 4) == 0) // then the launcher takes PTX
    return noBinaryForGpu;
  auto module = std::make_unique<Module>();
  module->entries = attnc::e2e::ptxEntries(static_cast<const char *>(image));
  driver().modules.push_back(std::move(module));
  return store(handle, driver().modules.back().get());
}
int cuModuleLoadDataEx(void **handle, const void *image, unsigned, int *, void **) {
  return cuModuleLoadData(handle, image);
}
int cuModuleUnload(void *) { return 0; }
int cuModuleGetFunction(void **handle, void *module, const char *name) {
  constexpr int notFound = 500;
  auto &loaded = *static_cast<Module *>(module);
  for (const PtxEntry &entry : loaded.entries)
    if (entry.name == name) {
      loaded.functions[name].entry = entry;
      return store(handle, &loaded.functions[name]);
    }
  return notFound;
}
int cuFuncGetAttribute(int *value, int, void *) { return *value = 0, 0; }
int cuFuncSetAttribute(void *function, int attribute, int value) {
  static_cast<Function *>(function)->attributes[attribute] = value;
  return 0;
}

int cuTensorMapReplaceAddress(void *map, Address base) {
  std::memcpy(static_cast<char *>(map) + sizeof(Address), &base, sizeof base);
  return 0;
}
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, Address base,
                           const std::uint64_t *extents, const std::uint64_t *strides,
                           const std::uint32_t *box, const std::uint32_t *steps, int interleave,
                           int swizzle, int promotion, int fill) {
  std::vector<std::uint64_t> boxes(box, box + rank), everyElement(steps, steps + rank);
  driver().maps.push_back(fmt::format("type {}; {}; strides {}; box {}; steps {}; {} {} {} {}",
                                      type, joined(extents, rank), joined(strides, rank - 1),
                                      joined(boxes.data(), rank), joined(everyElement.data(), rank),
                                      interleave, swizzle, promotion, fill));
  Address number = driver().maps.size() - 1;
  std::memset(map, 0, 128);
  std::memcpy(map, &number, sizeof number);
  return cuTensorMapReplaceAddress(map, base);
}

int cuLaunchKernel(void *handle, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                   unsigned, unsigned shared, void *, void **values, void **) {
  const Function &function = *static_cast<Function *>(handle);
  std::string text = fmt::format("{} grid {} {} {} threads {} shared {}", function.entry.name, x, y,
                                 z, threads, shared);
  for (auto [attribute, value] : function.attributes)
    text += fmt::format(" attribute {} = {}", attribute, value);
  for (const attnc::e2e::PtxParameter &parameter : function.entry.parameters)
    text += "\n  " + argumentText(*values++, parameter.bytes);
  if (const char *log = std::getenv("ATTNC_FAKE_DRIVER_LOG"))
    std::ofstream(log, std::ios::app) << text << "\n";
  return 0;
}

struct Config {
  unsigned grid[3], block[3], shared;
  void *stream;
  struct {
    unsigned id, padding, value[16];
  } *attributes;
  unsigned attributeCount;
};
int cuLaunchKernelEx(const Config *config, void *handle, void **values, void **) {
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const auto &[id, padding, value] = config->attributes[i];
    static_cast<Function *>(handle)->attributes[-static_cast<int>(id)] = static_cast<int>(value[0]);
  }
  return cuLaunchKernel(handle, config->grid[0], config->grid[1], config->grid[2], config->block[0],
                        1, 1, config->shared, config->stream, values, nullptr);
}

int cuStreamCreate(void **stream, unsigned) { return store(stream, &driver()); }
int cuStreamDestroy_v2(void *) { return 0; }
int cuStreamSynchronize(void *) { return 0; }
int cuEventCreate(void **event, unsigned) { return store(event, &driver()); }
int cuEventDestroy_v2(void *) { return 0; }
int cuEventRecord(void *, void *) { return 0; }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *milliseconds, void *, void *) { return *milliseconds = 1, 0; }
int cuGetErrorName(int, const char **name) { return *name = "FAKE", 0; }
int cuGetErrorString(int, const char **text) { return *text = "of the fake driver", 0; }

} // extern "C"
// NOLINTEND(readability-identifier-naming)
