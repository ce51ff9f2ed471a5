#include "runtime/remote/broken_pipe.h"

#include <ctime>

namespace attnc::remote {

BrokenPipeIgnored::BrokenPipeIgnored() {
  sigset_t pending;
  sigpending(&pending);
  wasPending = sigismember(&pending, SIGPIPE) == 1;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
}

BrokenPipeIgnored::~BrokenPipeIgnored() {
  // One that has come meanwhile is taken back, before it could be delivered.
  const timespec none = {};
  if (!wasPending)
    while (sigtimedwait(&pipe, nullptr, &none) == SIGPIPE)
      ;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace attnc::remote
