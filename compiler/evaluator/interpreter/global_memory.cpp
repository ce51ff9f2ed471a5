#include "compiler/evaluator/interpreter/global_memory.h"
#include <fmt/format.h>

namespace attnc::interpreter {

std::string GlobalMemory::check(const std::byte *address, size_t bytes, bool write) const {
  const GlobalRange *nearest = nullptr;
  auto distance = [&](const GlobalRange &range) {
    return address < range.data ? range.data - address
           : address + bytes > range.data + range.bytes
               ? address + bytes - (range.data + range.bytes)
               : 0;
  };
  for (const GlobalRange &range : ranges) {
    if (distance(range) == 0) {
      if (write && !range.writable)
        return "writes '" + range.name + "', which the kernel may only read";
      return "";
    }
    if (!nearest || distance(range) < distance(*nearest))
      nearest = &range;
  }
  std::string text =
      fmt::format("{} {} bytes outside every tensor", write ? "writes" : "reads", bytes);
  if (nearest)
    text += fmt::format("; the nearest is '{}', {} bytes long, and this is at byte {}",
                        nearest->name, nearest->bytes, address - nearest->data);
  return text;
}

} // namespace attnc::interpreter
