#include "compiler/interpreter/machine/shared_memory.h"

namespace attnc::interpreter {

std::optional<Conflict> SharedMemory::read(uint32_t address, const View &view, const Access &by) {
  if (address + kChunkBytes > memory.size())
    return Conflict{Conflict::Outside, address, {}};
  Chunk &chunk = chunks[address / kChunkBytes];
  const Access &written = chunk.written;
  if (written.clock == 0)
    return Conflict{Conflict::Unwritten, address, {}};
  if (view.seen[written.agent] < written.clock)
    return Conflict{Conflict::WriteNotSeen, address, written};
  if (by.async && !written.async && view.published[written.agent] < written.clock)
    return Conflict{Conflict::WriteNotPublished, address, written};
  for (Access &read : chunk.reads)
    if (read.agent == by.agent) {
      read = by;
      return std::nullopt;
    }
  chunk.reads.push_back(by);
  return std::nullopt;
}

std::optional<Conflict> SharedMemory::write(uint32_t address, const View &view, const Access &by) {
  if (address + kChunkBytes > memory.size())
    return Conflict{Conflict::Outside, address, {}};
  Chunk &chunk = chunks[address / kChunkBytes];
  const Access &written = chunk.written;
  if (view.seen[written.agent] < written.clock)
    return Conflict{Conflict::WriteNotSeen, address, written};
  if (by.async && !written.async && view.published[written.agent] < written.clock)
    return Conflict{Conflict::WriteNotPublished, address, written};
  for (const Access &read : chunk.reads)
    if (view.seen[read.agent] < read.clock)
      return Conflict{Conflict::ReadNotSeen, address, read};
  chunk.written = by;
  chunk.reads.clear();
  return std::nullopt;
}

} // namespace attnc::interpreter
