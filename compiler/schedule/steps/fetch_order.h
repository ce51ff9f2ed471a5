// The order in which the copies of an iteration are asked for. Whoever copies waits for room for one
// after the other: if that for an earlier one comes free only behind a later one, it is a deadlock.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_FETCH_ORDER_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_FETCH_ORDER_H

#include <cstdint>

namespace attnc::schedule {

enum FetchOrder : int64_t {
  kScoreOperands = 0,
  kScoreOperandsInParts = 1, ///< whole tiles are awaited before any part is let go of
  kInputs = 2,
  kValues = 3,         ///< in a seesaw each further one comes one later
  kBehindFetches = 64, ///< what the last iteration leaves for behind the stream
};

} // namespace attnc::schedule

#endif
