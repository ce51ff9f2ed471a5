#include "compiler/interpreter/machine/global_memory.h"
#include <fmt/format.h>

namespace attnc::interpreter {

std::string GlobalMemory::check(const void *tensor, const std::byte *address, size_t bytes,
                                bool write, size_t alignment) const {
  const char *verb = write ? "writes" : "reads";
  const GlobalRange *found = nullptr;
  for (const GlobalRange &range : ranges)
    if (range.data == tensor && (!found || range.bytes > found->bytes))
      found = &range;
  if (!found)
    return fmt::format("{} memory of no tensor of the launch", verb);
  if (bytes == 0) // of nothing, as where the columns of a block lie behind those of a result
    return "";
  if (address < found->data || address + bytes > found->data + found->bytes)
    return fmt::format("{} {} bytes at byte {} of '{}', which has {}", verb, bytes,
                       address - found->data, found->name, found->bytes);
  if (auto place = reinterpret_cast<uintptr_t>(address); place % alignment != 0)
    return fmt::format("{} {} bytes at byte {} of '{}', address {:#x}: no multiple of {}", verb,
                       bytes, address - found->data, found->name, place, alignment);
  if (write && !found->writable)
    return fmt::format("writes '{}', which the kernel may only read", found->name);
  return "";
}

} // namespace attnc::interpreter
