// Accesses to shared memory, global memory and registers, and what is wrong with them in words.
#include "compiler/interpreter/machine/machine.h"
#include "dialects/Attn/SpecLocation.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::interpreter {

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string lineOf(StringRef text, Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (text.empty() || !place || place.getLine() == 0)
    return "";
  for (unsigned line = 1; line < place.getLine(); ++line)
    text = text.split('\n').second;
  return text.split('\n').first.trim().str();
}

std::string KernelCode::describe(Operation *op) const {
  std::string result = lineOf(text, op->getLoc());
  if (result.empty()) {
    llvm::raw_string_ostream stream(result);
    op->print(stream, OpPrintingFlags().skipRegions().useLocalScope().printNameLocAsPrefix());
  }
  std::string place = text.empty() ? attn::specPlace(op->getLoc()) : "";
  return "`" + result + "`" + (place.empty() ? "" : " (" + place + ")");
}

Outcome Machine::fail(const Warp &warp, Operation *op, const std::string &why) {
  if (faultText.empty())
    faultText = fmt::format("tile.kernel @{}: block {} {} {}: {} {}",
                            tile::KernelOp(code.kernel).getSymName().str(), warp.block->number,
                            code.perThread ? "thread" : "warp", warp.number,
                            op == code.kernel ? "" : code.describe(op), why);
  return Outcome::Fault;
}

/// Who an access is by, and what must happen before others may rely on its end.
std::string Machine::agentText(const Access &access) const {
  std::string op = code.describe(access.op);
  uint32_t warpAgents = warps.size() * Warp::kAgents;
  if (access.agent >= warpAgents)
    return fmt::format("by {}, a copy that this warp does not know to be complete (tile.await)",
                       op);
  const Warp &warp = warps[access.agent / Warp::kAgents];
  switch (access.agent % Warp::kAgents) {
  case Warp::Copies:
    return fmt::format("by {} of warp {}, a copy that this warp does not know to be complete "
                       "(tile.wait there, then a barrier)",
                       op, warp.number);
  case Warp::Products:
    return fmt::format("by {} of warp {}, a product that this warp does not know to be complete "
                       "(tile.mma_wait there, then a release or barrier)",
                       op, warp.number);
  case Warp::Stores:
    return fmt::format("by {} of warp {}, a store that this warp does not know to be complete "
                       "(tile.store_wait there, then a barrier)",
                       op, warp.number);
  default:
    return fmt::format("by {} of warp {}, with no barrier or release between the two", op,
                       warp.number);
  }
}

std::string Machine::conflictText(const Conflict &conflict, bool write) const {
  const char *verb = write ? "writes" : "reads";
  switch (conflict.kind) {
  case Conflict::Outside:
    return fmt::format("{} shared memory at byte {}, beyond the {} of the block", verb,
                       conflict.address, code.sharedBytes);
  case Conflict::Unwritten:
    return fmt::format("reads shared memory at byte {} that nothing has written", conflict.address);
  case Conflict::WriteNotSeen:
    return fmt::format("{} shared memory at byte {} while it is written {}", verb, conflict.address,
                       agentText(conflict.other));
  case Conflict::ReadNotSeen:
    return fmt::format("{} shared memory at byte {} while it is read {}", verb, conflict.address,
                       agentText(conflict.other));
  case Conflict::WriteNotPublished:
    return fmt::format("{} shared memory at byte {} asynchronously, with no tile.publish since it "
                       "was written by {}",
                       verb, conflict.address, code.describe(conflict.other.op));
  }
  llvm_unreachable("all kinds are handled");
}

Outcome Machine::failConflict(const Warp &warp, Operation *op, const Conflict &conflict,
                              bool write) {
  return fail(warp, op, conflictText(conflict, write));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Outcome Machine::read(Warp &warp, BlockState &block, uint32_t address, const Access &by) {
  if (auto conflict = block.memory.read(address, warp.view, by))
    return failConflict(warp, by.op, *conflict, false);
  return Outcome::Done;
}

Outcome Machine::write(Warp &warp, BlockState &block, uint32_t address, const Access &by) {
  if (auto conflict = block.memory.write(address, warp.view, by))
    return failConflict(warp, by.op, *conflict, true);
  return Outcome::Done;
}

Outcome Machine::readTile(Warp &warp, BlockState &block, uint32_t base, const TileLayout &layout,
                          uint32_t cols, const Access &by) {
  for (uint32_t row = 0; row < layout.rows; ++row)
    for (uint32_t i = 0; i * layout.perChunk() < cols; ++i)
      if (read(warp, block, layout.chunk(base, row, i), by) == Outcome::Fault)
        return Outcome::Fault;
  return Outcome::Done;
}

Outcome Machine::writeTile(Warp &warp, BlockState &block, uint32_t base, const TileLayout &layout,
                           const Access &by) {
  for (uint32_t row = 0; row < layout.rows; ++row)
    for (uint32_t i = 0; i * layout.perChunk() < layout.width; ++i)
      if (write(warp, block, layout.chunk(base, row, i), by) == Outcome::Fault)
        return Outcome::Fault;
  return Outcome::Done;
}

Outcome Machine::checkGlobal(const Warp &warp, Operation *op, const void *tensor,
                             const std::byte *address, size_t bytes, bool write, size_t alignment) {
  std::string why = global.check(tensor, address, bytes, write, alignment);
  return why.empty() ? Outcome::Done : fail(warp, op, why);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Outcome Machine::touch(Warp &warp, unsigned number, bool write, Operation *op) {
  Place &place = warp.places[number];
  const char *verb = write ? "writes" : "reads";
  if (place.product > warp.complete)
    return fail(warp, op,
                fmt::format("{} registers that an unfinished product writes: no tile.mma_wait "
                            "covers it",
                            verb));
  if (place.product > place.settled)
    return fail(warp, op,
                fmt::format("{} registers that a product has written, and no tile.mma_wait since "
                            "then names",
                            verb));
  if (write && place.reader > warp.complete)
    return fail(warp, op,
                "writes registers that an unfinished product reads: no tile.mma_wait covers it");
  if (!write && !place.written)
    return fail(warp, op, "reads registers that nothing has written");
  place.written = true;
  place.touched = warp.fences;
  return Outcome::Done;
}

} // namespace attnc::interpreter
