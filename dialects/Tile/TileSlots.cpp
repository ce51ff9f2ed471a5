// Whether tiles of a stream find slots, by the order in which they are fetched and used.
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace attnc::tile;

namespace {

/// A fetch, or a part of it, that comes with each tile of the stream.
struct Arrival {
  FetchOp fetch;
  size_t pipe;
  StepOp first, last; ///< that use it, of those for one tile
};

/// The role that copies and one group, in the order in which they do things. Each is taken to go on
/// as soon as it can, and a tile to be free when the last step that uses it ends: who waits for
/// ever here does so in any run.
class Slots {
public:
  explicit Slots(StreamOp stream);
  LogicalResult run();

private:
  /// Of a tile: which of the pipe's tiles it is, in the order of fetches.
  struct Fill {
    size_t arrival, number;
  };

  void addArrivals(FetchOp fetch, size_t pipe);
  void fetchAll();
  LogicalResult runStep(StepOp step, int64_t tile);
  LogicalResult await(size_t fill, StepOp step);

  SmallVector<StepOp> steps;               ///< of an iteration, in order
  SmallVector<Arrival> arrivals;           ///< of an iteration, in order
  int64_t tiles = 0;                       ///< that are followed: all slots have been used again
  SmallVector<Fill> fills;                 ///< in order
  SmallVector<SmallVector<size_t>> fillOf; ///< of each arrival's tiles
  SmallVector<SmallVector<bool>> released; ///< of each pipe's tiles
  size_t copied = 0;                       ///< fills that are done
};

} // namespace

// The steps that use part `number` of a fetch.
static SmallVector<StepOp> stepsThatUse(FetchOp fetch, uint64_t number) {
  SmallVector<StepOp> steps;
  for (Operation *user : fetch.getResult().getUsers())
    if (auto part = dyn_cast<PartOp>(user); !part || part.getNumber() == number)
      steps.push_back(user->getParentOfType<StepOp>());
  return steps;
}

void Slots::addArrivals(FetchOp fetch, size_t pipe) {
  auto isEarlier = [](StepOp x, StepOp y) { return y.runsAfter(x); };
  for (uint64_t part = 0; part < fetch.getParts(); ++part) {
    SmallVector<StepOp> users = stepsThatUse(fetch, part);
    auto [first, last] = std::minmax_element(users.begin(), users.end(), isEarlier);
    arrivals.push_back({fetch, pipe, *first, *last});
  }
}

Slots::Slots(StreamOp stream) {
  steps = llvm::to_vector(stream.getBodyBlock()->getOps<StepOp>());
  llvm::sort(steps, [](StepOp x, StepOp y) { return x.isBeforeInLoop(y); });
  auto fetches = llvm::to_vector(stream.getBodyBlock()->getOps<FetchOp>());
  llvm::sort(fetches, [](FetchOp x, FetchOp y) {
    return x.getOrder() != y.getOrder() ? x.getOrder() < y.getOrder() : x->isBeforeInBlock(y);
  });
  size_t pipes = 1; // the first is the ring
  for (FetchOp fetch : fetches) {
    addArrivals(fetch, fetch.getInRing() ? 0 : pipes++);
    tiles = std::max(tiles, static_cast<int64_t>(fetch.getStages()) + 2);
  }
  released.resize(pipes);
  fetchAll();
}

void Slots::fetchAll() {
  fillOf.resize(arrivals.size());
  for (int64_t iteration = 0; iteration <= tiles; ++iteration)
    for (auto [i, arrival] : llvm::enumerate(arrivals)) {
      int64_t tile = iteration - static_cast<int64_t>(arrival.fetch.getStage());
      if (tile < 0 || tile >= tiles)
        continue;
      SmallVector<bool> &ofPipe = released[arrival.pipe];
      fillOf[i].push_back(fills.size());
      fills.push_back({i, ofPipe.size()});
      ofPipe.push_back(false);
    }
}

// One thread copies all: what is fetched before has found its slots, too.
LogicalResult Slots::await(size_t fill, StepOp step) {
  for (; copied <= fill; ++copied) {
    Fill next = fills[copied];
    Arrival &arrival = arrivals[next.arrival];
    uint64_t stages = arrival.fetch.getStages();
    if (next.number >= stages && !released[arrival.pipe][next.number - stages])
      return arrival.fetch.emitOpError("finds none of its ")
             << stages << " slots free, and step \"" << step.getName()
             << "\" waits for it or for what comes behind it: it needs more stages, or fetches the "
                "order in which steps use them";
  }
  return success();
}

LogicalResult Slots::runStep(StepOp step, int64_t tile) {
  for (auto [i, arrival] : llvm::enumerate(arrivals))
    if (arrival.first == step && failed(await(fillOf[i][tile], step)))
      return failure();
  for (auto [i, arrival] : llvm::enumerate(arrivals))
    if (arrival.last == step)
      released[arrival.pipe][fills[fillOf[i][tile]].number] = true;
  return success();
}

LogicalResult Slots::run() {
  for (int64_t iteration = 0; iteration <= tiles; ++iteration)
    for (StepOp step : steps) {
      int64_t tile = iteration - static_cast<int64_t>(step.getStage());
      if (tile >= 0 && tile < tiles && failed(runStep(step, tile)))
        return failure();
    }
  return success();
}

// Tiles of a list are copied in another order (expand-pipeline).
LogicalResult StreamOp::verifyRegions() {
  if (isListed() || getBodyBlock()->getOps<FetchOp>().empty())
    return success();
  return Slots(*this).run();
}
