// Barriers, numbered and in shared memory, and clusters.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::interpreter {
namespace {

void addBarrierSync(CodeBuilder &builder, tile::BarrierSyncOp op) {
  unsigned number = builder.word(op.getBarrier());
  int64_t threads = op.getThreads();
  std::optional<unsigned> any, result;
  if (op.getAny()) {
    any = builder.word(op.getAny());
    result = builder.word(op.getResult());
  }
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    Outcome outcome =
        machine.meet(warp, warp.words[number].i, threads, any && warp.words[*any].i != 0, op);
    if (outcome == Outcome::Done && result)
      warp.words[*result].i = warp.metAny;
    return outcome;
  });
}

/// A barrier of an array in shared memory, here or in another block.
struct BarrierRef {
  unsigned barriers, number; // words
  int64_t count;
  std::optional<unsigned> peer;

  BarrierRef(CodeBuilder &builder, Value barriers, Value number, Value peer = {})
      : barriers(builder.word(barriers)), number(builder.word(number)),
        count(cast<tile::BarriersType>(barriers.getType()).getCount()) {
    if (peer)
      this->peer = builder.word(peer);
  }

  CountingBarrier *find(Machine &machine, Warp &warp, Operation *op) const {
    int64_t index = warp.words[number].i;
    int64_t rank = peer ? warp.words[*peer].i : int64_t(warp.block->rank);
    if (index < 0 || index >= count || rank < 0 || rank >= int64_t(machine.code.cluster)) {
      machine.fail(warp, op,
                   fmt::format("names barrier {} of {} in block {} of {}", index, count, rank,
                               machine.code.cluster));
      return nullptr;
    }
    return machine.barrier(warp, machine.block(rank), warp.words[barriers].i + 8 * index, op);
  }
};

void addStartBarriers(CodeBuilder &builder, tile::MbarrierInitOp op) {
  unsigned barriers = builder.word(op.getBarriers());
  int64_t count = op.getBarriers().getType().getCount(), arrivals = op.getArrivals();
  bool single = builder.isSingle();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (single || warp.number == 0)
      for (int64_t i = 0; i < count; ++i)
        machine.startBarrier(*warp.block, warp.words[barriers].i + 8 * i, arrivals);
    return Outcome::Done;
  });
}

void addArrive(CodeBuilder &builder, tile::MbarrierArriveOp op) {
  BarrierRef ref(builder, op.getBarriers(), op.getNumber(), op.getPeer());
  int64_t bytes = op.getBytes().value_or(0), threads = builder.isSingle() ? 1 : 32;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    CountingBarrier *barrier = ref.find(machine, warp, op);
    if (!barrier)
      return Outcome::Fault;
    barrier->expect(bytes * threads);
    // One by one: a phase may end in between.
    for (int64_t i = 0; i < threads; ++i)
      barrier->arrive(1, warp.view);
    machine.wake();
    return Outcome::Done;
  });
}

void addPass(CodeBuilder &builder, tile::MbarrierWaitOp op) {
  BarrierRef ref(builder, op.getBarriers(), op.getNumber());
  unsigned parity = builder.word(op.getParity());
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    CountingBarrier *barrier = ref.find(machine, warp, op);
    return barrier ? machine.await(warp, *barrier, warp.words[parity].i) : Outcome::Fault;
  });
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// Checks that an async copy to another block may write there, and starts it.
Outcome sendTo(Machine &machine, Warp &warp, const BarrierRef &ref, Operation *op, uint32_t to,
               std::vector<std::byte> bytes) {
  CountingBarrier *barrier = ref.find(machine, warp, op);
  if (!barrier)
    return Outcome::Fault;
  BlockState &peer = machine.block(warp.words[*ref.peer].i);
  Access by{barrier->agent, ++barrier->copies, op, /*async=*/true};
  barrier->lastCopy = op;
  for (uint32_t at = 0; at < bytes.size(); at += kChunkBytes)
    if (machine.write(warp, peer, to + at, by) == Outcome::Fault)
      return Outcome::Fault;
  machine.start({Event::Fill, &warp, 0, op,
                 [=, &peer, clock = by.clock, bytes = std::move(bytes)](Machine &machine) {
                   std::memcpy(peer.memory.at(to), bytes.data(), bytes.size());
                   barrier->deliver(bytes.size(), clock);
                   machine.wake();
                   return Outcome::Done;
                 }});
  return Outcome::Done;
}

void addSend(CodeBuilder &builder, tile::SendOp op) {
  BarrierRef ref(builder, op.getBarriers(), op.getNumber(), op.getPeer());
  unsigned tile = builder.word(op.getTile()), into = builder.word(op.getInto());
  uint32_t bytes = op.getTile().getType().getBytes();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    // The copy is read when it is started: whoever writes the tile later must wait for the peer's
    // word that it has arrived, which the read's agent, the peer's barrier, stands for.
    uint32_t from = warp.words[tile].i;
    CountingBarrier *barrier = ref.find(machine, warp, op);
    if (!barrier)
      return Outcome::Fault;
    Access by{barrier->agent, barrier->copies + 1, op, /*async=*/true};
    for (uint32_t at = 0; at < bytes; at += kChunkBytes)
      if (machine.read(warp, *warp.block, from + at, by) == Outcome::Fault)
        return Outcome::Fault;
    const std::byte *data = warp.block->memory.at(from);
    return sendTo(machine, warp, ref, op, warp.words[into].i, {data, data + bytes});
  });
}

/// Where a warp's part of an exchanged fragment lies.
uint32_t partOf(const Warp &warp, unsigned firstWarp, int64_t offset, const Place &fragment) {
  return offset + (warp.number - firstWarp) * fragment.elements.size() * sizeof(float);
}

void addSendFragment(CodeBuilder &builder, tile::SendFragmentOp op) {
  BarrierRef ref(builder, op.getBarriers(), op.getNumber(), op.getPeer());
  unsigned place = builder.place(op.getFragment()), into = builder.word(op.getInto());
  unsigned firstWarp = builder.role() ? builder.role().getFirst() : 0;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault)
      return Outcome::Fault;
    const Place &fragment = warp.places[place];
    auto *data = reinterpret_cast<const std::byte *>(fragment.elements.data());
    return sendTo(machine, warp, ref, op, partOf(warp, firstWarp, warp.words[into].i, fragment),
                  {data, data + fragment.elements.size() * sizeof(float)});
  });
}

void addReceiveFragment(CodeBuilder &builder, tile::ReceiveFragmentOp op) {
  unsigned place = builder.place(op.getFragment()), tile = builder.word(op.getFrom());
  unsigned firstWarp = builder.role() ? builder.role().getFirst() : 0;
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (machine.touch(warp, place, false, op) == Outcome::Fault ||
        machine.touch(warp, place, true, op) == Outcome::Fault)
      return Outcome::Fault;
    Place &fragment = warp.places[place];
    uint32_t from = partOf(warp, firstWarp, warp.words[tile].i, fragment);
    Access by = machine.own(warp, op);
    for (size_t i = 0; i < fragment.elements.size(); i += kChunkBytes / sizeof(float)) {
      if (machine.read(warp, *warp.block, from + i * sizeof(float), by) == Outcome::Fault)
        return Outcome::Fault;
      float part[4];
      std::memcpy(part, warp.block->memory.at(from + i * sizeof(float)), sizeof(part));
      for (unsigned k = 0; k < 4; ++k)
        fragment.elements[i + k] += part[k];
    }
    return Outcome::Done;
  });
}

} // namespace

bool addBarrierStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::BarrierSyncOp op) { return addBarrierSync(builder, op), true; })
      .Case([&](tile::BarrierArriveOp op) {
        unsigned number = builder.word(op.getBarrier());
        int64_t threads = op.getThreads();
        builder.step(op, true, [=](Machine &machine, Warp &warp) {
          return machine.arriveNumbered(warp, warp.words[number].i, threads, false, false, op);
        });
        return true;
      })
      .Case([&](tile::WarpSyncOp op) {
        // A warp is the unit of interleaving: its threads have always met.
        builder.step(op, false, [](Machine &, Warp &) { return Outcome::Done; });
        return true;
      })
      .Case([&](tile::PublishOp op) {
        builder.step(op, false, [](Machine &, Warp &warp) {
          warp.view.publish();
          return Outcome::Done;
        });
        return true;
      })
      .Case([&](tile::MbarrierInitOp op) { return addStartBarriers(builder, op), true; })
      .Case([&](tile::MbarrierArriveOp op) { return addArrive(builder, op), true; })
      .Case([&](tile::MbarrierWaitOp op) { return addPass(builder, op), true; })
      .Case([&](tile::ClusterSyncOp op) {
        builder.step(op, true,
                     [=](Machine &machine, Warp &warp) { return machine.meetCluster(warp, op); });
        return true;
      })
      .Case([&](tile::SendOp op) { return addSend(builder, op), true; })
      .Case([&](tile::SendFragmentOp op) { return addSendFragment(builder, op), true; })
      .Case([&](tile::ReceiveFragmentOp op) { return addReceiveFragment(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
