// Vectors, rounded weights and whole fragments that a warp exchanges with shared and global memory.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>

using namespace mlir;

namespace attnc::interpreter {
namespace {

//===----------------------------------------------------------------------===//
// Vectors in shared memory
//===----------------------------------------------------------------------===//

void addReadVector(CodeBuilder &builder, tile::ReadVectorOp op) {
  unsigned place = builder.place(op.getVector()), tile = builder.word(op.getTile());
  unsigned first = builder.word(op.getFirst());
  TileLayout layout(op.getTile().getType());
  bool overRows = isa<tile::RowsType>(op.getVector().getType());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, true, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &vector = warp.places[place];
    for (unsigned i = 0; i < (overRows ? vector.rows : vector.cols); ++i) {
      uint32_t from = layout.at(warp.words[tile].i, 0, warp.words[first].i + i);
      if (machine.read(warp, *warp.block, from / kChunkBytes * kChunkBytes,
                       machine.own(warp, op)) == Outcome::Fault)
        return Outcome::Fault;
      float value;
      loadFloats(layout.dtype, warp.block->memory.at(from), 1, &value);
      for (unsigned share = 0; share < (overRows ? kShares : 1); ++share)
        vector.elements[overRows ? i * kShares + share : i] = value;
    }
    return Outcome::Done;
  });
}

void addWriteVector(CodeBuilder &builder, tile::WriteVectorOp op) {
  unsigned place = builder.place(op.getVector()), tile = builder.word(op.getTile());
  unsigned first = builder.word(op.getFirst());
  TileLayout layout(op.getTile().getType());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &vector = warp.places[place];
    if (!vector.sharesAgree())
      return machine.fail(warp, op, kSharesDiffer);
    for (unsigned row = 0; row < vector.rows; ++row) {
      uint32_t to = layout.at(warp.words[tile].i, 0, warp.words[first].i + row);
      if (machine.write(warp, *warp.block, to / kChunkBytes * kChunkBytes, machine.own(warp, op)) ==
          Outcome::Fault)
        return Outcome::Fault;
      storeFloats(layout.dtype, &vector.at(row, 0), 1, warp.block->memory.at(to));
    }
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Rounded weights
//===----------------------------------------------------------------------===//

void addStoreOperand(CodeBuilder &builder, tile::StoreOperandOp op) {
  unsigned place = builder.place(op.getOperand()), tile = builder.word(op.getTile());
  TileLayout layout(op.getTile().getType());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    // A product may read the operand at the same time.
    Place &operand = warp.places[place];
    if (!operand.written)
      return machine.fail(warp, op, "reads registers that nothing has written");
    for (unsigned row = 0; row < operand.rows; ++row)
      for (unsigned col = 0; col < operand.cols; col += layout.perChunk()) {
        uint32_t to = layout.at(warp.words[tile].i, row, col);
        if (machine.write(warp, *warp.block, to, machine.own(warp, op)) == Outcome::Fault)
          return Outcome::Fault;
        storeFloats(layout.dtype, &operand.at(row, col), layout.perChunk(),
                    warp.block->memory.at(to));
      }
    return Outcome::Done;
  });
}

void addMove(CodeBuilder &builder, tile::MoveOp op) {
  unsigned from = builder.place(op->getOperand(0)), to = builder.place(op->getOperand(1));
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, from, false, op) == Outcome::Fault ||
        machine.touch(warp, to, true, op) == Outcome::Fault)
      return Outcome::Fault;
    warp.places[to].elements = warp.places[from].elements;
    return Outcome::Done;
  });
}

void addScalePacked(CodeBuilder &builder, tile::ScalePackedOp op) {
  unsigned by = builder.place(op.getBy());
  auto type = dyn_cast<tile::SharedType>(op.getPlace().getType());
  if (!type) {
    unsigned place = builder.place(op.getPlace());
    builder.step(op, false, [=](Machine &machine, Warp &warp) {
      if (machine.touch(warp, by, false, op) == Outcome::Fault ||
          machine.touch(warp, place, false, op) == Outcome::Fault ||
          machine.touch(warp, place, true, op) == Outcome::Fault)
        return Outcome::Fault;
      Place &operand = warp.places[place];
      for (unsigned row = 0; row < operand.rows; ++row)
        for (unsigned col = 0; col < operand.cols; ++col)
          operand.at(row, col) =
              roundTo(machine.code.places[place].dtype,
                      operand.at(row, col) * warp.places[by].at(row, shareOf(col)));
      return Outcome::Done;
    });
    return;
  }
  unsigned tile = builder.word(op.getPlace());
  TileLayout layout(type);
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, by, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Access own = machine.own(warp, op);
    for (unsigned row = 0; row < layout.rows; ++row)
      for (unsigned i = 0; i * layout.perChunk() < layout.cols; ++i) {
        uint32_t at = layout.chunk(warp.words[tile].i, row, i);
        if (machine.read(warp, *warp.block, at, own) == Outcome::Fault ||
            machine.write(warp, *warp.block, at, own) == Outcome::Fault)
          return Outcome::Fault;
        float elements[8];
        loadFloats(layout.dtype, warp.block->memory.at(at), layout.perChunk(), elements);
        for (unsigned k = 0; k < layout.perChunk(); ++k)
          elements[k] *= warp.places[by].at(row, shareOf(i * layout.perChunk() + k));
        storeFloats(layout.dtype, elements, layout.perChunk(), warp.block->memory.at(at));
      }
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// In the order of lanes
//===----------------------------------------------------------------------===//

/// The number of an element in the order in which tile.save writes it: 16-byte piece p of lane l at
/// place 32 p + l, each piece a lane's part of a block of 16 x 8.
unsigned laneOrder(const Place &place, bool overRows, unsigned row, unsigned col) {
  if (overRows)
    return row * kShares + col;
  unsigned piece = row / 16 * (place.cols / 8) + col / 8;
  unsigned lane = row % 8 * kShares + shareOf(col);
  return (piece * 32 + lane) * 4 + row % 16 / 8 * 2 + col % 2;
}

void addStoreLanes(CodeBuilder &builder, tile::StoreLanesOp op) {
  unsigned place = builder.place(op.getFragment()), tile = builder.word(op.getTile());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &fragment = warp.places[place];
    uint32_t base = warp.words[tile].i;
    for (unsigned row = 0; row < fragment.rows; ++row)
      for (unsigned col = 0; col < fragment.cols; ++col) {
        uint32_t to = base + laneOrder(fragment, false, row, col) * sizeof(float);
        if (machine.write(warp, *warp.block, to / kChunkBytes * kChunkBytes,
                          machine.own(warp, op)) == Outcome::Fault)
          return Outcome::Fault;
        std::memcpy(warp.block->memory.at(to), &fragment.at(row, col), sizeof(float));
      }
    return Outcome::Done;
  });
}

/// tile.save and tile.restore.
template <class Op> void addLanes(CodeBuilder &builder, Op op) {
  constexpr bool saves = std::is_same_v<Op, tile::SaveOp>;
  unsigned place = builder.place(op.getPlace());
  unsigned pointer = builder.word(op.getPointer()), offset = builder.word(op.getOffset());
  bool overRows = isa<tile::RowsType>(op.getPlace().getType());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, !saves, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &elements = warp.places[place];
    auto *base = reinterpret_cast<std::byte *>(warp.words[pointer].i) +
                 warp.words[offset].i * int64_t(sizeof(float));
    if (machine.checkGlobal(warp, op, Machine::pointer(warp.words[pointer]), base,
                            elements.elements.size() * sizeof(float), saves,
                            overRows ? sizeof(float) : 16) == Outcome::Fault)
      return Outcome::Fault;
    for (unsigned row = 0; row < elements.rows; ++row)
      for (unsigned col = 0; col < elements.cols; ++col) {
        std::byte *at = base + laneOrder(elements, overRows, row, col) * sizeof(float);
        float &element = elements.at(row, col);
        if (saves)
          std::memcpy(at, &element, sizeof(float));
        else
          std::memcpy(&element, at, sizeof(float));
      }
    return Outcome::Done;
  });
}

} // namespace

bool addVectorStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::ReadVectorOp op) { return addReadVector(builder, op), true; })
      .Case([&](tile::WriteVectorOp op) { return addWriteVector(builder, op), true; })
      .Case([&](tile::StoreOperandOp op) { return addStoreOperand(builder, op), true; })
      .Case([&](tile::MoveOp op) { return addMove(builder, op), true; })
      .Case([&](tile::ScalePackedOp op) { return addScalePacked(builder, op), true; })
      .Case([&](tile::StoreLanesOp op) { return addStoreLanes(builder, op), true; })
      .Case([&](tile::SaveOp op) { return addLanes(builder, op), true; })
      .Case([&](tile::RestoreOp op) { return addLanes(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
