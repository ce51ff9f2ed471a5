// Barriers and deadlocks.
#include "compiler/interpreter/machine/machine.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::interpreter {

//===----------------------------------------------------------------------===//
// In shared memory
//===----------------------------------------------------------------------===//

void Machine::startBarrier(BlockState &block, uint32_t address, int64_t arrivals) {
  auto [place, fresh] = block.barriers.try_emplace(address);
  if (fresh)
    place->second.agent = nextBarrierAgent++;
  place->second.start(arrivals, agentCount);
}

CountingBarrier *Machine::barrier(Warp &warp, BlockState &block, uint32_t address, Operation *op) {
  auto found = block.barriers.find(address);
  if (found != block.barriers.end() && found->second.started)
    return &found->second;
  fail(warp, op, "uses a barrier that has not been started");
  return nullptr;
}

Outcome Machine::await(Warp &warp, CountingBarrier &barrier, uint32_t parity) {
  if (!barrier.passes(parity)) {
    warp.waitsFor = &barrier;
    return Outcome::Blocked;
  }
  warp.waitsFor = nullptr;
  warp.view.join(barrier.completed);
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Numbered
//===----------------------------------------------------------------------===//

Outcome Machine::arriveAt(NumberedBarrier &barrier, Warp &warp, int64_t threads, bool waits,
                          bool any, Operation *op) {
  if (barrier.arrived != 0 && barrier.threads != threads)
    return fail(warp, op,
                fmt::format("is for {} threads, where others wait for {}: {}", threads,
                            barrier.threads, code.describe(barrier.first)));
  barrier.threads = threads;
  barrier.first = op;
  barrier.arrived += 32;
  barrier.view.join(warp.view);
  barrier.any |= any;
  if (waits)
    barrier.waiting.push_back(&warp);
  if (barrier.arrived < threads)
    return Outcome::Done;
  if (barrier.arrived > threads)
    return fail(warp, op, fmt::format("waits for {} threads, not whole warps", threads));
  for (Warp *other : barrier.waiting) {
    other->view.join(barrier.view);
    other->met = true;
    other->metAny = barrier.any;
  }
  barrier.waiting.clear();
  barrier.arrived = 0;
  barrier.any = false;
  barrier.signals = 0;
  wake();
  return Outcome::Done;
}

Outcome Machine::waitAt(NumberedBarrier &barrier, Warp &warp) {
  if (!warp.met) {
    warp.waitsAt = &barrier;
    return Outcome::Blocked;
  }
  warp.waitsAt = nullptr;
  warp.arrived = warp.met = false;
  return Outcome::Done;
}

Outcome Machine::arriveNumbered(Warp &warp, int64_t number, int64_t threads, bool waits, bool any,
                                Operation *op) {
  if (number < 0 || number >= 16)
    return fail(warp, op, fmt::format("names barrier {}; there are 0 to 15", number));
  NumberedBarrier &barrier = warp.block->numbered[number];
  // A warp may signal for itself and then meet. Two signals in one phase would be one too many in
  // another order.
  if (!waits) {
    if (barrier.signals >> warp.number & 1)
      return fail(warp, op,
                  fmt::format("signals barrier {} again before the others have met there", number));
    barrier.signals |= uint64_t(1) << warp.number;
  }
  return arriveAt(barrier, warp, threads, waits, any, op);
}

Outcome Machine::meet(Warp &warp, int64_t number, int64_t threads, bool any, Operation *op) {
  if (!warp.arrived) {
    if (arriveNumbered(warp, number, threads, true, any, op) == Outcome::Fault)
      return Outcome::Fault;
    warp.arrived = true;
  }
  return waitAt(warp.block->numbered[number], warp);
}

Outcome Machine::meetCluster(Warp &warp, Operation *op) {
  if (!warp.arrived) {
    if (arriveAt(cluster, warp, code.cluster * code.threads, true, false, op) == Outcome::Fault)
      return Outcome::Fault;
    warp.arrived = true;
  }
  return waitAt(cluster, warp);
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

static std::string stateOf(const Warp &warp) {
  if (const CountingBarrier *barrier = warp.waitsFor)
    return fmt::format("{} of {} arrivals and {} bytes are missing in phase {}", barrier->missing,
                       barrier->arrivals, barrier->bytes, barrier->phase);
  if (warp.waitsAt)
    return fmt::format("{} of {} threads are there", warp.waitsAt->arrived, warp.waitsAt->threads);
  return "";
}

// Warps that wait at the same op for the same thing share a line.
void Machine::explainDeadlock() {
  std::map<std::string, std::vector<std::string>> lines;
  for (const Warp &warp : warps) {
    if (warp.finished)
      continue;
    Operation *op = code.instructions[warp.pc].op;
    std::string name = code.cluster > 1 ? fmt::format("{}.{}", warp.block->rank, warp.number)
                                        : std::to_string(warp.number);
    lines[fmt::format("at {} ({})", code.describe(op), stateOf(warp))].push_back(name);
  }
  faultText = fmt::format("tile.kernel @{}: block {}: deadlock: no warp can go on and nothing is "
                          "in flight",
                          tile::KernelOp(code.kernel).getSymName().str(), blocks.front()->number);
  for (const auto &[line, names] : lines)
    faultText += fmt::format("\n  warp {} waits {}", fmt::join(names, ", "), line);
}

} // namespace attnc::interpreter
