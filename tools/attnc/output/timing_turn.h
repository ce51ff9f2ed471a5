// Timings of several processes on one machine take turns.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_TIMING_TURN_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_TIMING_TURN_H

namespace attnc::cli {

/// While it lives, no other process's TimingTurn does: the constructor waits for its turn. A
/// benchmark can so prepare and check cells side by side and still time one at a time. Where the
/// lock file cannot be opened there is no order, and the timing goes ahead.
class TimingTurn {
public:
  TimingTurn();
  ~TimingTurn();
  TimingTurn(const TimingTurn &) = delete;
  TimingTurn &operator=(const TimingTurn &) = delete;

private:
  int file;
};

/// The lock file: other programs that want a turn hold an exclusive flock(2) on it.
extern const char *const timingTurnFile;

} // namespace attnc::cli

#endif
