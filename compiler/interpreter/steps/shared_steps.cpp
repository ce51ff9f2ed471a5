// Ops on shared memory by all threads: addresses of tiles, copies, products of one warp, stores.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/code/matrix.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>
#include <fmt/format.h>
#include <numeric>

using namespace mlir;

namespace attnc::interpreter {
namespace {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

void addStage(CodeBuilder &builder, tile::StageOp op) {
  unsigned ring = builder.word(op.getRing()), index = builder.word(op.getIndex());
  unsigned result = builder.word(op.getResult());
  auto pipe = dyn_cast<tile::PipeType>(op.getRing().getType());
  int64_t stages =
      pipe ? pipe.getStages() : cast<tile::RingType>(op.getRing().getType()).getStages();
  int64_t bytes = pipe ? pipe.getStride() : op.getType().getBytes();
  builder.step(op, false, [=, isPipe = bool(pipe)](Machine &machine, Warp &warp) {
    int64_t base = warp.words[ring].i;
    if (isPipe)
      base = machine.code.pipes[base].offset;
    warp.words[result].i = base + int64_t(uint32_t(warp.words[index].i)) % stages * bytes;
    return Outcome::Done;
  });
}

void addChoose(CodeBuilder &builder, tile::ChooseOp op) {
  unsigned number = builder.word(op.getNumber()), result = builder.word(op.getResult());
  SmallVector<unsigned> places;
  for (Value place : op.getPlaces())
    places.push_back(builder.word(place));
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    int64_t index = warp.words[number].i;
    if (index < 0 || index >= int64_t(places.size()))
      return machine.fail(warp, op, fmt::format("chooses place {} of {}", index, places.size()));
    warp.words[result] = warp.words[places[index]];
    return Outcome::Done;
  });
}

// Columns of an operand in registers are not a place of their own: whoever uses them looks at the
// op.
void addColumns(CodeBuilder &builder, tile::ColumnsOp op) {
  auto type = dyn_cast<tile::SharedType>(op.getTile().getType());
  if (!type)
    return;
  unsigned tile = builder.word(op.getTile()), first = builder.word(op.getFirst());
  unsigned result = builder.word(op.getResult());
  TileLayout layout(type);
  int64_t cols = cast<tile::SharedType>(op.getType()).getCols();
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    int64_t col = warp.words[first].i;
    if (col < 0 || col % 16 != 0 || col + cols > int64_t(layout.width))
      return machine.fail(warp, op,
                          fmt::format("takes columns {} to {} of a tile of {}; they start at a "
                                      "multiple of 16",
                                      col, col + cols, layout.cols));
    warp.words[result].i = warp.words[tile].i + layout.columns(col);
    return Outcome::Done;
  });
}

void addStrip(CodeBuilder &builder, tile::StripOp op) {
  unsigned tile = builder.word(op.getTile()), first = builder.word(op.getFirst());
  unsigned result = builder.word(op.getResult());
  TileLayout layout(op.getTile().getType());
  int64_t rows = op.getType().getRows();
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    int64_t row = warp.words[first].i;
    if (row < 0 || row % 8 != 0 || row + rows > int64_t(layout.rows))
      return machine.fail(warp, op,
                          fmt::format("takes rows {} to {} of a tile of {}; a strip starts at a "
                                      "multiple of 8",
                                      row, row + rows, layout.rows));
    warp.words[result].i = warp.words[tile].i + layout.strip(row);
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Copies by threads
//===----------------------------------------------------------------------===//

/// Which pieces of a tile each thread moves, as copyTile of the device headers divides it.
struct CopyPlan {
  unsigned vectorBytes, vector, columns, across, down, threads;

  CopyPlan(const TileLayout &layout, unsigned vectorBytes, unsigned tiles, unsigned threads)
      : vectorBytes(vectorBytes), vector(vectorBytes / layout.elementBytes()),
        columns(tiles * layout.width),
        across(std::gcd(layout.width / vector,
                        std::min(std::max(128 / vectorBytes, threads / layout.rows), threads))),
        down(threads / across), threads(threads) {}

  template <class Body> void eachOf(const TileLayout &layout, unsigned warp, Body body) const {
    for (unsigned thread = warp * 32; thread < warp * 32 + 32; ++thread)
      for (unsigned row = thread / across; row < layout.rows; row += down)
        for (unsigned col = thread % across * vector; col < columns; col += across * vector)
          if (body(row, col) == Outcome::Fault)
            return;
  }
};

/// A piece on its way: from global memory, or zeros.
struct CopyPiece {
  uint32_t to;
  const std::byte *from; // null for zeros
};

/// Pieces of 2 bytes go through registers.
bool isAsync(unsigned vectorBytes) { return vectorBytes >= 4; }

/// Who writes the pieces of a copy.
Access copierOf(Machine &machine, Warp &warp, Operation *op, unsigned vectorBytes) {
  Access by = machine.own(warp, op);
  if (isAsync(vectorBytes)) {
    by.agent = warp.agent(Warp::Copies);
    by.clock = warp.copies.open;
  }
  return by;
}

Outcome startPieces(Machine &machine, Warp &warp, Operation *op, unsigned vectorBytes,
                    std::vector<CopyPiece> pieces) {
  auto perform = [block = warp.block, vectorBytes, pieces = std::move(pieces)](Machine &) {
    for (const CopyPiece &piece : pieces)
      if (piece.from)
        std::memcpy(block->memory.at(piece.to), piece.from, vectorBytes);
      else
        std::memset(block->memory.at(piece.to), 0, vectorBytes);
    return Outcome::Done;
  };
  if (!isAsync(vectorBytes))
    return perform(machine);
  machine.start({Event::Copy, &warp, warp.copies.open, op, std::move(perform)});
  return Outcome::Done;
}

void addCopy(CodeBuilder &builder, tile::CopyOp op) {
  unsigned pointer = builder.word(op.getPointer()), offset = builder.word(op.getOffset());
  unsigned stride = builder.word(op.getStride()), rows = builder.word(op.getRows());
  unsigned tile = builder.word(op.getTile());
  std::optional<unsigned> cols =
      op.getCols() ? std::optional(builder.word(op.getCols())) : std::nullopt;
  TileLayout layout(op.getTile().getType());
  CopyPlan plan(layout, op.getVectorBytes(), op.getTiles(), builder.code().threads);
  int64_t tileBytes = op.getTile().getType().getBytes();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    Access by = copierOf(machine, warp, op, plan.vectorBytes);
    std::vector<CopyPiece> pieces;
    Outcome outcome = Outcome::Done;
    uint32_t base = warp.words[tile].i;
    auto *from = reinterpret_cast<const std::byte *>(warp.words[pointer].i);
    int64_t all = plan.columns - layout.width + layout.cols;
    int64_t end = cols ? std::min<int64_t>(warp.words[*cols].i, all) : all;
    // Lanes that fill a chunk together are no conflict.
    llvm::DenseSet<uint32_t> chunks;
    plan.eachOf(layout, warp.number, [&](unsigned row, unsigned col) {
      uint32_t to = layout.at(base + col / layout.width * tileBytes, row, col % layout.width);
      uint32_t chunk = to / kChunkBytes * kChunkBytes;
      if (chunks.insert(chunk).second)
        outcome = machine.write(warp, *warp.block, chunk, by);
      if (outcome == Outcome::Fault)
        return outcome;
      pieces.push_back({to, nullptr});
      if (row < warp.words[rows].i && col < end) {
        int64_t element = warp.words[offset].i + row * warp.words[stride].i + col;
        pieces.back().from = from + element * int64_t(layout.elementBytes());
        outcome = machine.checkGlobal(warp, op, from, pieces.back().from, plan.vectorBytes, false,
                                      /*alignment=*/plan.vectorBytes);
      }
      return outcome;
    });
    if (outcome == Outcome::Fault)
      return outcome;
    return startPieces(machine, warp, op, plan.vectorBytes, std::move(pieces));
  });
}

/// Where the rows of a tile lie, as the block of a tile.copy_rows says.
struct RowPlaces {
  unsigned row, start, offset, exists;
  std::vector<unsigned> coordinates;

  RowPlaces(CodeBuilder &builder, tile::CopyRowsOp op) {
    Block &block = *op.getBodyBlock();
    row = builder.word(block.getArgument(0));
    start = builder.piece(block);
    auto yielded = block.getTerminator()->getOperands();
    offset = builder.word(yielded[0]);
    exists = builder.word(yielded[1]);
    for (Value at : yielded.drop_front(op.getRun() ? 3 : 2))
      coordinates.push_back(builder.word(at));
  }

  Outcome find(Machine &machine, Warp &warp, int32_t number) const {
    warp.words[row].i = number;
    unsigned pc = start;
    return machine.runCode(warp, pc);
  }
};

// Boxes would bring what the rows are: in a run whose first and last row exist, all do, and the
// coordinate along which a box has them grows by 1 from row to row.
Outcome checkRuns(Machine &machine, Warp &warp, tile::CopyRowsOp op, const RowPlaces &places,
                  int32_t first) {
  auto run = static_cast<int32_t>(op.getRun());
  auto rows = static_cast<int32_t>(op.getTile().getType().getRows());
  if (!run)
    return Outcome::Done;
  Value map = op.getBodyBlock()->getTerminator()->getOperand(2);
  ArrayRef<int64_t> box = cast<tile::TensorMapType>(map.getType()).getBox();
  for (int32_t begin = first; begin < first + rows; begin += run) {
    std::vector<std::vector<int64_t>> found; // of each row whether it exists, and its coordinates
    for (int32_t row = begin; row < begin + run; ++row) {
      if (places.find(machine, warp, row) == Outcome::Fault)
        return Outcome::Fault;
      found.push_back({warp.words[places.exists].i});
      for (unsigned at : places.coordinates)
        found.back().push_back(warp.words[at].i);
    }
    for (size_t i = 1; found.front()[0] && found.back()[0] && i < found.size(); ++i) {
      bool follows = found[i][0] && found[i].size() == box.size();
      for (size_t axis = 1; follows && axis < box.size(); ++axis)
        follows = found[i][axis] - found[i - 1][axis] == (box[axis] == run);
      if (!follows)
        return machine.fail(warp, op, "has a run whose rows do not lie behind each other");
    }
  }
  return Outcome::Done;
}

// Which pieces each warp moves, as the generated loop around copyRows divides them.
void addCopyRows(CodeBuilder &builder, tile::CopyRowsOp op) {
  unsigned pointer = builder.word(op.getPointer()), first = builder.word(op.getFirst());
  unsigned tile = builder.word(op.getTile());
  RowPlaces places(builder, op);
  TileLayout layout(op.getTile().getType());
  unsigned bytes = op.getVectorBytes(), vector = bytes / layout.elementBytes();
  unsigned perRow = layout.width / vector;
  unsigned firstWarp = op.warps().first, rows = op.turns().second;
  unsigned every = op.warps().second * rows, end = op.turns().first * every;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    Access by = copierOf(machine, warp, op, bytes);
    if (checkRuns(machine, warp, op, places, int32_t(warp.words[first].i)) == Outcome::Fault)
      return Outcome::Fault;
    std::vector<CopyPiece> pieces;
    llvm::DenseSet<uint32_t> chunks; // lanes that fill a chunk together are no conflict
    uint32_t base = warp.words[tile].i;
    auto *from = reinterpret_cast<const std::byte *>(warp.words[pointer].i);
    for (unsigned begin = (warp.number - firstWarp) * rows; begin < end; begin += every)
      for (unsigned n = begin * perRow; n < std::min(begin + rows, layout.rows) * perRow; ++n) {
        unsigned col = n % perRow * vector;
        if (places.find(machine, warp, int32_t(warp.words[first].i + n / perRow)) == Outcome::Fault)
          return Outcome::Fault;
        uint32_t to = layout.at(base, n / perRow, col), chunk = to / kChunkBytes * kChunkBytes;
        if (chunks.insert(chunk).second &&
            machine.write(warp, *warp.block, chunk, by) == Outcome::Fault)
          return Outcome::Fault;
        pieces.push_back({to, nullptr});
        if (!warp.words[places.exists].i || col >= layout.cols)
          continue;
        pieces.back().from =
            from + (warp.words[places.offset].i + col) * int64_t(layout.elementBytes());
        if (machine.checkGlobal(warp, op, from, pieces.back().from, bytes, false,
                                /*alignment=*/bytes) == Outcome::Fault)
          return Outcome::Fault;
      }
    return startPieces(machine, warp, op, bytes, std::move(pieces));
  });
}

void addWait(CodeBuilder &builder, tile::WaitOp op) {
  uint32_t pending = op.getPending();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    uint32_t closed = warp.copies.open - 1;
    warp.copies.known = std::max(warp.copies.known, closed > pending ? closed - pending : 0);
    uint32_t &seen = warp.view.seen[warp.agent(Warp::Copies)];
    seen = std::max(seen, warp.copies.known);
    return machine.finish(warp, Event::Copy, warp.copies.known);
  });
}

//===----------------------------------------------------------------------===//
// Products of one warp
//===----------------------------------------------------------------------===//

void addMma(CodeBuilder &builder, tile::MmaOp op) {
  unsigned c = builder.place(op.getC());
  auto aTile = dyn_cast<tile::SharedType>(op.getA().getType());
  unsigned a = aTile ? builder.word(op.getA()) : builder.place(op.getA());
  unsigned b = builder.word(op.getB());
  std::optional<TileLayout> aLayout;
  if (aTile)
    aLayout.emplace(aTile);
  TileLayout bLayout(op.getB().getType());
  bool transposed = op.getTransposed(), halves = op.getHalves();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, c, false, op) == Outcome::Fault ||
        machine.touch(warp, c, true, op) == Outcome::Fault)
      return Outcome::Fault;
    Access by = machine.own(warp, op);
    SharedMemory &memory = warp.block->memory;
    uint32_t bBase = warp.words[b].i;
    if (machine.readTile(warp, *warp.block, bBase, bLayout, bLayout.width, by) == Outcome::Fault)
      return Outcome::Fault;
    Matrix left;
    if (aLayout) {
      uint32_t aBase = warp.words[a].i;
      if (machine.readTile(warp, *warp.block, aBase, *aLayout, aLayout->width, by) ==
          Outcome::Fault)
        return Outcome::Fault;
      left = Matrix::ofTile(memory, aBase, *aLayout, aLayout->width);
    } else {
      if (machine.touch(warp, a, false, op) == Outcome::Fault)
        return Outcome::Fault;
      left = Matrix::ofPlace(warp.places[a], 0, warp.places[a].cols);
    }
    Matrix right = Matrix::ofTile(memory, bBase, bLayout, bLayout.width);
    if (transposed)
      right = right.transposed();
    (halves ? addProductOfHalves : addProduct)(warp.places[c], left, right);
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void addStoreFragment(CodeBuilder &builder, tile::StoreFragmentOp op) {
  unsigned place = builder.place(op.getFragment()), tile = builder.word(op.getTile());
  TileLayout layout(op.getTile().getType());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &fragment = warp.places[place];
    Access by = machine.own(warp, op);
    uint32_t base = warp.words[tile].i;
    // Whole blocks of 8 columns beyond the tile's are left out.
    unsigned cols = std::min(fragment.cols, layout.width), piece = std::min(8u, layout.perChunk());
    for (unsigned row = 0; row < fragment.rows; ++row)
      for (unsigned col = 0; col < cols; col += piece) {
        uint32_t to = layout.at(base, row, col);
        if (machine.write(warp, *warp.block, to, by) == Outcome::Fault)
          return Outcome::Fault;
        storeFloats(layout.dtype, &fragment.at(row, col), piece, warp.block->memory.at(to));
      }
    return Outcome::Done;
  });
}

void addStoreTile(CodeBuilder &builder, tile::StoreTileOp op) {
  unsigned pointer = builder.word(op.getPointer()), offset = builder.word(op.getOffset());
  unsigned stride = builder.word(op.getStride()), rows = builder.word(op.getRows());
  unsigned tile = builder.word(op.getTile());
  std::optional<unsigned> cols =
      op.getCols() ? std::optional(builder.word(op.getCols())) : std::nullopt;
  TileLayout layout(op.getTile().getType());
  unsigned bytes = op.getVectorBytes(), vector = bytes / layout.elementBytes();
  unsigned pieces = layout.cols / vector, threads = builder.code().threads;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    Access by = machine.own(warp, op);
    uint32_t base = warp.words[tile].i;
    auto *to = reinterpret_cast<std::byte *>(warp.words[pointer].i);
    for (unsigned thread = warp.number * 32; thread < warp.number * 32 + 32; ++thread)
      for (unsigned i = thread; i < layout.rows * pieces; i += threads) {
        unsigned row = i / pieces, col = i % pieces * vector;
        if (row >= warp.words[rows].i || (cols && col >= warp.words[*cols].i))
          continue;
        uint32_t from = layout.at(base, row, col);
        if (machine.read(warp, *warp.block, from / kChunkBytes * kChunkBytes, by) == Outcome::Fault)
          return Outcome::Fault;
        int64_t element = warp.words[offset].i + row * warp.words[stride].i + col;
        std::byte *target = to + element * int64_t(layout.elementBytes());
        if (machine.checkGlobal(warp, op, to, target, bytes, true, /*alignment=*/bytes) ==
            Outcome::Fault)
          return Outcome::Fault;
        std::memcpy(target, warp.block->memory.at(from), bytes);
      }
    return Outcome::Done;
  });
}

} // namespace

bool addSharedStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::SharedOp op) {
        builder.code().words[builder.word(op.getResult())].i = op.getOffset();
        if (auto barriers = dyn_cast<tile::BarriersType>(op.getType()))
          builder.code().barriers += barriers.getCount();
        return true;
      })
      .Case([&](tile::StageOp op) { return addStage(builder, op), true; })
      .Case([&](tile::StripOp op) { return addStrip(builder, op), true; })
      .Case([&](tile::ChooseOp op) { return addChoose(builder, op), true; })
      .Case([&](tile::ColumnsOp op) { return addColumns(builder, op), true; })
      .Case([&](tile::CopyOp op) { return addCopy(builder, op), true; })
      .Case([&](tile::CopyRowsOp op) { return addCopyRows(builder, op), true; })
      .Case([&](tile::CommitOp op) {
        builder.step(op, false, [](Machine &, Warp &warp) {
          ++warp.copies.open;
          return Outcome::Done;
        });
        return true;
      })
      .Case([&](tile::WaitOp op) { return addWait(builder, op), true; })
      .Case([&](tile::MmaOp op) { return addMma(builder, op), true; })
      .Case([&](tile::StoreFragmentOp op) { return addStoreFragment(builder, op), true; })
      .Case([&](tile::StoreTileOp op) { return addStoreTile(builder, op), true; })
      .Case([&](tile::BarrierOp op) {
        int64_t threads = builder.code().threads;
        builder.step(op, true, [=](Machine &machine, Warp &warp) {
          return machine.meet(warp, 0, threads, false, op);
        });
        return true;
      })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
