#include "runtime/cuda/kept_counters.h"

namespace attnc {

Status KeptCounters::make(const CudaDevice &gpu) {
  Result<DeviceBuffer> buffer = gpu.allocate(streams * counters * sizeof(std::int32_t));
  if (!buffer)
    return buffer.error();
  if (Status status = buffer->fill(0); !status)
    return status;
  memory = *std::move(buffer);
  return gpu.synchronize(); // launches may be on streams that do not wait for the fill
}

void *KeptCounters::on(const CudaDevice &gpu, CuHandle stream, std::size_t count) {
  if (!memory.data() || count > counters)
    return nullptr;
  std::optional<std::uint64_t> number = gpu.streamNumber(stream);
  if (!number)
    return nullptr;
  std::uint64_t owner = *number + 1; // 0: nobody's
  for (std::size_t tried = 0; tried < streams; ++tried) {
    std::size_t place = (owner + tried) % streams;
    std::uint64_t before = owners[place].load(std::memory_order_relaxed);
    if (before == owner ||
        (before == 0 && (owners[place].compare_exchange_strong(before, owner) || before == owner)))
      return static_cast<std::int32_t *>(memory.data()) + place * counters;
  }
  return nullptr;
}

} // namespace attnc
