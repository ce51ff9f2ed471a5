// Pipes, and copies of boxes between global and shared memory.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::interpreter {
namespace {

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

/// A tile of a pipe: its slot and the slot's two barriers.
struct PipeRef {
  unsigned pipe, number; // words
  uint32_t stages, tileBytes, stride;

  PipeRef(CodeBuilder &builder, TypedValue<tile::PipeType> value, Value number)
      : pipe(builder.word(value)), number(builder.word(number)),
        stages(value.getType().getStages()), tileBytes(value.getType().getTile().getBytes()),
        stride(value.getType().getStride()) {}

  const PipeInfo &info(const Machine &machine, const Warp &warp) const {
    return machine.code.pipes[warp.words[pipe].i];
  }
  uint32_t tile(const Warp &warp) const { return uint32_t(warp.words[number].i); }
  uint32_t round(const Warp &warp) const { return tile(warp) / stages; }
  uint32_t slot(const Warp &warp) const { return tile(warp) % stages; }
  uint32_t address(const Machine &machine, const Warp &warp) const {
    return info(machine, warp).offset + slot(warp) * stride;
  }
  CountingBarrier *full(Machine &machine, Warp &warp, Operation *op) const {
    return machine.barrier(warp, *warp.block, info(machine, warp).barriers + 8 * slot(warp), op);
  }
  CountingBarrier *free(Machine &machine, Warp &warp, Operation *op) const {
    return machine.barrier(warp, *warp.block,
                           info(machine, warp).barriers + 8 * (stages + slot(warp)), op);
  }
};

void addStartPipes(CodeBuilder &builder, tile::StartPipesOp op) {
  SmallVector<std::pair<unsigned, uint32_t>> pipes; // words, stages
  for (auto pipe : op.getPipes())
    pipes.push_back({builder.word(pipe), cast<tile::PipeType>(pipe.getType()).getStages()});
  int64_t threads = builder.code().threads;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (warp.number == 0 && !warp.arrived)
      for (auto [word, stages] : pipes) {
        const PipeInfo &pipe = machine.code.pipes[warp.words[word].i];
        for (uint32_t slot = 0; slot < stages; ++slot) {
          machine.startBarrier(*warp.block, pipe.barriers + 8 * slot, std::max(pipe.writers, 1u));
          machine.startBarrier(*warp.block, pipe.barriers + 8 * (stages + slot), pipe.users);
        }
      }
    return machine.meet(warp, 0, threads, false, op);
  });
}

// A barrier tells only the parity of a phase. That it is this tile's and no other is checked.
void addAcquire(CodeBuilder &builder, tile::AcquireOp op) {
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    CountingBarrier *free = ref.free(machine, warp, op);
    if (!free)
      return Outcome::Fault;
    Outcome outcome = machine.await(warp, *free, (ref.round(warp) & 1) ^ 1);
    if (outcome == Outcome::Done && free->phase != ref.round(warp))
      return machine.fail(warp, op,
                          fmt::format("passes for tile {} although its slot has been freed {} "
                                      "times, not {}",
                                      ref.tile(warp), free->phase, ref.round(warp)));
    return outcome;
  });
}

void addAwait(CodeBuilder &builder, tile::AwaitOp op) {
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    CountingBarrier *full = ref.full(machine, warp, op);
    if (!full)
      return Outcome::Fault;
    Outcome outcome = machine.await(warp, *full, ref.round(warp) & 1);
    if (outcome == Outcome::Done && full->phase != ref.round(warp) + 1)
      return machine.fail(warp, op,
                          fmt::format("passes for tile {} although its slot has been filled {} "
                                      "times, not {}",
                                      ref.tile(warp), full->phase, ref.round(warp) + 1));
    return outcome;
  });
}

Outcome arriveAt(Machine &machine, CountingBarrier *barrier, const View &view) {
  if (!barrier)
    return Outcome::Fault;
  barrier->arrive(1, view);
  machine.wake();
  return Outcome::Done;
}

void addRelease(CodeBuilder &builder, tile::ReleaseOp op) {
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    return arriveAt(machine, ref.free(machine, warp, op), warp.view);
  });
}

// The warp arrives, or its copies do when they have ended.
void addComplete(CodeBuilder &builder, tile::CompleteOp op) {
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    CountingBarrier *full = ref.full(machine, warp, op);
    if (!full || !ref.info(machine, warp).copied)
      return arriveAt(machine, full, warp.view);
    uint32_t group = warp.copies.open++;
    View known = warp.view;
    known.seen[warp.agent(Warp::Copies)] = group;
    machine.start({Event::Copy, &warp, group, op, [=, &warp](Machine &machine) {
                     Outcome outcome = machine.finish(warp, Event::Copy, group);
                     return outcome == Outcome::Done ? arriveAt(machine, full, known) : outcome;
                   }});
    return Outcome::Done;
  });
}

// A number lies in the first element of its slot.
void addPut(CodeBuilder &builder, tile::PutOp op) {
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  unsigned value = builder.word(op.getValue());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    CountingBarrier *full = ref.full(machine, warp, op);
    uint32_t at = ref.address(machine, warp);
    if (!full || machine.write(warp, *warp.block, at, machine.own(warp, op)) == Outcome::Fault)
      return Outcome::Fault;
    auto number = int32_t(warp.words[value].i);
    std::memcpy(warp.block->memory.at(at), &number, sizeof(number));
    full->arrive(1, warp.view);
    machine.wake();
    return Outcome::Done;
  });
}

void addTake(CodeBuilder &builder, tile::TakeOp op) {
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  unsigned result = builder.word(op.getResult());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    uint32_t at = ref.address(machine, warp);
    if (machine.read(warp, *warp.block, at, machine.own(warp, op)) == Outcome::Fault)
      return Outcome::Fault;
    int32_t number;
    std::memcpy(&number, warp.block->memory.at(at), sizeof(number));
    warp.words[result].i = number;
    return Outcome::Done;
  });
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// A tile with panels and the box of a tensor that it is copied from or to, panel after panel.
struct BoxRef {
  unsigned map; // word: the number of the argument
  SmallVector<unsigned> coordinates;
  SmallVector<int64_t> box;
  TileLayout layout;

  BoxRef(CodeBuilder &builder, TypedValue<tile::TensorMapType> map, ValueRange coordinates,
         tile::SharedType tile)
      : map(builder.word(map)), box(map.getType().getBox()), layout(tile) {
    for (Value coordinate : coordinates)
      this->coordinates.push_back(builder.word(coordinate));
  }

  /// The launch's map; null after a fault.
  const TensorMapArg *find(Machine &machine, Warp &warp, Operation *op) const {
    const auto &argument = std::get<TensorMapArg>(machine.launch.args[warp.words[map].i]);
    if (llvm::equal(argument.box, box) && argument.dtype == layout.dtype &&
        argument.swizzle == (layout.panelRows == 1 ? 0 : 128))
      return &argument;
    machine.fail(warp, op, "uses a tensor map that the launch gives another box, type or swizzle");
    return nullptr;
  }
  /// One index for each axis, the contiguous one first: column 0 where it is not given.
  SmallVector<int64_t> origin(const Warp &warp) const {
    SmallVector<int64_t> result(box.size() - coordinates.size(), 0);
    for (unsigned word : coordinates)
      result.push_back(warp.words[word].i);
    return result;
  }

  /// Runs `body(address in shared memory, address in the tensor, elements inside the tensor)` for
  /// each chunk of the tile at `base`; the address counts only if there are elements.
  template <class Body>
  Outcome eachChunk(const TensorMapArg &map, ArrayRef<int64_t> origin, uint32_t base,
                    Body body) const {
    uint32_t perPanel = 128 / kChunkBytes;
    for (uint32_t row = 0; row < layout.rows; ++row) {
      bool inside = map.base != nullptr;
      auto *line = static_cast<std::byte *>(map.base);
      for (int64_t axis = 1, rest = row; axis < int64_t(box.size()); ++axis) {
        int64_t index = origin[axis] + rest % box[axis];
        rest /= box[axis];
        inside &= index >= 0 && index < map.extents[axis];
        line += index * map.strides[axis - 1];
      }
      uint32_t panels = layout.width / (perPanel * layout.perChunk());
      for (uint32_t i = 0; i < panels * perPanel; ++i) {
        int64_t col = origin[0] + i * layout.perChunk();
        int64_t valid = inside && col >= 0
                            ? std::clamp<int64_t>(map.extents[0] - col, 0, layout.perChunk())
                            : 0;
        if (body(layout.chunk(base, row, i), line + col * layout.elementBytes(), valid) ==
            Outcome::Fault)
          return Outcome::Fault;
      }
    }
    return Outcome::Done;
  }
};

/// Starts a copy to a slot: its barrier waits for it, and it owns the slot from now on. `perform`
/// moves the data.
Outcome startFill(Machine &machine, Warp &warp, const PipeRef &ref, const TileLayout &layout,
                  Operation *op, std::function<Outcome(Machine &)> perform) {
  CountingBarrier *full = ref.full(machine, warp, op);
  if (!full)
    return Outcome::Fault;
  Access by{full->agent, ++full->copies, op, /*async=*/true};
  full->lastCopy = op;
  if (machine.writeTile(warp, *warp.block, ref.address(machine, warp), layout, by) ==
      Outcome::Fault)
    return Outcome::Fault;
  full->expect(ref.tileBytes);
  full->arrive(1, warp.view);
  machine.start({Event::Fill, &warp, 0, op,
                 [=, bytes = ref.tileBytes, clock = by.clock,
                  perform = std::move(perform)](Machine &machine) {
                   Outcome outcome = perform(machine);
                   full->deliver(bytes, clock);
                   machine.wake();
                   return outcome;
                 }});
  return Outcome::Done;
}

void addFill(CodeBuilder &builder, tile::FillOp op) {
  if (!builder.isSingle())
    return builder.refuse(op, "is started by one thread and stands outside tile.single");
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  BoxRef box(builder, op.getMap(), op.getCoordinates(), op.getPipe().getType().getTile());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    const TensorMapArg *map = box.find(machine, warp, op);
    if (!map)
      return Outcome::Fault;
    uint32_t base = ref.address(machine, warp);
    auto perform = [=, &warp, origin = box.origin(warp)](Machine &machine) {
      return box.eachChunk(
          *map, origin, base, [&](uint32_t at, const std::byte *from, int64_t valid) {
            std::byte *to = warp.block->memory.at(at);
            std::memset(to, 0, kChunkBytes);
            size_t bytes = valid * box.layout.elementBytes();
            if (bytes == 0)
              return Outcome::Done;
            if (machine.checkGlobal(warp, op, map->base, from, bytes, false) == Outcome::Fault)
              return Outcome::Fault;
            std::memcpy(to, from, bytes);
            return Outcome::Done;
          });
    };
    return startFill(machine, warp, ref, box.layout, op, std::move(perform));
  });
}

void addFillRow(CodeBuilder &builder, tile::FillRowOp op) {
  if (!builder.isSingle())
    return builder.refuse(op, "is started by one thread and stands outside tile.single");
  PipeRef ref(builder, op.getPipe(), op.getNumber());
  TileLayout layout(op.getPipe().getType().getTile());
  unsigned pointer = builder.word(op.getPointer()), offset = builder.word(op.getOffset());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    auto *from = reinterpret_cast<const std::byte *>(warp.words[pointer].i) +
                 warp.words[offset].i * int64_t(layout.elementBytes());
    if (machine.checkGlobal(warp, op, Machine::pointer(warp.words[pointer]), from, layout.bytes(),
                            false, /*alignment=*/16) == Outcome::Fault)
      return Outcome::Fault;
    uint32_t base = ref.address(machine, warp);
    return startFill(machine, warp, ref, layout, op, [=, &warp](Machine &) {
      std::memcpy(warp.block->memory.at(base), from, layout.bytes());
      return Outcome::Done;
    });
  });
}

/// Starts a store of the warp's open group; `perform` moves the data.
Outcome startStore(Machine &machine, Warp &warp, Operation *op,
                   std::function<Outcome(Machine &)> perform) {
  warp.stores.last = warp.stores.open;
  warp.stores.lastOp = op;
  machine.start({Event::Store, &warp, warp.stores.open, op, std::move(perform)});
  return Outcome::Done;
}

void addFloats(std::byte *to, const std::byte *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += sizeof(float)) {
    float sum, part;
    std::memcpy(&sum, to + at, sizeof(sum));
    std::memcpy(&part, from + at, sizeof(part));
    sum += part;
    std::memcpy(to + at, &sum, sizeof(sum));
  }
}

void addStoreBox(CodeBuilder &builder, tile::StoreBoxOp op) {
  bool adds = op.getAdds();
  unsigned tile = builder.word(op.getTile());
  BoxRef box(builder, op.getMap(), op.getCoordinates(), op.getTile().getType());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    const TensorMapArg *map = box.find(machine, warp, op);
    if (!map)
      return Outcome::Fault;
    Access by{warp.agent(Warp::Stores), warp.stores.open, op, /*async=*/true};
    uint32_t base = warp.words[tile].i;
    if (machine.readTile(warp, *warp.block, base, box.layout, box.layout.cols, by) ==
        Outcome::Fault)
      return Outcome::Fault;
    return startStore(machine, warp, op, [=, &warp, origin = box.origin(warp)](Machine &machine) {
      return box.eachChunk(*map, origin, base, [&](uint32_t at, std::byte *to, int64_t valid) {
        size_t bytes = valid * box.layout.elementBytes();
        if (bytes == 0)
          return Outcome::Done;
        if (machine.checkGlobal(warp, op, map->base, to, bytes, true) == Outcome::Fault)
          return Outcome::Fault;
        if (adds)
          addFloats(to, warp.block->memory.at(at), bytes);
        else
          std::memcpy(to, warp.block->memory.at(at), bytes);
        return Outcome::Done;
      });
    });
  });
}

void addAddBulk(CodeBuilder &builder, tile::AddBulkOp op) {
  unsigned tile = builder.word(op.getTile()), pointer = builder.word(op.getPointer());
  unsigned offset = builder.word(op.getOffset());
  uint32_t bytes = op.getTile().getType().getBytes();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    Access by{warp.agent(Warp::Stores), warp.stores.open, op, /*async=*/true};
    uint32_t base = warp.words[tile].i;
    for (uint32_t at = 0; at < bytes; at += kChunkBytes)
      if (machine.read(warp, *warp.block, base + at, by) == Outcome::Fault)
        return Outcome::Fault;
    std::byte *tensor = Machine::pointer(warp.words[pointer]);
    std::byte *to = tensor + warp.words[offset].i * int64_t(sizeof(float));
    return startStore(machine, warp, op, [=, &warp](Machine &machine) {
      if (machine.checkGlobal(warp, op, tensor, to, bytes, true, /*alignment=*/16) ==
          Outcome::Fault)
        return Outcome::Fault;
      addFloats(to, warp.block->memory.at(base), bytes);
      return Outcome::Done;
    });
  });
}

void addStoreWait(CodeBuilder &builder, tile::StoreWaitOp op) {
  uint32_t pending = op.getPending();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    uint32_t closed = warp.stores.open - 1;
    warp.stores.known = std::max(warp.stores.known, closed > pending ? closed - pending : 0);
    warp.view.seen[warp.agent(Warp::Stores)] = warp.stores.known;
    return machine.finish(warp, Event::Store, warp.stores.known);
  });
}

/// A counter in global memory that starts again at 0 after `count` tickets.
struct Tickets {
  unsigned pointer, offset, count; // words

  template <class Op>
  Tickets(CodeBuilder &builder, Op op)
      : pointer(builder.word(op.getPointer())), offset(builder.word(op.getOffset())),
        count(builder.word(op.getCount())) {}

  /// How many have been drawn before; nothing after a fault.
  std::optional<int32_t> draw(Machine &machine, Warp &warp, Operation *op) const {
    auto *at = reinterpret_cast<std::byte *>(warp.words[pointer].i) +
               warp.words[offset].i * int64_t(sizeof(int32_t));
    if (machine.checkGlobal(warp, op, Machine::pointer(warp.words[pointer]), at, sizeof(int32_t),
                            true) == Outcome::Fault)
      return std::nullopt;
    int32_t drawn;
    std::memcpy(&drawn, at, sizeof(drawn));
    int32_t next = isLast(warp, drawn) ? 0 : drawn + 1;
    std::memcpy(at, &next, sizeof(next));
    return drawn;
  }
  bool isLast(const Warp &warp, int32_t drawn) const { return drawn + 1 == warp.words[count].i; }
};

void addTicket(CodeBuilder &builder, tile::TicketOp op) {
  Tickets tickets(builder, op);
  unsigned result = builder.word(op.getResult());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    std::optional<int32_t> drawn = tickets.draw(machine, warp, op);
    warp.words[result].i = drawn.value_or(0);
    return drawn ? Outcome::Done : Outcome::Fault;
  });
}

// Whoever comes last draws for all that meet.
void addLastBlock(CodeBuilder &builder, tile::LastBlockOp op) {
  Tickets tickets(builder, op);
  unsigned result = builder.word(op.getResult()), number = builder.word(op.getBarrier());
  int64_t threads = op.getThreads();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    int64_t id = warp.words[number].i;
    bool last = false;
    if (!warp.arrived && id >= 0 && id < 16 && warp.block->numbered[id].arrived + 32 == threads) {
      std::optional<int32_t> drawn = tickets.draw(machine, warp, op);
      if (!drawn)
        return Outcome::Fault;
      last = tickets.isLast(warp, *drawn);
    }
    Outcome outcome = machine.meet(warp, id, threads, last, op);
    if (outcome == Outcome::Done)
      warp.words[result].i = warp.metAny;
    return outcome;
  });
}

} // namespace

static void addSlotNumber(CodeBuilder &builder, tile::SlotNumberOp op) {
  unsigned round = builder.word(op.getRound()), result = builder.word(op.getResult());
  int64_t stages = op.getStages(), slot = op.getSlot();
  builder.step(op, false, [=](Machine &, Warp &warp) {
    warp.words[result].i = warp.words[round].i * stages + slot;
    return Outcome::Done;
  });
}

bool addAsyncStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::PipeOp op) {
        KernelCode &code = builder.code();
        code.words[builder.word(op.getResult())].i = code.pipes.size();
        code.pipes.push_back({uint32_t(op.getOffset()), uint32_t(op.getBarriers()),
                              uint32_t(op.getUsers()), uint32_t(op.getWriters()), op.getCopied()});
        code.barriers += 2 * op.getType().getStages();
        return true;
      })
      .Case([&](tile::StartPipesOp op) { return addStartPipes(builder, op), true; })
      .Case([&](tile::SlotNumberOp op) { return addSlotNumber(builder, op), true; })
      .Case([&](tile::AcquireOp op) { return addAcquire(builder, op), true; })
      .Case([&](tile::AwaitOp op) { return addAwait(builder, op), true; })
      .Case([&](tile::ReleaseOp op) { return addRelease(builder, op), true; })
      .Case([&](tile::CompleteOp op) { return addComplete(builder, op), true; })
      .Case([&](tile::PutOp op) { return addPut(builder, op), true; })
      .Case([&](tile::TakeOp op) { return addTake(builder, op), true; })
      .Case([&](tile::FillRowOp op) { return addFillRow(builder, op), true; })
      .Case([&](tile::FillOp op) { return addFill(builder, op), true; })
      .Case([&](tile::StoreBoxOp op) { return addStoreBox(builder, op), true; })
      .Case([&](tile::AddBulkOp op) { return addAddBulk(builder, op), true; })
      .Case([&](tile::StoreCommitOp op) {
        builder.step(op, false, [](Machine &, Warp &warp) {
          ++warp.stores.open;
          return Outcome::Done;
        });
        return true;
      })
      .Case([&](tile::StoreWaitOp op) { return addStoreWait(builder, op), true; })
      .Case([&](tile::TicketOp op) { return addTicket(builder, op), true; })
      .Case([&](tile::LastBlockOp op) { return addLastBlock(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
