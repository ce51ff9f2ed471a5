// Kernels whose threads are written one by one. Barriers of the whole block are all that orders
// them, so a race is seen whatever the order: two threads that touch an element, one of them to
// write it, between the same two barriers.
#include "compiler/interpreter/machine/machine.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::interpreter {

static constexpr unsigned kLanes = 32;

Outcome Machine::readCell(Warp &thread, unsigned number, Operation *op, Word &result) {
  SharedCell &cell = blocks.front()->cells[number];
  if (!cell.written)
    return fail(thread, op, "reads an element that nothing has written");
  if (cell.written == epoch && cell.writer != thread.number)
    return fail(thread, op,
                fmt::format("reads an element that thread {} writes with no tile.barrier between",
                            cell.writer));
  cell.several = cell.read == epoch && (cell.several || cell.reader != thread.number);
  cell.read = epoch;
  cell.reader = thread.number;
  result = cell.value;
  return Outcome::Done;
}

Outcome Machine::writeCell(Warp &thread, unsigned number, Operation *op, Word value) {
  SharedCell &cell = blocks.front()->cells[number];
  if (cell.written == epoch && cell.writer != thread.number)
    return fail(thread, op,
                fmt::format("writes an element that thread {} writes with no tile.barrier between",
                            cell.writer));
  if (cell.read == epoch && (cell.several || cell.reader != thread.number))
    return fail(thread, op,
                fmt::format("writes an element that thread {} reads with no tile.barrier between",
                            cell.reader));
  cell.value = value;
  cell.written = epoch;
  cell.writer = thread.number;
  return Outcome::Done;
}

static Word combine(tile::Combine kind, Type type, Word x, Word y) {
  Word z{};
  auto on = [&](auto a, auto b) {
    switch (kind) {
    case tile::Combine::Add:
      return decltype(a)(a + b);
    case tile::Combine::Mul:
      return decltype(a)(a * b);
    case tile::Combine::Max:
      return a > b || a != a ? a : b;
    case tile::Combine::Min:
      return a < b || a != a ? a : b;
    }
    llvm_unreachable("all kinds are handled");
  };
  if (type.isF32())
    z.f = on(x.f, y.f);
  else if (type.isF64())
    z.d = on(x.d, y.d);
  else
    z.i = on(x.i, y.i);
  return z;
}

// All lanes of a warp stand at the same tile.fold_lanes: each receives the result.
bool Machine::foldLanes(MutableArrayRef<Warp> lanes) {
  auto fold = dyn_cast_or_null<tile::FoldLanesOp>(lanes.front().parkedAt);
  if (!fold || !llvm::all_of(lanes, [&](const Warp &lane) {
        return !lane.finished && lane.parkedAt == fold;
      }))
    return false;
  std::vector<Word> values;
  for (const Warp &lane : lanes)
    values.push_back(lane.laneValue);
  for (unsigned distance = kLanes / 2; distance; distance /= 2) {
    std::vector<Word> before = values;
    for (unsigned i = 0; i < kLanes; ++i)
      values[i] = combine(fold.getKind(), fold.getType(), before[i], before[i ^ distance]);
  }
  for (auto [lane, value] : llvm::zip(lanes, values)) {
    lane.laneValue = value;
    lane.parkedAt = nullptr;
    lane.met = true;
  }
  return true;
}

// Lets those go on who stand together. A fault if nobody does.
bool Machine::releaseThreads() {
  bool released = false;
  for (size_t first = 0; first < warps.size(); first += kLanes)
    released |= foldLanes(MutableArrayRef(warps).slice(first, kLanes));
  if (released)
    return true;
  const Warp &waits = *llvm::find_if(warps, [](const Warp &thread) { return !thread.finished; });
  for (const Warp &other : warps)
    if (other.parkedAt != waits.parkedAt || isa<tile::FoldLanesOp>(other.parkedAt)) {
      fail(waits, waits.parkedAt,
           fmt::format("waits for thread {}, which {}", other.number,
                       other.finished ? "has ended" : "is at " + code.describe(other.parkedAt)));
      return false;
    }
  ++epoch;
  for (Warp &thread : warps) {
    thread.parkedAt = nullptr;
    thread.met = true;
  }
  return true;
}

// Until it ends, or waits for others.
void Machine::runThread(Warp &thread) {
  for (;; ++thread.pc) {
    if (runCode(thread, thread.pc) == Outcome::Fault)
      return;
    const Instruction &in = code.instructions[thread.pc];
    if (in.kind == Instruction::Kind::End) {
      thread.finished = true;
      return;
    }
    if (code.steps[in.target](*this, thread) != Outcome::Done)
      return;
  }
}

bool Machine::runThreads(int64_t number) {
  blocks.clear();
  warps.clear();
  BlockState &block = *blocks.emplace_back(std::make_unique<BlockState>());
  block.number = number;
  block.cells.assign(code.cells, {});
  epoch = 1;
  std::vector<Word> words = initialWords(code, launch);
  warps.resize(code.threads);
  for (auto [i, thread] : llvm::enumerate(warps)) {
    thread.block = &block;
    thread.number = i;
    thread.words = words;
    thread.words[code.block].i = number;
    thread.words[code.thread].i = i;
  }
  while (true) {
    for (Warp &thread : warps)
      if (!thread.finished && !thread.parkedAt)
        runThread(thread);
    if (!faultText.empty())
      return false;
    if (llvm::all_of(warps, [](const Warp &thread) { return thread.finished; }))
      return true;
    if (!releaseThreads())
      return false;
  }
}

} // namespace attnc::interpreter
