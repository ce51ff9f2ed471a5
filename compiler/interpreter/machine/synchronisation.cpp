#include "compiler/interpreter/machine/synchronisation.h"
#include "llvm/ADT/STLExtras.h"

namespace attnc::interpreter {

void CountingBarrier::start(int64_t count, size_t agents) {
  started = true;
  arrivals = missing = count;
  bytes = 0;
  phase = 0;
  current = completed = View(agents);
}

bool CountingBarrier::completeIfDone() {
  if (missing != 0 || bytes != 0)
    return false;
  missing = arrivals;
  ++phase;
  completed.join(current);
  return true;
}

bool CountingBarrier::arrive(int64_t count, const View &view) {
  missing -= count;
  current.join(view);
  return completeIfDone();
}

bool CountingBarrier::deliver(int64_t count, uint32_t copy) {
  bytes -= count;
  ahead.push_back(copy);
  while (llvm::is_contained(ahead, arrived + 1))
    llvm::erase(ahead, ++arrived);
  current.seen[agent] = std::max(current.seen[agent], arrived);
  return completeIfDone();
}

} // namespace attnc::interpreter
