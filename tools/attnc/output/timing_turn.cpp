#include "tools/attnc/output/timing_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace attnc::cli {

const char *const timingTurnFile = "/tmp/attnc-timing.lock";

TimingTurn::TimingTurn()
    : file(open(timingTurnFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (file >= 0)
    flock(file, LOCK_EX);
}

TimingTurn::~TimingTurn() {
  if (file >= 0)
    close(file); // which ends the lock
}

} // namespace attnc::cli
