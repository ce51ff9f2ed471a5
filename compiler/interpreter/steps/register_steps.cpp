// Ops on the registers of one warp.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/code/matrix.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace attnc::interpreter {
namespace {

float combine(tile::Combine kind, float x, float y) {
  switch (kind) {
  case tile::Combine::Add:
    return x + y;
  case tile::Combine::Mul:
    return x * y;
  case tile::Combine::Max:
    return x > y || x != x ? x : y;
  case tile::Combine::Min:
    return x < y || x != x ? x : y;
  }
  llvm_unreachable("all kinds are handled");
}

Outcome touchAll(Machine &machine, Warp &warp, ArrayRef<unsigned> places, bool write,
                 Operation *op) {
  for (unsigned place : places)
    if (machine.touch(warp, place, write, op) == Outcome::Fault)
      return Outcome::Fault;
  return Outcome::Done;
}

void addRegisters(CodeBuilder &builder, tile::RegistersOp op) {
  unsigned place = builder.place(op.getResult());
  std::optional<float> value;
  if (op.getValueAttr())
    value = static_cast<float>(op.getValueAttr().getValueAsDouble());
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    Place &registers = warp.places[place];
    registers.settled = std::max(registers.settled, std::min(registers.product, warp.complete));
    if (machine.touch(warp, place, true, op) == Outcome::Fault)
      return Outcome::Fault;
    registers.written = value.has_value();
    if (value)
      llvm::fill(registers.elements, *value);
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// What a region reads at each element: registers, or a warp's strip of a shared tile.
struct Source {
  unsigned number; ///< of the place, or the word of the tile
  std::optional<TileLayout> layout;
};

/// A region that is run for each element of places.
class Body {
public:
  SmallVector<unsigned> arguments, results; // words

  /// `indices` arguments come before those of the elements.
  Body(CodeBuilder &builder, Block &block, ValueRange ins, unsigned indices) : indices(indices) {
    for (BlockArgument argument : block.getArguments())
      arguments.push_back(builder.word(argument));
    for (Value in : ins)
      if (auto type = dyn_cast<tile::SharedType>(in.getType()))
        sources.push_back({builder.word(in), TileLayout(type)});
      else
        sources.push_back({builder.place(in), std::nullopt});
    start = builder.piece(block);
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(builder.word(value));
  }

  bool readsShared() const {
    return llvm::any_of(sources, [](const Source &source) { return source.layout.has_value(); });
  }
  unsigned rows(const Warp &warp) const { return warp.places[sources.front().number].rows; }

  /// Reads the shared tiles, and checks the registers. One matrix for each source, empty for
  /// registers; nothing after a fault.
  std::optional<std::vector<Matrix>> load(Machine &machine, Warp &warp, Operation *op) const {
    std::vector<Matrix> tiles(sources.size());
    for (auto [source, tile] : llvm::zip(sources, tiles)) {
      if (!source.layout) {
        if (machine.touch(warp, source.number, false, op) == Outcome::Fault)
          return std::nullopt;
        continue;
      }
      uint32_t base = warp.words[source.number].i;
      if (machine.readTile(warp, *warp.block, base, *source.layout, source.layout->cols,
                           machine.own(warp, op)) == Outcome::Fault)
        return std::nullopt;
      tile = Matrix::ofTile(warp.block->memory, base, *source.layout, source.layout->cols);
    }
    return tiles;
  }

  /// Runs it for the element at (row, col), or for a share of a row.
  Outcome run(Machine &machine, Warp &warp, ArrayRef<Matrix> tiles, bool overRows, unsigned row,
              unsigned col) const {
    for (auto [i, source] : llvm::enumerate(sources)) {
      float &argument = warp.words[arguments[indices + i]].f;
      if (source.layout) {
        argument = tiles[i].elements[row * tiles[i].cols + col];
        continue;
      }
      Place &place = warp.places[source.number];
      PlaceType::Kind kind = machine.code.places[source.number].kind;
      argument = kind == PlaceType::Columns             ? place.at(0, col)
                 : kind == PlaceType::Rows && !overRows ? place.at(row, shareOf(col))
                                                        : place.at(row, col);
    }
    unsigned pc = start;
    return machine.runCode(warp, pc);
  }

private:
  unsigned start, indices;
  SmallVector<Source> sources;
};

/// The words of a map's ops that depend on how its elements lie in the lanes.
struct LaneColumns {
  SmallVector<unsigned> first, distance;

  LaneColumns(CodeBuilder &builder, tile::MapOp map) {
    for (Operation &op : *map.getBodyBlock())
      if (isa<tile::FirstColumnOp>(op))
        first.push_back(builder.word(op.getResult(0)));
      else if (isa<tile::ColumnDistanceOp>(op))
        distance.push_back(builder.word(op.getResult(0)));
  }

  void set(Warp &warp, int64_t colBegin, unsigned col) const {
    unsigned firstOfLane = shareOf(col) * 2;
    for (unsigned word : first)
      warp.words[word].i = int32_t(colBegin + firstOfLane);
    for (unsigned word : distance)
      warp.words[word].f = col - firstOfLane;
  }
};

void addMap(CodeBuilder &builder, tile::MapOp op) {
  bool overRows = op.isOverRows();
  LaneColumns lanes(builder, op);
  Body body(builder, *op.getBodyBlock(), op.getIns(), overRows ? 1 : 2);
  SmallVector<unsigned> outs;
  for (Value out : op.getOuts())
    outs.push_back(builder.place(out));
  unsigned rowBegin = builder.word(op.getRows());
  unsigned colBegin = overRows ? 0 : builder.word(op.getCols());
  bool peeks = !op.getBodyBlock()->getOps<tile::PeekOp>().empty();
  builder.step(op, body.readsShared() || peeks, [=](Machine &machine, Warp &warp) {
    std::optional<std::vector<Matrix>> tiles = body.load(machine, warp, op);
    if (!tiles)
      return Outcome::Fault;
    for (unsigned out : outs)
      if (machine.touch(warp, out, true, op) == Outcome::Fault)
        return Outcome::Fault;
    const Place &shape = warp.places[outs.front()];
    for (unsigned row = 0; row < shape.rows; ++row)
      for (unsigned col = 0; col < shape.cols; ++col) {
        warp.words[body.arguments[0]].i = int32_t(warp.words[rowBegin].i + row);
        if (!overRows)
          warp.words[body.arguments[1]].i = int32_t(warp.words[colBegin].i + col);
        lanes.set(warp, overRows ? 0 : warp.words[colBegin].i, col);
        if (body.run(machine, warp, *tiles, overRows, row, col) == Outcome::Fault)
          return Outcome::Fault;
        for (auto [out, value] : llvm::zip(outs, body.results))
          warp.places[out].at(row, col) = warp.words[value].f;
      }
    return Outcome::Done;
  });
}

// Of a warpgroup.
constexpr unsigned kGroupThreads = 128;

// As threads take the elements: each in turn, rows of whole chunks.
void addTabulate(CodeBuilder &builder, tile::TabulateOp op) {
  TileLayout layout(op.getTile().getType());
  unsigned tile = builder.word(op.getTile()), rowBegin = builder.word(op.getRows());
  Block &block = *op.getBodyBlock();
  unsigned row = builder.word(block.getArgument(0)), column = builder.word(block.getArgument(1));
  unsigned start = builder.piece(block);
  unsigned value = builder.word(block.getTerminator()->getOperand(0));
  unsigned threads = op.getByGroup() ? kGroupThreads : builder.code().threads;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    Access by = machine.own(warp, op);
    uint32_t base = warp.words[tile].i;
    unsigned count = layout.rows * layout.width;
    for (unsigned first = warp.number * 32 % threads; first < count; first += threads)
      for (unsigned n = first; n < std::min(first + 32, count); ++n) {
        unsigned r = n / layout.width, c = n % layout.width;
        float element = 0;
        if (c < layout.cols) {
          warp.words[row].i = int32_t(warp.words[rowBegin].i + r);
          warp.words[column].i = int32_t(c);
          unsigned pc = start;
          if (machine.runCode(warp, pc) == Outcome::Fault)
            return Outcome::Fault;
          element = warp.words[value].f;
        }
        uint32_t to = layout.at(base, r, c);
        if (c % layout.perChunk() == 0 &&
            machine.write(warp, *warp.block, to, by) == Outcome::Fault)
          return Outcome::Fault;
        storeFloats(layout.dtype, &element, 1, warp.block->memory.at(to));
      }
    return Outcome::Done;
  });
}

void addAny(CodeBuilder &builder, tile::AnyOp op) {
  Body body(builder, *op.getBodyBlock(), op.getIns(), 0);
  unsigned result = builder.word(op.getResult());
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (!body.load(machine, warp, op))
      return Outcome::Fault;
    bool any = false;
    for (unsigned row = 0; row < body.rows(warp); ++row)
      for (unsigned share = 0; share < kShares; ++share) {
        if (body.run(machine, warp, {}, true, row, share) == Outcome::Fault)
          return Outcome::Fault;
        any |= warp.words[body.results.front()].i != 0;
      }
    warp.words[result].i = any;
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void addReduceRows(CodeBuilder &builder, tile::ReduceRowsOp op) {
  unsigned from = builder.place(op.getFragment()), into = builder.place(op.getInto());
  tile::Combine kind = op.getKind();
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (touchAll(machine, warp, {from, into}, false, op) == Outcome::Fault ||
        machine.touch(warp, into, true, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &fragment = warp.places[from], &rows = warp.places[into];
    for (unsigned row = 0; row < fragment.rows; ++row)
      for (unsigned col = 0; col < fragment.cols; ++col) {
        float &share = rows.at(row, shareOf(col));
        share = combine(kind, share, fragment.at(row, col));
      }
    return Outcome::Done;
  });
}

// The lanes' order of adding: neighbours, then pairs.
void addReduceQuad(CodeBuilder &builder, tile::ReduceQuadOp op) {
  unsigned place = builder.place(op.getRows());
  tile::Combine kind = op.getKind();
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &rows = warp.places[place];
    for (unsigned row = 0; row < rows.rows; ++row) {
      float first = combine(kind, rows.at(row, 0), rows.at(row, 1));
      float second = combine(kind, rows.at(row, 2), rows.at(row, 3));
      float all = combine(kind, first, second);
      for (unsigned share = 0; share < kShares; ++share)
        rows.at(row, share) = all;
    }
    return Outcome::Done;
  });
}

void addScaleRows(CodeBuilder &builder, tile::ScaleRowsOp op) {
  unsigned place = builder.place(op.getFragment()), by = builder.place(op.getBy());
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (touchAll(machine, warp, {by, place}, false, op) == Outcome::Fault ||
        machine.touch(warp, place, true, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &fragment = warp.places[place];
    for (unsigned row = 0; row < fragment.rows; ++row)
      for (unsigned col = 0; col < fragment.cols; ++col)
        fragment.at(row, col) *= warp.places[by].at(row, shareOf(col));
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void addConversion(CodeBuilder &builder, Operation *op, Value fragment, Value operand) {
  unsigned from = builder.place(fragment), to = builder.place(operand);
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, from, false, op) == Outcome::Fault ||
        machine.touch(warp, to, true, op) == Outcome::Fault)
      return Outcome::Fault;
    DType dtype = machine.code.places[to].dtype;
    for (auto [target, value] :
         llvm::zip_equal(warp.places[to].elements, warp.places[from].elements))
      target = roundTo(dtype, value);
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Where rows of a result go.
struct Target {
  unsigned pointer, offset, stride, first, end; // words
  DType dtype;

  template <class Op>
  Target(CodeBuilder &builder, Op op)
      : pointer(builder.word(op.getPointer())), offset(builder.word(op.getOffset())),
        stride(builder.word(op.getStride())), first(builder.word(op.getFirst())),
        end(builder.word(op.getEnd())),
        dtype(tile::elementType(op.getPointer().getType().getElement()).dtype) {}

  std::byte *row(const Warp &warp, unsigned row) const {
    int64_t element = warp.words[offset].i + (warp.words[first].i + row) * warp.words[stride].i;
    return reinterpret_cast<std::byte *>(warp.words[pointer].i) +
           element * int64_t(dtypeSize(dtype));
  }
  bool holds(const Warp &warp, unsigned row) const {
    return warp.words[first].i + row < warp.words[end].i;
  }
};

void addStoreRows(CodeBuilder &builder, tile::StoreRowsOp op) {
  Target target(builder, op);
  unsigned place = builder.place(op.getRows());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &rows = warp.places[place];
    if (!rows.sharesAgree())
      return machine.fail(warp, op, kSharesDiffer);
    for (unsigned row = 0; row < rows.rows && target.holds(warp, row); ++row) {
      std::byte *to = target.row(warp, row);
      if (machine.checkGlobal(warp, op, Machine::pointer(warp.words[target.pointer]), to,
                              dtypeSize(target.dtype), true) == Outcome::Fault)
        return Outcome::Fault;
      storeFloats(target.dtype, &rows.at(row, 0), 1, to);
    }
    return Outcome::Done;
  });
}

void addStoreFragmentRows(CodeBuilder &builder, tile::StoreFragmentRowsOp op) {
  Target target(builder, op);
  unsigned place = builder.place(op.getFragment());
  std::optional<unsigned> end =
      op.getCols() ? std::optional(builder.word(op.getCols())) : std::nullopt;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &fragment = warp.places[place];
    unsigned cols = end ? std::clamp<int64_t>(warp.words[*end].i, 0, fragment.cols) : fragment.cols;
    for (unsigned row = 0; row < fragment.rows && target.holds(warp, row); ++row) {
      std::byte *to = target.row(warp, row);
      if (machine.checkGlobal(warp, op, Machine::pointer(warp.words[target.pointer]), to,
                              cols * dtypeSize(target.dtype), true,
                              /*alignment=*/16) == Outcome::Fault)
        return Outcome::Fault;
      storeFloats(target.dtype, &fragment.at(row, 0), cols, to);
    }
    return Outcome::Done;
  });
}

} // namespace

bool addRegisterStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::RegistersOp op) { return addRegisters(builder, op), true; })
      .Case([&](tile::MapOp op) { return addMap(builder, op), true; })
      .Case([&](tile::TabulateOp op) { return addTabulate(builder, op), true; })
      .Case([&](tile::AnyOp op) { return addAny(builder, op), true; })
      .Case([&](tile::ReduceRowsOp op) { return addReduceRows(builder, op), true; })
      .Case([&](tile::ReduceQuadOp op) { return addReduceQuad(builder, op), true; })
      .Case([&](tile::ScaleRowsOp op) { return addScaleRows(builder, op), true; })
      .Case([&](tile::ToOperandOp op) {
        return addConversion(builder, op, op.getFragment(), op.getResult()), true;
      })
      .Case([&](tile::ConvertOp op) {
        return addConversion(builder, op, op.getFragment(), op.getOperand()), true;
      })
      .Case([&](tile::StoreRowsOp op) { return addStoreRows(builder, op), true; })
      .Case([&](tile::StoreFragmentRowsOp op) { return addStoreFragmentRows(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
