// The blocks of a cluster while they run.
#ifndef ATTNC_COMPILER_INTERPRETER_MACHINE_MACHINE_H
#define ATTNC_COMPILER_INTERPRETER_MACHINE_MACHINE_H

#include "compiler/interpreter/code/places.h"
#include "compiler/interpreter/machine/adversary.h"
#include "compiler/interpreter/machine/global_memory.h"
#include "compiler/interpreter/machine/shared_memory.h"
#include "compiler/interpreter/machine/synchronisation.h"
#include <deque>
#include <map>

namespace attnc::interpreter {

/// Asynchronous ops of one kind that a warp has started, in groups. Groups are numbered from 1.
struct Groups {
  uint32_t open = 1;  ///< the number that the next commit closes
  uint32_t known = 0; ///< up to which a wait has told the warp that they are complete
  uint32_t last = 0;  ///< the last group that has something in it
  mlir::Operation *lastOp = nullptr;
};

/// A product that has been started, with what is needed to perform it.
struct Product {
  uint32_t number;
  std::function<void(Machine &)> perform;
};

struct BlockState;

/// A warp: its program counter, its registers, and what it knows.
struct Warp {
  BlockState *block = nullptr;
  unsigned number = 0; ///< in its block
  unsigned index = 0;  ///< in the cluster
  std::vector<Word> words;
  std::vector<Place> places;
  View view;
  unsigned pc = 0;
  bool finished = false;
  uint64_t triedAt = ~0ull; ///< the machine's version when it was last blocked
  bool arrived = false;     ///< at the barrier where it waits
  bool met = false;         ///< the barrier where it waits has completed
  bool metAny = false;
  mlir::Operation *parkedAt = nullptr; ///< of a single thread: where it waits for others
  Word laneValue{};                    ///< what it brings to a tile.fold_lanes, or takes from it
  const CountingBarrier *waitsFor = nullptr; ///< one of the two, while it is blocked
  const NumberedBarrier *waitsAt = nullptr;

  Groups copies, stores;
  std::deque<Product> products;       ///< not yet performed
  uint32_t started = 0;               ///< products
  uint32_t complete = 0;              ///< products that a wait has told it are complete
  llvm::SmallVector<uint32_t> closed; ///< the last product of each group
  uint32_t fences = 1;

  /// Agents of the warp: itself, its copies, its products, its bulk stores.
  enum Agent { Self, Copies, Products, Stores, kAgents };
  uint32_t agent(Agent kind) const { return index * kAgents + kind; }
  /// What it does from now on comes after what others have learned of it.
  void tick() { ++view.seen[agent(Self)]; }
};

/// A product as a warpgroup has started it.
struct Issue {
  mlir::Operation *op;
  int64_t a, b; ///< addresses of what is in shared memory

  friend bool operator==(const Issue &, const Issue &) = default;
};

/// An element that single threads share, and who has touched it since which barrier.
struct SharedCell {
  Word value{};
  uint32_t written = 0, read = 0; ///< the number of the barrier before; 0: never
  unsigned writer = 0, reader = 0;
  bool several = false; ///< readers since that barrier
};

struct BlockState {
  int64_t number = 0;
  unsigned rank = 0;
  std::map<unsigned, std::vector<Issue>> issues; ///< by warpgroup
  SharedMemory memory;
  std::vector<SharedCell> cells;
  std::map<uint32_t, CountingBarrier> barriers; ///< by address
  NumberedBarrier numbered[16];
};

/// A copy that has been started and not performed.
struct Event {
  enum Kind { Copy, Fill, Store } kind;
  Warp *warp;     ///< that started it
  uint32_t group; ///< of a Copy or Store
  mlir::Operation *op;
  std::function<Outcome(Machine &)> perform;
};

class Machine {
public:
  Machine(const KernelCode &code, const Launch &launch, Adversary &adversary)
      : code(code), launch(launch), global(launch.memory), adversary(adversary) {}

  /// Runs the blocks [first, first + cluster). True if there was no fault.
  bool runCluster(int64_t first);
  /// Runs a kernel of single threads.
  bool runPoint(int64_t block, int64_t point);
  /// Runs a block of single threads that share arrays.
  bool runThreads(int64_t block);
  const std::string &fault() const { return faultText; }

  //===--- for steps -------------------------------------------------------------------------===//

  const KernelCode &code;
  const Launch &launch;

  /// Reports that `warp` cannot do `op`.
  Outcome fail(const Warp &warp, mlir::Operation *op, const std::string &why);
  /// Something has happened that blocked warps may wait for.
  void wake() { ++version; }
  size_t agents() const { return agentCount; }
  BlockState &block(unsigned rank) { return *blocks[rank]; }

  /// Runs scalar instructions, loads included, from `pc` to the next step or end.
  Outcome runCode(Warp &warp, unsigned &pc);

  /// Checks and records accesses to chunks of shared memory.
  Outcome read(Warp &warp, BlockState &block, uint32_t address, const Access &by);
  Outcome write(Warp &warp, BlockState &block, uint32_t address, const Access &by);
  /// All of a tile's rows.
  Outcome readTile(Warp &warp, BlockState &block, uint32_t base, const TileLayout &layout,
                   uint32_t cols, const Access &by);
  Outcome writeTile(Warp &warp, BlockState &block, uint32_t base, const TileLayout &layout,
                    const Access &by);
  /// Of the op `op` of `warp` itself.
  Access own(const Warp &warp, mlir::Operation *op) const {
    return {warp.agent(Warp::Self), warp.view.seen[warp.agent(Warp::Self)], op, false};
  }

  /// Elements that single threads share.
  Outcome readCell(Warp &thread, unsigned number, mlir::Operation *op, Word &result);
  Outcome writeCell(Warp &thread, unsigned number, mlir::Operation *op, Word value);

  /// Whether a place of registers may be touched by an instruction other than a product.
  Outcome touch(Warp &warp, unsigned place, bool write, mlir::Operation *op);
  /// Whether bytes of the tensor that starts at `tensor` may be accessed, by an instruction that
  /// needs an address of that alignment.
  Outcome checkGlobal(const Warp &warp, mlir::Operation *op, const void *tensor,
                      const std::byte *address, size_t bytes, bool write, size_t alignment = 1);
  /// The address that a word holds.
  static std::byte *pointer(Word word) { return reinterpret_cast<std::byte *>(word.i); }

  void start(Event event) { events.push_back(std::move(event)); }
  /// Performs the copies or stores of `warp` in groups up to `group`.
  Outcome finish(Warp &warp, Event::Kind kind, uint32_t group);
  /// Performs the products of `warp` up to `number`.
  void finishProducts(Warp &warp, uint32_t number);

  /// A started barrier, or null after a fault.
  CountingBarrier *barrier(Warp &warp, BlockState &block, uint32_t address, mlir::Operation *op);
  void startBarrier(BlockState &block, uint32_t address, int64_t arrivals);
  /// Waits for the phase of a parity and learns what its arrivals knew.
  Outcome await(Warp &warp, CountingBarrier &barrier, uint32_t parity);
  /// Arrives at a numbered barrier; a warp that waits is told in `met`.
  Outcome arriveNumbered(Warp &warp, int64_t number, int64_t threads, bool waits, bool any,
                         mlir::Operation *op);
  /// Meets there: Blocked until all have come. `any` is for the result in `metAny`.
  Outcome meet(Warp &warp, int64_t number, int64_t threads, bool any, mlir::Operation *op);
  Outcome meetCluster(Warp &warp, mlir::Operation *op);

private:
  void reset(int64_t first);
  void runThread(Warp &thread);
  bool releaseThreads();
  bool foldLanes(llvm::MutableArrayRef<Warp> lanes);
  Outcome step(Warp &warp);
  bool performOne();
  void explainDeadlock();
  Outcome checkWarpEnd(Warp &warp);
  bool checkEnd();
  Outcome arriveAt(NumberedBarrier &barrier, Warp &warp, int64_t threads, bool waits, bool any,
                   mlir::Operation *op);
  Outcome waitAt(NumberedBarrier &barrier, Warp &warp);
  std::string conflictText(const Conflict &conflict, bool write) const;
  std::string agentText(const Access &access) const;
  Outcome failConflict(const Warp &warp, mlir::Operation *op, const Conflict &conflict, bool write);
  Outcome load(Warp &warp, const Instruction &in);
  Outcome peek(Warp &warp, const Instruction &in);
  Outcome store(Warp &warp, const Instruction &in);

  GlobalMemory global;
  Adversary &adversary;
  std::vector<std::unique_ptr<BlockState>> blocks;
  std::vector<Warp> warps;
  std::vector<Event> events;
  NumberedBarrier cluster;
  size_t agentCount = 0;
  uint32_t nextBarrierAgent = 0;
  uint64_t version = 0;
  uint32_t epoch = 0; ///< barriers that a block of single threads has passed, and 1
  std::string faultText;
};

/// The words of a warp or thread at the start of a launch.
std::vector<Word> initialWords(const KernelCode &code, const Launch &launch);

} // namespace attnc::interpreter

#endif
