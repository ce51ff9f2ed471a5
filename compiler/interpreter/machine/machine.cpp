#include "compiler/interpreter/machine/machine.h"
#include <cstring>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::interpreter {

static constexpr unsigned kWarp = 32;

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

static Word argumentWord(const ArgValue &value, size_t number) {
  Word word{};
  std::visit(
      [&]<class T>(const T &v) {
        if constexpr (std::is_same_v<T, TensorMapArg>)
          word.i = static_cast<int64_t>(number); // looked up in the launch
        else if constexpr (std::is_same_v<T, float>)
          word.f = v;
        else if constexpr (std::is_same_v<T, double>)
          word.d = v;
        else if constexpr (std::is_pointer_v<T>)
          word.i = reinterpret_cast<int64_t>(v);
        else
          word.i = v;
      },
      value);
  return word;
}

std::vector<Word> initialWords(const KernelCode &code, const Launch &launch) {
  std::vector<Word> words = code.words;
  for (auto [i, value] : llvm::enumerate(launch.args))
    words[i] = argumentWord(value, i);
  words[code.gridSize].i = launch.blocks;
  return words;
}

static std::vector<Place> initialPlaces(const KernelCode &code) {
  std::vector<Place> places;
  for (const PlaceType &type : code.places) {
    Place &place = places.emplace_back();
    place.rows = type.rows;
    place.cols = type.kind == PlaceType::Rows ? kShares : type.cols;
    place.elements.resize(place.rows * place.cols);
  }
  return places;
}

void Machine::reset(int64_t first) {
  unsigned perBlock = code.threads / kWarp;
  agentCount = code.cluster * (perBlock * Warp::kAgents + code.barriers);
  nextBarrierAgent = code.cluster * perBlock * Warp::kAgents;
  blocks.clear();
  warps.clear();
  events.clear();
  cluster = {};
  cluster.view = View(agentCount);
  std::vector<Word> words = initialWords(code, launch);
  std::vector<Place> places = initialPlaces(code);
  for (unsigned rank = 0; rank < code.cluster; ++rank) {
    BlockState &block = *blocks.emplace_back(std::make_unique<BlockState>());
    block.number = first + rank;
    block.rank = rank;
    block.memory = SharedMemory(code.sharedBytes);
    for (NumberedBarrier &barrier : block.numbered)
      barrier.view = View(agentCount);
    for (unsigned number = 0; number < perBlock; ++number) {
      Warp &warp = warps.emplace_back();
      warp.block = &block;
      warp.number = number;
      warp.index = warps.size() - 1;
      warp.words = words;
      warp.words[code.block].i = block.number;
      warp.words[code.warp].i = number;
      warp.words[code.rank].i = rank;
      warp.places = places;
      warp.view = View(agentCount);
      warp.tick();
    }
  }
}

bool Machine::runPoint(int64_t block, int64_t point) {
  if (warps.empty()) {
    blocks.push_back(std::make_unique<BlockState>());
    Warp &warp = warps.emplace_back();
    warp.block = blocks.front().get();
    warp.words = initialWords(code, launch);
  }
  Warp &warp = warps.front();
  warp.block->number = block;
  warp.words[code.point].i = block * code.threads + point;
  unsigned pc = 0;
  return runCode(warp, pc) != Outcome::Fault;
}

// What a warp leaves unfinished would write or read registers and shared memory of others.
Outcome Machine::checkWarpEnd(Warp &warp) {
  if (warp.started > warp.complete)
    return fail(warp, code.kernel, "ends with products that no tile.mma_wait has waited for");
  if (warp.stores.last > warp.stores.known)
    return fail(warp, warp.stores.lastOp,
                "is not waited for (tile.store_wait) before the block gives up its shared memory");
  warp.finished = true;
  wake();
  return Outcome::Done;
}

bool Machine::checkEnd() {
  for (auto &block : blocks)
    for (auto &[address, barrier] : block->barriers) {
      bool awaited = barrier.copies == 0 || llvm::any_of(warps, [&](const Warp &warp) {
                       return warp.view.seen[barrier.agent] >= barrier.copies;
                     });
      if (!awaited) {
        fail(warps.front(), barrier.lastCopy,
             "starts a copy that no warp awaits before the block ends");
        return false;
      }
    }
  return true;
}

//===----------------------------------------------------------------------===//
// One step after another
//===----------------------------------------------------------------------===//

static void loadWord(DType storage, const std::byte *address, Word &into) {
  size_t bytes = dtypeSize(storage);
  if (storage == DType::F64) {
    std::memcpy(&into.d, address, sizeof(double));
  } else if (isFloat(storage)) {
    loadFloats(storage, address, 1, &into.f);
  } else {
    into.i = 0;
    std::memcpy(&into.i, address, bytes); // little-endian, then the sign
    if (storage != DType::U8)
      into.i = into.i << (64 - 8 * bytes) >> (64 - 8 * bytes);
  }
}

Outcome Machine::load(Warp &warp, const Instruction &in) {
  size_t bytes = dtypeSize(in.storage);
  const std::byte *address =
      reinterpret_cast<const std::byte *>(warp.words[in.a].i) + warp.words[in.b].i * bytes;
  if (checkGlobal(warp, in.op, pointer(warp.words[in.a]), address, bytes, false) == Outcome::Fault)
    return Outcome::Fault;
  loadWord(in.storage, address, warp.words[in.result]);
  return Outcome::Done;
}

Outcome Machine::peek(Warp &warp, const Instruction &in) {
  const TileLayout &layout = code.layouts[in.target];
  int64_t row = warp.words[in.b].i, col = warp.words[in.c].i;
  if (row < 0 || row >= int64_t(layout.rows) || col < 0 || col >= int64_t(layout.cols))
    return fail(warp, in.op,
                fmt::format("reads element ({}, {}) of a tile of {} x {}", row, col, layout.rows,
                            layout.cols));
  uint32_t base = warp.words[in.a].i, chunk = col / layout.perChunk();
  if (read(warp, *warp.block, layout.chunk(base, row, chunk), own(warp, in.op)) == Outcome::Fault)
    return Outcome::Fault;
  loadWord(layout.dtype, warp.block->memory.at(layout.at(base, row, col)), warp.words[in.result]);
  return Outcome::Done;
}

Outcome Machine::store(Warp &warp, const Instruction &in) {
  size_t bytes = dtypeSize(in.storage);
  std::byte *address =
      reinterpret_cast<std::byte *>(warp.words[in.a].i) + warp.words[in.b].i * bytes;
  if (checkGlobal(warp, in.op, pointer(warp.words[in.a]), address, bytes, true) == Outcome::Fault)
    return Outcome::Fault;
  const Word &value = warp.words[in.c];
  if (in.storage == DType::F64)
    std::memcpy(address, &value.d, sizeof(double));
  else if (isFloat(in.storage))
    storeFloats(in.storage, &value.f, 1, address);
  else
    std::memcpy(address, &value.i, bytes);
  return Outcome::Done;
}

Outcome Machine::runCode(Warp &warp, unsigned &pc) {
  for (;; ++pc) {
    pc = runScalars(code, pc, warp.words.data());
    const Instruction &in = code.instructions[pc];
    if (in.kind == Instruction::Kind::Load) {
      if (load(warp, in) == Outcome::Fault)
        return Outcome::Fault;
    } else if (in.kind == Instruction::Kind::Peek) {
      if (peek(warp, in) == Outcome::Fault)
        return Outcome::Fault;
    } else if (in.kind == Instruction::Kind::Store) {
      if (store(warp, in) == Outcome::Fault)
        return Outcome::Fault;
    } else {
      return Outcome::Done;
    }
  }
}

// One op that others can see, and what follows it up to the next.
Outcome Machine::step(Warp &warp) {
  for (bool seen = false;; ++warp.pc) {
    if (runCode(warp, warp.pc) == Outcome::Fault)
      return Outcome::Fault;
    const Instruction &in = code.instructions[warp.pc];
    if (in.kind == Instruction::Kind::End)
      return checkWarpEnd(warp);
    if (in.visible && seen)
      return Outcome::Done;
    Outcome outcome = code.steps[in.target](*this, warp);
    if (outcome == Outcome::Blocked)
      warp.triedAt = version;
    if (outcome != Outcome::Done)
      return outcome;
    if (in.visible) {
      warp.tick();
      seen = true;
    }
  }
}

// A copy, or the next product of a warp.
bool Machine::performOne() {
  llvm::SmallVector<Warp *> busy;
  for (Warp &warp : warps)
    if (!warp.products.empty())
      busy.push_back(&warp);
  if (events.empty() && busy.empty())
    return false;
  uint64_t chosen = adversary.below(events.size() + busy.size());
  if (chosen < busy.size()) {
    finishProducts(*busy[chosen], busy[chosen]->products.front().number);
    return true;
  }
  auto place = events.begin() + (chosen - busy.size());
  Event event = std::move(*place);
  events.erase(place);
  event.perform(*this);
  return true;
}

bool Machine::runCluster(int64_t first) {
  reset(first);
  llvm::SmallVector<unsigned> runnable;
  while (faultText.empty()) {
    runnable.clear();
    bool allFinished = true;
    for (Warp &warp : warps) {
      allFinished &= warp.finished;
      if (!warp.finished && warp.triedAt != version)
        runnable.push_back(warp.index);
    }
    if ((runnable.empty() || adversary.eventNow()) && performOne())
      continue;
    if (allFinished)
      return checkEnd();
    if (runnable.empty())
      explainDeadlock();
    else
      step(warps[adversary.chooseWarp(runnable)]);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Asynchronous ops
//===----------------------------------------------------------------------===//

Outcome Machine::finish(Warp &warp, Event::Kind kind, uint32_t group) {
  for (size_t i = 0; i < events.size();) {
    if (events[i].warp != &warp || events[i].kind != kind || events[i].group > group) {
      ++i;
      continue;
    }
    Event event = std::move(events[i]);
    events.erase(events.begin() + i);
    if (event.perform(*this) == Outcome::Fault)
      return Outcome::Fault;
  }
  return Outcome::Done;
}

void Machine::finishProducts(Warp &warp, uint32_t number) {
  while (!warp.products.empty() && warp.products.front().number <= number) {
    Product product = std::move(warp.products.front());
    warp.products.pop_front();
    product.perform(*this);
  }
}

} // namespace attnc::interpreter
