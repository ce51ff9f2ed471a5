#include "compiler/driver/execution/guarded_memory.h"

#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <fmt/format.h>

namespace attnc::driver {

namespace {

constexpr size_t alignment = 256;

/// The first byte of a guard zone that is no longer poison, or null.
const std::byte *damage(const std::byte *zone) {
  const std::byte *end = zone + guardBytes;
  const std::byte *found =
      std::find_if(zone, end, [](std::byte b) { return b != std::byte{poisonByte}; });
  return found == end ? nullptr : found;
}

Status checkZones(const std::string &name, const std::byte *before, const std::byte *after) {
  std::string where;
  if (const std::byte *found = damage(before))
    where = fmt::format("{} bytes before its start", guardBytes - (found - before));
  else if (const std::byte *found = damage(after))
    where = fmt::format("{} bytes after its end", found - after);
  if (where.empty())
    return Status::success();
  return internalError(fmt::format("a kernel wrote outside '{}': {}", name, where));
}

} // namespace

Result<GuardedHostMemory> GuardedHostMemory::allocate(const std::string &name, size_t bytes) {
  GuardedHostMemory result;
  size_t total = 2 * guardBytes + (bytes + alignment - 1) / alignment * alignment;
  result.memory.reset(
      total < bytes ? nullptr : static_cast<std::byte *>(std::aligned_alloc(alignment, total)));
  if (!result.memory)
    return environmentError(fmt::format("there is no memory for '{}' ({} bytes)", name, bytes),
                            "use a smaller shape");
  result.name = name;
  result.size = bytes;
  std::memset(result.memory.get(), poisonByte, total);
  return result;
}

void GuardedHostMemory::poison() const { std::memset(data(), poisonByte, size); }

Status GuardedHostMemory::checkGuards() const {
  return checkZones(name, memory.get(), data() + size);
}

Result<GuardedDeviceMemory> GuardedDeviceMemory::allocate(const CudaDevice &device,
                                                          const std::string &name, size_t bytes) {
  Result<DeviceBuffer> buffer = device.allocate(bytes + 2 * guardBytes);
  if (!buffer)
    return Error{buffer.error().kind,
                 fmt::format("'{}' ({} bytes): {}", name, bytes, buffer.error().message),
                 buffer.error().remedy};
  if (Status filled = buffer->fill(poisonByte); !filled)
    return filled.error();
  GuardedDeviceMemory result;
  result.name = name;
  result.memory = std::move(*buffer);
  result.size = bytes;
  return result;
}

Status GuardedDeviceMemory::checkGuards() const {
  std::vector<std::byte> zones(2 * guardBytes);
  if (Status read = memory.download(zones.data(), guardBytes); !read)
    return read;
  if (Status read = memory.download(zones.data() + guardBytes, guardBytes, guardBytes + size);
      !read)
    return read;
  return checkZones(name, zones.data(), zones.data() + guardBytes);
}

} // namespace attnc::driver
