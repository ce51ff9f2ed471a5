#include "compiler/schedule/warpgroups/row_order.h"
#include "compiler/schedule/stream/stream_visits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <queue>

namespace attnc::schedule {

// Row tiles and cells that fill the machine some ten times; so many cells are taken together, which
// fills it twice or three times, as 16384 rows and 128 columns do.
static constexpr int64_t kExtent = 4096, kCells = 64, kTogether = 16, kMultiprocessors = 132;
// An order has to be better than those before it by this much.
static constexpr double kGain = 0.97;

// The steps of each row tile, and one for its start and its end.
static std::vector<int64_t> stepsOf(red::NestOp nest, const StreamPlan &plan, int64_t rowTile,
                                    int64_t streamTile) {
  std::vector<int64_t> steps;
  if (auto classes = tileClasses(nest, plan, rowTile, streamTile, kExtent, kExtent)) {
    for (const std::vector<TileClass> &tiles : *classes)
      steps.push_back(1 +
                      llvm::count_if(tiles, [](TileClass t) { return t != TileClass::Skipped; }));
    return steps;
  }
  for (auto [lo, hi] : streamRanges(nest, plan, rowTile, kExtent, kExtent))
    steps.push_back(1 + (hi <= lo ? 0 : llvm::divideCeil(hi, streamTile) - lo / streamTile));
  return steps;
}

// When the last multiprocessor is done, each taking the next row tile when it has none.
static int64_t timeOf(RowOrder order, llvm::ArrayRef<int64_t> steps) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> done;
  for (int64_t i = 0; i < kMultiprocessors; ++i)
    done.push(0);
  int64_t last = 0;
  auto take = [&](int64_t rowTile, int64_t cells) {
    for (int64_t cell = 0; cell < cells; ++cell) {
      int64_t end = done.top() + steps[rowTile];
      done.pop();
      done.push(end);
      last = std::max(last, end);
    }
  };
  auto count = static_cast<int64_t>(steps.size());
  for (int64_t rowTile = 0; rowTile < order.lead; ++rowTile)
    take(rowTile, kCells);
  for (int64_t cells = 0; cells < kCells; cells += kTogether)
    for (int64_t turn = order.lead; turn < count; ++turn)
      take(order.lastFirst ? count - 1 - (turn - order.lead) : turn, kTogether);
  return last;
}

// The first rows up to where the next ones see less than half as much; 0 if that is not early.
static int64_t leadOf(llvm::ArrayRef<int64_t> steps) {
  for (size_t i = 1; i <= steps.size() / 4; ++i)
    if (steps[i - 1] >= 2 * steps[i])
      return static_cast<int64_t>(i);
  return 0;
}

RowOrder rowOrder(red::NestOp nest, const StreamPlan &plan, int64_t rowTile, int64_t streamTile) {
  std::vector<int64_t> steps = stepsOf(nest, plan, rowTile, streamTile);
  int64_t lead = leadOf(steps);
  RowOrder best;
  auto least = static_cast<double>(timeOf(best, steps));
  for (RowOrder order : {RowOrder{lead, true}, RowOrder{0, false}, RowOrder{lead, false}})
    if (auto time = static_cast<double>(timeOf(order, steps)); time < kGain * least) {
      best = order;
      least = time;
    }
  return best;
}

} // namespace attnc::schedule
