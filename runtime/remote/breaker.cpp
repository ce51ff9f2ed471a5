#include "runtime/remote/breaker.h"

#include <algorithm>

namespace attnc::remote {

bool Breaker::allows(Clock::time_point now) {
  std::lock_guard guard(mutex);
  if (wait.count() == 0)
    return true;
  if (now < next)
    return false;
  next = now + wait; // this caller tries
  return true;
}

void Breaker::succeeded() {
  std::lock_guard guard(mutex);
  wait = std::chrono::seconds(0);
}

void Breaker::failed(Clock::time_point began, Clock::time_point now) {
  std::lock_guard guard(mutex);
  bool wasClosed = wait.count() == 0;
  if (!wasClosed && began < opened)
    return;
  wait = wasClosed ? first : std::min(2 * wait, longest);
  opened = now;
  next = now + wait;
}

} // namespace attnc::remote
