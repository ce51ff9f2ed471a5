// The shared memory of a block, with who has accessed what.
#ifndef ATTNC_COMPILER_INTERPRETER_MACHINE_SHARED_MEMORY_H
#define ATTNC_COMPILER_INTERPRETER_MACHINE_SHARED_MEMORY_H

#include "compiler/interpreter/code/tile_layout.h"
#include "compiler/interpreter/machine/view.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace attnc::interpreter {

/// An access: its agent, when, for which op, and whether through the asynchronous proxy (copies of
/// boxes, products of warpgroups), which sees what threads wrote only after tile.publish.
struct Access {
  uint32_t agent = 0;
  uint32_t clock = 0; ///< 0: never
  mlir::Operation *op = nullptr;
  bool async = false;
};

/// Why an access is wrong: of `other`, which it conflicts with.
struct Conflict {
  enum Kind { Outside, Unwritten, WriteNotSeen, WriteNotPublished, ReadNotSeen } kind;
  uint32_t address;
  Access other;
};

/// Bytes, and for each 16 of them the last write and the reads since then.
class SharedMemory {
public:
  explicit SharedMemory(uint32_t bytes = 0)
      : memory(bytes), chunks((bytes + kChunkBytes - 1) / kChunkBytes) {}

  std::byte *at(uint32_t address) { return memory.data() + address; }
  uint32_t bytes() const { return memory.size(); }

  /// Records an access to the chunk at `address` by somebody who knows `view`.
  std::optional<Conflict> read(uint32_t address, const View &view, const Access &by);
  std::optional<Conflict> write(uint32_t address, const View &view, const Access &by);

private:
  struct Chunk {
    Access written;
    llvm::SmallVector<Access, 2> reads;
  };
  std::vector<std::byte> memory;
  std::vector<Chunk> chunks;
};

} // namespace attnc::interpreter

#endif
